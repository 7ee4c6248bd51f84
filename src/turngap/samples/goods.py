"""Requests about goods that were delivered: returns, also those that come too late, and exchanges."""

from __future__ import annotations

from turngap.samples.ask import Ask
from turngap.samples.chat import Chat, day, money, shown, the, wish
from turngap.samples.shop import Bought, Item, Order, Shop


class Return(Ask):
    """Send items back.

    ``credit`` to store credit, ``more`` adds an item at the last moment, ``final`` contains one that the tool refuses.
    """

    twists = ("", "credit", "more", "final")

    def __init__(self, chat: Chat, order: Order, find: str, twist: str) -> None:
        super().__init__(chat, order, find, twist)
        # What is final sale comes last, so that with `final` the rest can still go back.
        goods = sorted(order.bought, key=lambda bought: bought.product.final_sale)
        normal = [bought for bought in goods if not bought.product.final_sale]
        self.items = goods if twist == "final" else normal[:1]
        self.rest = normal[1:2] if twist == "more" else normal if twist == "final" else []
        self.subject = self.items[0]

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Delivered recently, with as many items as the course needs."""
        final = sum(bought.product.final_sale for bought in order.bought)
        normal = len(order.bought) - final
        need = {"more": normal > 1, "final": final == 1 and normal > 0}
        return order.returnable and need.get(twist, normal > 0)

    def opening(self) -> str:
        """Name the items."""
        return self.chat.customer_words("return", items=the(self.items), source=self.source())

    def goal(self) -> str:
        """The money back."""
        items = [*self.items, *self.rest] if self.twist == "more" else self.items
        end = {"credit": " for store credit", "final": " (final sale items can't be returned)"}.get(self.twist, "")
        return f"return {the(items)} from order {self.order.order_id}{end}"

    def resolve(self) -> None:
        """Propose, wait for the yes, return; or meet the tool's refusal and return the rest."""
        chat, items = self.chat, self.items
        self._propose("return.propose", items)
        credit = self.twist == "credit"
        if self.twist == "more":
            chat.user(chat.customer_words("return.more", items=the(self.rest)))
            items = [*items, *self.rest]
            self._propose("return.propose", items)
        if credit:
            chat.user(chat.customer_words("return.credit"))
        else:
            chat.yes()
        if not self._send(items, credit=credit):
            refused = [bought for bought in items if bought.product.final_sale]
            items = self.rest
            chat.agent(chat.agent_words("return.final", items=the(refused)), self._words("return.rest", items))
            chat.yes()
            self._send(items, credit=credit)
        done = self._words("return.done.credit" if credit else "return.done", items)
        chat.agent(done, chat.agent_words("else"))

    def _send(self, items: list[Bought], *, credit: bool) -> bool:
        arguments = {"order_id": self.order.order_id, "item_ids": [bought.item.item_id for bought in items]}
        return self.chat.call("return_items", **arguments, **({"refund_to": "store_credit"} if credit else {}))

    def _propose(self, key: str, items: list[Bought]) -> None:
        self.chat.agent(self._words(key, items))

    def _words(self, key: str, items: list[Bought]) -> str:
        order = self.order
        return self.chat.agent_words(
            key,
            order=order.order_id,
            items=the(items),
            amount=money(sum(bought.price for bought in items)),
            paid=order.paid_with,
            delivered=day(order.delivered) if order.delivered else "",
            return_id=f"RT-{order.order_id[3:]}",
        )


class TooOld(Ask):
    """Return after the window has closed: no; with ``insist`` it goes to a colleague."""

    twists = ("", "insist")
    sad = True

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Delivered long ago."""
        return order.delivered is not None and not order.returnable

    def opening(self) -> str:
        """Name the item."""
        return self.chat.customer_words("return", items=the([self.subject]), source=self.source())

    def goal(self) -> str:
        """The money back, which is not allowed."""
        return (
            f"return {the([self.subject])} from order {self.order.order_id} after the window has closed (not allowed)"
        )

    def resolve(self) -> None:
        """Refuse; hand over those who insist."""
        chat, order = self.chat, self.order
        delivered = day(order.delivered) if order.delivered else ""
        chat.agent(chat.agent_words("return.old", order=order.order_id, delivered=delivered))
        if self.twist == "insist":
            chat.user(chat.customer_words("return.insist"))
            chat.agent(chat.agent_words("return.escalate"))
            chat.yes()
            chat.call("transfer_to_human", topic="other")
            chat.agent(chat.agent_words("transfer.done"))


class Exchange(Ask):
    """Swap an item for another option.

    ``out``: the wanted one is out of stock and another is picked; ``switch``: the customer changes their mind.
    """

    twists = ("", "out", "switch")

    def __init__(self, chat: Chat, order: Order, find: str, twist: str) -> None:
        super().__init__(chat, order, find, twist)
        self.subject = next(bought for bought in order.bought if _swappable(bought, twist))
        stocked, gone = _neighbours(self.subject)
        chat.draw.shuffle(stocked)
        self.wanted = chat.draw.choice(gone) if twist == "out" else stocked[0]
        # What is taken in the end; with a twist that is not what was wanted first.
        self.final = {"out": stocked[0], "switch": stocked[-1]}.get(twist, self.wanted)

    @staticmethod
    def fits(order: Order, twist: str, shop: Shop) -> bool:  # noqa: ARG004 - the seam's signature
        """Delivered recently, with options in stock as the course needs."""
        return order.returnable and any(_swappable(bought, twist) for bought in order.bought)

    def opening(self) -> str:
        """Name the item and the option."""
        facts = {"items": the([self.subject]), "source": self.source(), "wish": self._wish(self.wanted)}
        return self.chat.customer_words("exchange", **facts)

    def goal(self) -> str:
        """Another option."""
        return f"exchange {the([self.subject])} from order {self.order.order_id} for one {wish(self.final.options)}"

    def resolve(self) -> None:
        """Look at the stock, propose, wait for the yes, exchange."""
        chat, new = self.chat, self.wanted
        product = self.subject.product
        chat.call("get_product", product_id=product.product_id)
        if self.twist == "out":
            options = "; ".join(shown(item) for item in product.items if item.stock and item is not self.subject.item)
            words = {"item": product.name, "wish": self._wish(new), "options": options}
            chat.agent(chat.agent_words("exchange.out", **words))
            chat.user(chat.customer_words("exchange.pick", wish=wish(self.final.options)))
            new = self.final
        elif self.twist == "switch":
            self._propose(new)
            chat.user(chat.customer_words("exchange.switch", wish=wish(self.final.options)))
            new = self.final
        self._propose(new)
        chat.yes()
        order_id = self.order.order_id
        chat.call("exchange_item", order_id=order_id, item_id=self.subject.item.item_id, new_item_id=new.item_id)
        facts = {"item": product.name, "wish": self._wish(new), "exchange_id": f"EX-{order_id[3:]}"}
        chat.agent(chat.agent_words("exchange.done", **facts), chat.agent_words("else"))

    def _propose(self, new: Item) -> None:
        difference = round(new.price - self.subject.price, 2)
        costs = f"It costs {money(difference)} more." if difference > 0 else f"You get {money(-difference)} back."
        facts = {"item": self.subject.product.name, "wish": self._wish(new)}
        words = "The price is the same." if not difference else costs
        self.chat.agent(self.chat.agent_words("exchange.propose", difference=words, **facts))

    def _wish(self, new: Item) -> str:
        """What tells it from the bought one; all options once others came up."""
        if new is not self.wanted:
            return wish(new.options)
        old = self.subject.item.options
        return wish({name: value for name, value in new.options.items() if old[name] != value})


def _neighbours(bought: Bought) -> tuple[list[Item], list[Item]]:
    """The options that differ from the bought one in a single point: those in stock, and those that are not."""
    own = bought.item.options
    near = [
        item for item in bought.product.items if sum(own[name] != value for name, value in item.options.items()) == 1
    ]
    return [item for item in near if item.stock], [item for item in near if not item.stock]


def _swappable(bought: Bought, twist: str) -> bool:
    stocked, gone = _neighbours(bought)
    return len(stocked) > (twist == "switch") and (bool(gone) or twist != "out")
