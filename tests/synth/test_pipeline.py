"""Synthesis as a whole, in a small shop: what is kept holds, and an interruption changes nothing."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from boatdomain import domain as boats

from turngap import domains, jsonio
from turngap.config import SynthConfig
from turngap.data import Scenario, Usage
from turngap.domains.retail.generate import Sizes, generate
from turngap.engines.base import Quiet
from turngap.formats import tasks as task_files
from turngap.metrics.contamination import duplicates
from turngap.synth.account import account
from turngap.synth.check import check_all
from turngap.synth.export import TASKS, TRAJECTORIES, export, kept
from turngap.synth.pipeline import asked_and_wanted, synthesise, tool_graph
from turngap.synth.plan import Exploration, Loss
from turngap.synth.store import SynthStore


@cache
def _database() -> bytes:
    return jsonio.encode(generate(5, Sizes(categories=25, users=30, orders=120)).tables())


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The spec of a shop of 30 customers."""
    path = tmp_path / "shop.json"
    path.write_bytes(_database())
    return f"retail?db={path}"


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


def test_a_domain_that_crashes_loses_candidates_not_the_synthesis(shop: str, tmp_path: Path) -> None:
    """A fault of a tool is a loss with its reason, and the rest goes on."""
    code = (
        "from boatdomain import *\nimport boatdomain\n\n"
        "@write\ndef move_booking(desk: Desk, booking_id: str, date: str, seats: int = 1) -> Booking:\n"
        "    '''Move a booking.'''\n    raise RuntimeError('out of order')\n\n"
        "DOMAIN = domain(tools=[get_booking, list_tags, move_booking, set_contact, cancel])\n"
    )
    (tmp_path / "desk.py").write_text(code, encoding="utf-8")
    make(SynthConfig(domain=str(tmp_path / "desk.py"), explorations=6), tmp_path / "s")
    with SynthStore.open(tmp_path / "s") as store:
        made = [one for _, one in store.explorations()]
    assert len(made) == 6
    losses = [one for one in made if isinstance(one, Loss)]
    assert losses and all("out of order" in one.detail or "move_booking" in one.detail for one in losses)
    assert all(isinstance(one, Exploration | Loss) for one in made)


def test_near_repetitions_are_counted_by_their_words() -> None:
    """SYN-01: what differs in names and ids alone is a near duplicate (see metrics/contamination)."""
    from turngap.metrics.contamination import Document  # noqa: PLC0415 - beside what it is about

    found = duplicates([Document(id="a", text="cancel #W1234567"), Document(id="b", text="Cancel #W7654321.")])
    assert len(found) == 1
