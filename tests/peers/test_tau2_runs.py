"""Recorded runs of tau-bench and tau2, made again in worlds of tau2 and scored again. See docs/decisions/tau2.md."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tau2peer import Rescored, Twins, absent, again, kinds_of_difference, performed, whole

from turngap import domains
from turngap.data import Spoken, Task, Trajectory
from turngap.domains.live import LiveDomain
from turngap.domains.retail.domain import retail as our_retail
from turngap.domains.tau2 import results
from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.package import package
from turngap.domains.tau2.results import About
from turngap.domains.tau2.verdict import judged, retold, verdict
from turngap.errors import DataFault
from turngap.formats import tasks as task_files

_ABSENT = absent()
pytestmark = pytest.mark.skipif(bool(_ABSENT), reason=_ABSENT or "")


def _domain(name: str) -> Tau2Domain:
    found = domains.build(f"tau2:{name}")
    assert isinstance(found, Tau2Domain)
    return found


def _rescored(domain: LiveDomain, path: Path) -> list[Rescored]:
    return [again(domain, record) for record in json.loads(path.read_text(encoding="utf-8"))]


def _disagreeing(runs: list[Rescored]) -> list[tuple[int, float, float]]:
    return [(run.task, run.stored, run.reward) for run in runs if run.reward != run.stored]


def test_tau_bench_airline_is_scored_as_it_was(shared: Path) -> None:
    """All 100 recorded airline runs get their stored reward; results differ in the listed ways only."""
    runs = _rescored(_domain("airline"), shared / "tau-bench" / "gpt-4o-airline-tasks-00-24.json")
    assert (len(runs), sum(run.calls for run in runs), sum(run.stored for run in runs)) == (100, 621, 31)
    assert _disagreeing(runs) == []
    # One of them did all that was wanted but hit its step limit.
    assert [(run.task, run.trial) for run in runs if run.database and run.said and not run.finished] == [(2, 1)]
    assert kinds_of_difference(runs) == {
        "think": 58,
        "update_reservation_flights": 39,
        "update_reservation_baggages": 6,
        "search_onestop_flight": 5,
        "list_all_airports": 2,
        "get_reservation_details": 1,
        "cancel_reservation": 1,
    }
    assert not any(run.failed for run in runs)


@pytest.mark.parametrize("whose", ["tau2's", "ours"])
def test_recorded_retail_runs_are_scored_as_they_were(shared: Path, whose: str) -> None:
    """53 of 55 recorded retail runs get their stored reward, in tau2's shop and in ours; two replace an item by itself."""
    theirs = _domain("retail")
    domain: LiveDomain = theirs if whose == "tau2's" else our_retail(theirs.task_file.with_name("db.json"))
    runs = _rescored(domain, shared / "agentrx-tau-retail" / "retail-tasks-000-054.json")
    assert (len(runs), sum(run.calls for run in runs), sum(run.stored for run in runs)) == (55, 466, 41)
    assert _disagreeing(runs) == [(36, 1.0, 0.0), (37, 1.0, 0.0)]
    if whose == "tau2's":
        assert kinds_of_difference(runs) == {
            "think": 25,
            "modify_pending_order_items": 3,
            "modify_pending_order_address": 1,
        }


@pytest.mark.parametrize("name", ["retail", "telecom"])
def test_tau2s_runs_are_made_again_and_scored_alike(shared: Path, name: str, tmp_path: Path) -> None:
    """Every result of the recorded tau2 runs comes again; the stored reward is what tau2's evaluator says of them here.

    It says the same when we have written them, and loads what we have written.
    """
    path = shared / "tau2-results" / f"nemo-gym-{name}.results.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))["simulations"]
    read, domain = results.read(path), _domain(name)
    tasks = {task.id: task for task in task_files.read(path).tasks}
    written = []
    for trial, raw in zip(read.trials, recorded, strict=True):
        task = tasks[trial.task]
        world = domain.world(0, task.initial_state)
        for event in trial.trajectory.events:
            side = "user" if isinstance(event, Spoken) else "assistant"
            calls = event.calls if isinstance(event, Spoken) else event.message.calls
            assert [world.call(call, requestor=side) for call in calls] == list(event.results)
        for check in task.criteria.env_assertions:
            assert domain.holds(world, check.name, check.arguments, requestor=check.side) == check.expected
        theirs = judged(domain, task.raw, raw)
        assert theirs["reward"] == trial.reward == 1.0
        assert verdict(domain, task, trial.trajectory) == theirs
        written.append(results.simulation(task, trial.trajectory))
    about = About(domain=name, policy=domain.policy, agent="recorded", user="recorded")
    results.write(tmp_path / "results.json", results.document(about, tasks.values(), written))
    loaded = package().results.load(tmp_path / "results.json")
    assert [one.task_id for one in loaded.simulations] == [trial.task for trial in read.trials]
    again_read = results.read(tmp_path / "results.json").trials
    assert [one.trajectory.events for one in again_read] == [one.trajectory.events for one in read.trials]


# ---- tau2's evaluator on forks, and as it is


def _refused(trajectory: Trajectory) -> bool:
    return any(result.error for event in trajectory.events for result in event.results)


def _mutations(task: Task) -> list[list[tuple[str, dict[str, Any], Any]]]:
    """The reference; without its last action; with its first argument spoilt; backwards; nothing."""
    reference = whole(task)
    spoilt = copy.deepcopy(reference)
    for _, arguments, _ in spoilt[-1:]:
        for key in list(arguments)[:1]:
            arguments[key] = "spoilt"
    return [reference, reference[:-1], spoilt, reference[::-1], []]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "every"), [("mock", 1), ("telecom", 5), ("retail", 114), ("airline", 50)])
def test_forks_change_nothing_for_tau2s_evaluator(name: str, every: int) -> None:
    """On succeeding, failing and spoilt trials the evaluator says of forks what it says of environments it builds."""
    domain = _domain(name)
    path = domain.task_file if name != "telecom" else domain.task_file.with_name("tasks_small.json")
    rewards: Counter[float] = Counter()
    writes = {tool.name for tool in (*domain.tools, *domain.user_tools) if tool.kind == "write"}
    tasks = [task for task in task_files.read(path).tasks if {one.name for one in task.criteria.actions} & writes]
    for task in tasks[::every]:
        for actions in _mutations(task):
            trajectory, _ = performed(domain, task, actions)
            one = package().simulation.model_validate(results.simulation(task, trajectory))
            try:
                unchanged = package().evaluate(one, package().task.model_validate(task.raw), name)
            except ValueError as error:
                # It asks an assertion about a record that the trial never made.
                with pytest.raises(DataFault, match=f"tau2's evaluator failed.*{error}"):
                    verdict(domain, task, trajectory)
                continue
            found = verdict(domain, task, trajectory)
            assert found == unchanged.model_dump(mode="json")
            rewards[found["reward"]] += 1
    assert rewards[1.0]
    assert rewards[0.0]


def test_trials_in_our_retail_get_tau2s_figure_too() -> None:
    """A trial in our shop, refusals included, is scored by tau2's evaluator as the same calls in tau2's shop are."""
    theirs = _domain("retail")
    ours = our_retail(theirs.task_file.with_name("db.json"))
    # Some references look a customer up by an e-mail address that nobody has.
    task = next(
        task for task in task_files.read(theirs.task_file).tasks if _refused(performed(ours, task, whole(task))[0])
    )
    rewards = []
    for actions in _mutations(task):
        mine, peers = performed(ours, task, actions)[0], performed(theirs, task, actions)[0]
        assert (mine == peers) == (not actions)
        assert retold(theirs, task, mine) == peers
        rewards.append(verdict(theirs, task, retold(theirs, task, mine))["reward"])
        assert rewards[-1] == verdict(theirs, task, peers)["reward"]
    assert rewards == [1.0, 0.0, 0.0, 1.0, 0.0]


def test_a_call_that_tau2_takes_otherwise_cannot_be_retold() -> None:
    """Where one implementation refuses what the other takes, there is no figure, and the call is named."""
    domain = _domain("mock")
    (task, *_) = task_files.read(domain.task_file).tasks
    trajectory, _ = performed(domain, task, [("get_users", {}, "assistant")])
    refused = msgspec.structs.replace(trajectory.events[1].results[0], error=True)
    first, acted, *rest = trajectory.events
    changed = (first, msgspec.structs.replace(acted, results=(refused,)), *rest)
    with pytest.raises(DataFault, match="get_users: tau2 accepts a call that was refused"):
        retold(domain, task, msgspec.structs.replace(trajectory, events=changed))


@pytest.mark.parametrize(("name", "every"), [("mock", 1), ("telecom", 2), ("retail", 19), ("airline", 10)])
def test_worlds_are_tau2s_environments(name: str, every: int) -> None:
    """The reference actions of tasks give the same results and leave the same databases as in tau2's own environment."""
    domain = _domain(name)
    untouched = domain.world().digest()
    path = domain.task_file if name != "telecom" else domain.task_file.with_name("tasks_small.json")
    for task in task_files.read(path).tasks[::every]:
        world, theirs = domain.world(0, task.initial_state), package().environment(name)
        if task.initial_state:
            began = package().initial_state.model_validate(task.initial_state)
            theirs.set_state(began.initialization_data, began.initialization_actions, began.message_history or [])
        for action in task.criteria.actions:
            mine = world.call(action.call(), requestor=action.requestor)
            call = package().call(name=action.name, arguments=action.arguments, requestor=action.requestor)
            peer = theirs.get_response(call)
            assert (mine.content, mine.error) == (peer.content, peer.error)
        for side in ("tools", "user_tools"):
            ours, other = getattr(world.environment, side), getattr(theirs, side)
            assert (ours and ours.db.model_dump()) == (other and other.db.model_dump())
    assert domain.world().digest() == untouched


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sequences"), [("telecom", 80), ("retail", 5), ("airline", 5)])
def test_calls_at_random_come_to_the_same(name: str, sequences: int) -> None:
    """Sequences of valid, nearly valid and senseless calls, with forks between, are in worlds what they are in tau2."""
    domain = _domain(name)
    untouched = domain.world().digest()
    twins = Twins(domain, 7)
    for _ in range(sequences):
        twins.play()
    assert twins.calls >= 3 * sequences
    assert 0 < twins.refused < twins.calls
    assert domain.world().digest() == untouched
