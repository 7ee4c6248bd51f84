"""The retail domain from its spec, its policy, and the rules that its tools do not enforce."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retailshop import small_shop

from turngap import jsonio
from turngap.data import ToolCall
from turngap.domains import build
from turngap.domains.api import Done
from turngap.domains.retail.domain import retail
from turngap.domains.retail.generate import generate
from turngap.errors import DataError, UsageError


def test_a_seed_stands_for_the_written_database(tmp_path: Path) -> None:
    """`retail?seed=4` and `retail?db=FILE` of the database of seed 4 are one domain; `retail` is seed 0."""
    path = tmp_path / "db.json"
    path.write_text(jsonio.dumps(generate(4).tables()), encoding="utf-8")
    assert build("retail?seed=4").identity() == build(f"retail?db={path}").identity()
    assert build("retail").identity() == build("retail?seed=0").identity() != build("retail?seed=4").identity()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("seed=x", "whole number"),
        ("seed=-1", "whole number"),
        ("seed=1&db=x.json", "give one of them"),
        ("sead=1", "unknown option 'sead'"),
    ],
)
def test_bad_options(options: str, problem: str) -> None:
    """Options that make no sense are refused in words."""
    with pytest.raises(UsageError, match=problem):
        build(f"retail?{options}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "column 2"),
        ('{"products": {}, "users": {}}', "orders"),
        (
            '{"products": {"1": {"name": "Mug", "product_id": 1, "variants": {}}}, "users": {}, "orders": {}}',
            "product_id",
        ),
        ('{"products": {}, "users": {}, "orders": {}, "shops": {}}', "shops"),
        ('{"products": {"1": {"nme": "Mug"}}, "users": {}, "orders": {}}', r"products.*nme"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, problem: str) -> None:
    """A file that is no retail database is refused with its name and the place."""
    path = tmp_path / "db.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"db\.json.*{problem}"):
        build(f"retail?db={path}")


def test_missing_file(tmp_path: Path) -> None:
    """So is one that is not there."""
    with pytest.raises(DataError, match=r"gone\.json: cannot be read"):
        build(f"retail?db={tmp_path / 'gone.json'}")


def test_the_policy_names_every_limit() -> None:
    """What the agent has to know is in the policy: statuses, reasons, the words of a transfer."""
    policy = build("retail").policy
    for words in ("no longer needed", "ordered by mistake", "pending (item modified)", "transfer_to_human_agents"):
        assert f"`{words}`" in policy
    assert "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON." in policy


def _breaches(shop: dict[str, dict[str, Any]], name: str, **arguments: Any) -> tuple[str, ...]:
    return retail(shop).world().breaches(ToolCall(name=name, arguments=arguments))


def _breaches_after(*before: tuple[str, dict[str, Any]], call: tuple[str, dict[str, Any]]) -> tuple[str, ...]:
    """What the last call breaks when the others were really made before it."""
    world = retail(small_shop()).world()
    calls = [ToolCall(name=name, arguments=arguments) for name, arguments in before]
    done = [Done(call=one, result=world.call(one)) for one in calls]
    return world.breaches(ToolCall(name=call[0], arguments=call[1]), done)


NOOR = ("find_user_id_by_email", {"email": "noor@example.com"})
ADA = ("find_user_id_by_name_zip", {"first_name": "Ada", "last_name": "Vega", "zip": "83702"})
NOBODY = ("find_user_id_by_email", {"email": "nobody@example.com"})
CANCEL = ("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})


def test_the_customer_has_to_be_found_first() -> None:
    """Neither looking at an account nor changing an order is allowed before; the catalogue is open to all."""
    for before in ((), (NOBODY,)):
        for call in (CANCEL, ("get_order_details", {"order_id": "#W1"}), ("get_user_details", {"user_id": "u"})):
            assert "before anything else" in _breaches_after(*before, call=call)[0]
    assert _breaches_after(call=("get_product_details", {"product_id": "1"})) == ()
    assert _breaches_after(call=NOOR) == ()
    assert _breaches_after(NOBODY, NOOR, call=CANCEL) == ()


def test_the_customer_has_their_own_account_and_orders_only() -> None:
    """Somebody else's order cannot be changed, nor their account seen; the first one found is the customer."""
    assert "somebody else's" in _breaches_after(ADA, call=CANCEL)[0]
    assert "somebody else's" in _breaches_after(ADA, NOOR, call=CANCEL)[0]
    assert "somebody else's" in _breaches_after(ADA, call=("get_user_details", {"user_id": "u"}))[0]
    assert "somebody else's" in _breaches_after(ADA, call=("modify_user_address", {"user_id": "u"}))[0]
    assert _breaches_after(ADA, call=("get_user_details", {"user_id": "v"})) == ()
    assert _breaches_after(ADA, call=("get_order_details", {"order_id": "#W1"})) == ()
    assert _breaches_after(ADA, call=("cancel_pending_order", {"order_id": "#W404"})) == ()


def test_where_nobody_knows_what_was_done_before_it_is_not_asked() -> None:
    """A call looked at alone breaks only the rules that see the state."""
    assert retail(small_shop()).world().breaches(ToolCall(name=CANCEL[0], arguments=CANCEL[1])) == ()


def test_rules_beyond_the_tools() -> None:
    """Calls that the tools take although the policy forbids them are told."""
    shop = small_shop()
    exchange = {"order_id": "#W2", "item_ids": ["11"], "new_item_ids": ["11"], "payment_method_id": "c1"}
    assert "not for itself" in _breaches(shop, "exchange_delivered_order_items", **exchange)[0]
    assert "at least one item" in _breaches(shop, "return_delivered_order_items", order_id="#W2", item_ids=[])[0]
    shop["orders"]["#W1"]["status"] = "pending (item modified)"
    assert "not changed any more" in _breaches(shop, "modify_pending_order_address", order_id="#W1")[0]


def test_rules_let_good_calls_pass() -> None:
    """What the policy allows breaks no rule, and neither does a malformed call."""
    shop = small_shop()
    exchange = {"order_id": "#W2", "item_ids": ["11"], "new_item_ids": ["12"], "payment_method_id": "c1"}
    assert _breaches(shop, "exchange_delivered_order_items", **exchange) == ()
    assert _breaches(shop, "modify_pending_order_address", order_id="#W1") == ()
    assert _breaches(shop, "get_order_details", order_id=5) == ()
    assert retail(shop).world().breaches(ToolCall(name="get_order_details", arguments=None)) == ()
