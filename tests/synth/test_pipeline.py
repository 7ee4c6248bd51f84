"""Synthesis as a whole, in a small shop: what is kept holds, and an interruption changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from boatdomain import domain as boats
from madeshop import made_shop

from turngap import domains, jsonio
from turngap.config import SynthConfig
from turngap.data import Scenario, Usage
from turngap.engines.base import Quiet
from turngap.errors import ConfigError
from turngap.formats import tasks as task_files
from turngap.metrics.contamination import duplicates
from turngap.synth.account import account
from turngap.synth.check import check_all
from turngap.synth.export import TASKS, TRAJECTORIES, export, kept
from turngap.synth.pipeline import asked_and_wanted, stored_graph, synthesise, tool_graph
from turngap.synth.plan import Exploration, Loss
from turngap.synth.store import SynthStore


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The spec of a shop of 30 customers."""
    return made_shop(tmp_path)


def make(config: SynthConfig, directory: Path, progress: Any = None) -> int:
    """Run a synthesis to its end."""
    return asyncio.run(synthesise(config, directory, progress or Quiet()))


def written(directory: Path) -> tuple[str, str]:
    """The files that people use, as text."""
    with SynthStore.open(directory) as store:
        export(store)
    tasks, trajectories = directory / TASKS, directory / TRAJECTORIES
    return tasks.read_text(encoding="utf-8"), trajectories.read_text(encoding="utf-8")


class _Stop(Quiet):
    """Interrupts like a person, after some explorations."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after

    def advance(self, *, errored: bool = False, usage: Usage | None = None) -> None:
        """See `Progress.advance`."""
        super().advance(errored=errored, usage=usage)
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


def test_every_scenario_is_made_and_every_task_holds(shop: str, tmp_path: Path) -> None:
    """Tasks of all four scenarios; each passes `synth check`, reads back as it was, and no two ask for the same."""
    assert make(SynthConfig(domain=shop, explorations=12), tmp_path / "s") == 0
    written(tmp_path / "s")
    file = task_files.read(tmp_path / "s" / TASKS)
    assert {task.scenario for task in file.tasks} == set(Scenario)
    severe = [finding for finding in check_all(file.tasks, domains.build(shop)) if finding.severity == "error"]
    assert not severe
    assert len({asked_and_wanted(task) for task in file.tasks}) == len(file.tasks)
    with SynthStore.open(tmp_path / "s") as store:
        originals = [candidate.task for candidate in kept(store, store.config)]
    for task, original in zip(file.tasks, originals, strict=True):
        assert msgspec.structs.replace(task, raw={}) == original


def test_an_interruption_changes_nothing(shop: str, tmp_path: Path) -> None:
    """SYN-01: stopped after five explorations and resumed, a synthesis writes the files of an undisturbed one."""
    config = SynthConfig(domain=shop, count=4, explorations=60)
    make(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        make(config, tmp_path / "broken", _Stop(5))
    make(config, tmp_path / "broken")
    assert written(tmp_path / "broken") == written(tmp_path / "whole")
    again = Quiet()
    make(config, tmp_path / "broken", again)
    assert again.done == again.stages[0][2], "nothing is made a second time"


def test_the_seed_decides(shop: str, tmp_path: Path) -> None:
    """SYN-01: the same seed gives the same tasks, another seed others, and none repeats another but for names."""
    first, second, other = (tmp_path / name for name in ("a", "b", "c"))
    for directory, seed in ((first, 1), (second, 1), (other, 2)):
        make(SynthConfig(domain=shop, explorations=6, seed=seed), directory)
    assert written(first) == written(second)
    assert written(first)[0] != written(other)[0]
    with SynthStore.open(first) as store:
        found = account(store, tool_graph(store.config, domains.build(shop)))
    assert found.diversity.near_duplicates == 0


def test_more_can_be_asked_for_later(shop: str, tmp_path: Path) -> None:
    """A directory with three tasks of each scenario that is asked for five keeps the three and adds to them."""
    config = SynthConfig(domain=shop, scenarios=("general",), count=3, explorations=60)
    make(config, tmp_path)
    before = jsonio.loads(written(tmp_path)[0])
    make(msgspec.structs.replace(config, count=5), tmp_path)
    after = jsonio.loads(written(tmp_path)[0])
    assert (len(before), len(after)) == (3, 5)
    assert after[:3] == before


def test_a_domain_of_ones_own_is_served(tmp_path: Path) -> None:
    """A desk without a table of people gives tasks too, and its synthesis says what it could not make."""
    (tmp_path / "desk.py").write_text("from boatdomain import domain\n\nDOMAIN = domain()\n", encoding="utf-8")
    assert make(SynthConfig(domain=str(tmp_path / "desk.py"), explorations=8), tmp_path / "s") == 0
    with SynthStore.open(tmp_path / "s") as store:
        found = account(store, tool_graph(store.config, boats()))
    assert found.tasks["general"] > 0
    assert all(funnel.begun >= funnel.kept for funnel in found.funnels)


def faulty_desk(
    folder: Path, body: str, tools: str = "get_booking, list_tags, move_booking, set_contact, cancel"
) -> str:
    """The spec of a desk whose tool for moving bookings has another body."""
    code = (
        "from itertools import count\nfrom boatdomain import *\nimport boatdomain\n\nCALLS = count(1)\n\n"
        "@write\ndef move_booking(desk: Desk, booking_id: str, date: str, seats: int = 1) -> Booking:\n"
        f"    '''Move a booking.'''\n    {body}\n\nDOMAIN = domain(tools=[{tools}])\n"
    )
    (folder / "desk.py").write_text(code, encoding="utf-8")
    return str(folder / "desk.py")


def test_a_tool_that_crashes_is_done_without_and_named(tmp_path: Path) -> None:
    """The other tools give tasks, none of them with the faulty one, and the account says what failed."""
    desk = faulty_desk(tmp_path, "raise RuntimeError('out of order')")
    make(SynthConfig(domain=desk, explorations=6, scenarios=("general",)), tmp_path / "s")
    with SynthStore.open(tmp_path / "s") as store:
        found = account(store, tool_graph(store.config, domains.build(desk)))
        made = [one for _, one in store.explorations()]
        tasks = [candidate.task for candidate in kept(store, store.config) if candidate.task]
    assert all(isinstance(one, Exploration) for one in made)
    assert tasks and "move_booking" not in {action.name for task in tasks for action in task.criteria.actions}
    assert "RuntimeError: out of order" in next(iter(found.faults))


def test_where_every_tool_crashes_each_exploration_says_so(tmp_path: Path) -> None:
    """Nothing can be made of it: losses that are faults, with the tool in their words."""
    desk = faulty_desk(tmp_path, "raise RuntimeError('out of order')", "move_booking")
    make(SynthConfig(domain=desk, explorations=3), tmp_path / "s")
    with SynthStore.open(tmp_path / "s") as store:
        made = [one for _, one in store.explorations()]
        found = account(store, tool_graph(store.config, domains.build(desk)))
    assert [isinstance(one, Loss) and one.fault and one.reason for one in made] == ["domain fault"] * 3
    assert found.faults and all("tool move_booking failed at desk.py" in text for text in found.faults)


def test_a_fault_in_a_late_stage_costs_one_candidate(tmp_path: Path) -> None:
    """Of a tool that fails now and then: the exploration stays, what else came of it too, and the funnel adds up."""
    body = (
        "if next(CALLS) % 17 == 0: raise RuntimeError('now and then')\n"
        "    return desk.bookings.change(booking_id, date=date, seats=seats)"
    )
    desk = faulty_desk(tmp_path, body)
    make(SynthConfig(domain=desk, explorations=12), tmp_path / "s")
    with SynthStore.open(tmp_path / "s") as store:
        explored = {at for at, one in store.explorations() if isinstance(one, Exploration)}
        candidates = {at: one for name in store.config.scenarios for at, one in store.candidates(name)}
        late = [
            one.loss.stage
            for name in store.config.scenarios
            for _, one in store.candidates(name)
            if one.loss is not None and one.loss.fault
        ]
        graph = stored_graph(store)
        assert graph is not None
        found = account(store, graph)
    assert late and "explore" not in late
    assert candidates.keys() <= explored
    assert all(funnel.begun == found.explored for funnel in found.funnels)


def test_files_that_have_changed_since_are_refused(shop: str, tmp_path: Path) -> None:
    """Other wordings, or another graph, under the same name would mix two syntheses."""
    phrases, edges = tmp_path / "own.toml", tmp_path / "edges.toml"
    phrases.write_text('[talk]\ngreeting = ["Ahoy"]\n', encoding="utf-8")
    edges.write_text("", encoding="utf-8")
    config = SynthConfig(domain=shop, explorations=1, phrases=str(phrases), graph=str(edges))
    make(config, tmp_path / "s")
    make(config, tmp_path / "s")
    phrases.write_text('[talk]\ngreeting = ["Ahoy there"]\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"other files: phrases: .* asked for"):
        make(config, tmp_path / "s")
    phrases.write_text('[talk]\ngreeting = ["Ahoy"]\n', encoding="utf-8")
    edges.write_text("add = []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"other files: graph: .* asked for"):
        make(config, tmp_path / "s")


def test_fewer_explorations_leave_out_what_is_stored_beyond(shop: str, tmp_path: Path) -> None:
    """Account and files are those of a synthesis that never made more; the account says how many are left out."""
    many = SynthConfig(domain=shop, explorations=6, scenarios=("general",))
    few = msgspec.structs.replace(many, explorations=3)
    for config, directory in ((many, tmp_path / "many"), (few, tmp_path / "many"), (few, tmp_path / "few")):
        make(config, directory)
    assert written(tmp_path / "many") == written(tmp_path / "few")
    found = []
    for directory in (tmp_path / "many", tmp_path / "few"):
        with SynthStore.open(directory) as store:
            found.append(account(store, tool_graph(store.config, domains.build(shop))))
    assert [one.further for one in found] == [3, 0]
    assert msgspec.structs.replace(found[0], further=0) == found[1]


def test_near_repetitions_are_counted_by_their_words() -> None:
    """SYN-01: what differs in names and ids alone is a near duplicate (see metrics/contamination)."""
    from turngap.metrics.contamination import Document  # noqa: PLC0415 - beside what it is about

    found = duplicates([Document(id="a", text="cancel #W1234567"), Document(id="b", text="Cancel #W7654321.")])
    assert len(found) == 1
