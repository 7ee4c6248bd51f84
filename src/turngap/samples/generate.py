"""Makes the sample conversations: ``python -m turngap.samples.generate --seed 7 -n 48 -o retail.jsonl``.

Equal seeds and counts give equal bytes on every platform: all draws come from generators seeded with text, tool results
from a fresh shop a conversation. The output is chat-completions JSONL, one conversation a line, with the customer's
goal and reward 1 (each one is played by the rules of its policy).
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from turngap.errors import TurngapError, UsageError
from turngap.samples.ask import Address, Ask, Cancel, HandOver, Late, Status, TooLate
from turngap.samples.chat import Chat, money, wish
from turngap.samples.desk import POLICY, TOOLS
from turngap.samples.goods import Exchange, Return, TooOld
from turngap.samples.recipe import RECIPES, Recipe
from turngap.samples.shop import Customer, Order, Shop

KINDS: dict[str, type[Ask]] = {
    "status": Status,
    "address": Address,
    "cancel": Cancel,
    "too_late": TooLate,
    "late": Late,
    "hand_over": HandOver,
    "return": Return,
    "too_old": TooOld,
    "exchange": Exchange,
}
"""The requests that recipes can name."""


def conversations(*, seed: int, n: int) -> Iterator[dict[str, Any]]:
    """Yield `n` records of the openai format.

    Raises:
        UsageError: the shop of this seed has no customer for one of the recipes.
    """
    for number in range(n):
        recipe = RECIPES[number % len(RECIPES)]
        shop = Shop(seed)
        draw = random.Random(f"conversation/{seed}/{number}")
        messages, goal = _play(shop, draw, recipe)
        yield {
            "id": f"retail-{number + 1:04}",
            "goal": goal,
            "reward": 1,
            "metadata": {"shop_seed": seed, "course": [recipe.identify, *recipe.steps]},
            "tools": TOOLS,
            "messages": [{"role": "system", "content": POLICY}, *messages],
        }


def _play(shop: Shop, draw: random.Random, recipe: Recipe) -> tuple[list[dict[str, Any]], str]:
    """Play one conversation; its messages and the customer's goal."""
    first = recipe.steps[0]
    if first.startswith("ask."):
        return _questions(Chat(shop, draw, next(iter(shop.customers.values()))), recipe.steps)
    if first.startswith("product"):
        return _product(Chat(shop, draw, next(iter(shop.customers.values()))), first.endswith(":other"))
    customer, orders = _cast(shop, draw, recipe)
    chat = Chat(shop, draw, customer)
    if first == "friend":
        return _only_friend(chat, recipe)
    asks = [_ask(chat, order, step) for order, step in zip(orders, _own(recipe.steps), strict=True)]
    credentials = _identify_opening(chat, recipe.identify)
    chat.user(chat.customer_words("greet"), asks[0].opening(), credentials)
    goal = "; ".join(ask.goal() for ask in asks)
    if not _identify(chat, recipe.identify):
        return chat.messages, f"{goal} (no account is found)"
    for place, ask in enumerate(asks):
        if place:
            mood = chat.asked or (".sad" if asks[place - 1].sad else "")
            chat.user(chat.customer_words(f"next{mood}"), ask.opening())
        ask.locate()
        ask.resolve()
    if recipe.steps[-1] == "friend":
        order = _foreign(chat)
        chat.user(chat.customer_words("friend", order=order.order_id))
        goal += f"; {_refuse(chat, order)}"
    _farewell(chat, sad=asks[-1].sad and recipe.steps[-1] != "friend")
    return chat.messages, goal


def _own(steps: Sequence[str]) -> list[str]:
    """The steps about the customer's own orders."""
    return [step for step in steps if step != "friend"]


def _ask(chat: Chat, order: Order, step: str) -> Ask:
    kind, find, twist = (*step.split(":"), "")[:3]
    return KINDS[kind](chat, order, find, twist)


def _cast(shop: Shop, draw: random.Random, recipe: Recipe) -> tuple[Customer, tuple[Order, ...]]:
    """Find a customer with different orders that suit the steps."""
    steps = [(*step.split(":"), "")[:3] for step in _own(recipe.steps)]
    customers = list(shop.customers.values())
    draw.shuffle(customers)
    for customer in customers:
        orders = [shop.orders[order_id] for order_id in customer.orders]
        draw.shuffle(orders)
        for chosen in itertools.permutations(orders, len(steps)):
            if all(
                KINDS[kind].fits(order, twist, shop)
                and (find not in ("search", "parallel") or _is_named(order, orders))
                for order, (kind, find, twist) in zip(chosen, steps, strict=True)
            ):
                return customer, chosen
    raise UsageError(f"the shop of this seed has no customer for {', '.join(recipe.steps)}; take another --seed")


def _is_named(order: Order, orders: Sequence[Order]) -> bool:
    """Whether naming any of its products tells the order from the customer's others, and there are several."""
    others = {bought.product.name for other in orders if other is not order for bought in other.bought}
    return 1 < len(orders) <= 4 and not any(bought.product.name in others for bought in order.bought)


def _identify_opening(chat: Chat, identify: str) -> str:
    """What the customer says about themselves in the first message."""
    customer = chat.customer
    if identify == "given":
        return chat.customer_words("email", email=customer.email)
    if identify == "given_name":
        return f"I'm {customer.first_name} {customer.last_name}, zip {customer.address.zip}."
    return ""


def _identify(chat: Chat, identify: str) -> bool:
    """Find the account; whether it was found."""
    customer = chat.customer
    facts = {"first": customer.first_name, "last": customer.last_name, "zip": customer.address.zip}
    name = {"first_name": customer.first_name, "last_name": customer.last_name, "zip": customer.address.zip}
    if identify not in ("given", "given_name"):
        chat.agent(chat.agent_words("who"))
    if identify in ("given", "email"):
        if identify == "email":
            chat.user(chat.customer_words("email", email=customer.email))
        return chat.call("find_customer_by_email", email=customer.email)
    if identify in ("retry", "stranger"):
        wrong = f"{customer.email.partition('@')[0]}{chat.draw.randrange(100, 999)}@example.net"
        chat.user(chat.customer_words("email", email=wrong))
        chat.call("find_customer_by_email", email=wrong)
        chat.agent(chat.agent_words("who.retry", email=wrong))
        if identify == "stranger":
            # Another zip code than the account has: there is nobody of this name there.
            facts["zip"] = name["zip"] = str(int(customer.address.zip) % 89_999 + 10_001)
        chat.user(chat.customer_words("stranger" if identify == "stranger" else "name.retry", **facts))
    elif identify == "name":
        chat.user(chat.customer_words("name", **facts))
    if chat.call("find_customer_by_name_zip", **name):
        return True
    chat.agent(chat.agent_words("who.never"))
    chat.user(chat.customer_words("resigned"))
    chat.agent(chat.agent_words("bye.sorry"))
    return False


def _farewell(chat: Chat, *, sad: bool) -> None:
    chat.user(chat.customer_words("resigned" if sad else f"thanks{chat.asked}"))
    chat.agent(chat.agent_words("bye.sorry" if sad else "bye"))


def _only_friend(chat: Chat, recipe: Recipe) -> tuple[list[dict[str, Any]], str]:
    """A conversation that is about somebody else's order alone."""
    order = _foreign(chat)
    question = chat.customer_words("friend", order=order.order_id)
    chat.user(chat.customer_words("greet"), question, _identify_opening(chat, recipe.identify))
    _identify(chat, recipe.identify)
    goal = _refuse(chat, order)
    _farewell(chat, sad=True)
    return chat.messages, goal


def _refuse(chat: Chat, order: Order) -> str:
    """Look at an order that is not the customer's, and say nothing about it; the customer's goal."""
    chat.call("get_order", order_id=order.order_id)
    chat.agent(chat.agent_words("friend", order=order.order_id))
    return f"ask about order {order.order_id} of somebody else (not allowed)"


def _foreign(chat: Chat) -> Order:
    others = [order for order in chat.shop.orders.values() if order.customer_id != chat.customer.customer_id]
    return chat.draw.choice(others)


def _product(chat: Chat, other: bool) -> tuple[list[dict[str, Any]], str]:
    """A question about stock, perhaps with a second one that the first result already answers."""
    product = chat.draw.choice([product for product in chat.shop.products.values() if len(product.items) > 1])
    asked = chat.draw.sample(product.items, 2 if other else 1)
    name = f"the {product.name}"
    words = {"product": name, "id": product.product_id, "wish": wish(asked[0].options)}
    chat.user(chat.customer_words("greet"), chat.customer_words("product", **words))
    chat.call("get_product", product_id=product.product_id)
    for place, item in enumerate(asked):
        if place:
            chat.user(chat.customer_words("product.other", wish=wish(item.options)))
        key = "product.in" if item.stock else "product.out"
        chat.agent(chat.agent_words(key, product=product.name, wish=wish(item.options), price=money(item.price)))
    chat.user(chat.customer_words("thanks"))
    chat.agent(chat.agent_words("bye.chat"))
    return chat.messages, f"learn whether {name} is in stock {' or '.join(wish(item.options) for item in asked)}"


def _questions(chat: Chat, keys: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Questions that the policy answers; no tool is needed."""
    for place, key in enumerate(keys):
        chat.user("" if place else chat.customer_words("greet"), chat.customer_words(key))
        chat.agent(chat.agent_words(key))
    chat.user(chat.customer_words("thanks"))
    chat.agent(chat.agent_words("bye.chat"))
    return chat.messages, f"have questions answered: {', '.join(key.removeprefix('ask.') for key in keys)}"


def text(*, seed: int, n: int) -> str:
    """The whole file."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in conversations(seed=seed, n=n))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file that the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m turngap.samples.generate", description="Make sample conversations."
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("-n", type=int, default=48, help="how many")
    parser.add_argument("-o", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        options.o.write_text(text(seed=options.seed, n=options.n), encoding="utf-8", newline="\n")
    except TurngapError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"{options.o}: cannot be written: {error.strerror}\n")
        return UsageError.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
