"""What explorers begin from."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec
import pytest
from explorations import CANCEL, DELIVERED, FIND, HOME, PENDING, RETURN, USER, explored
from explorations import shop as small
from explorers import sampler, shop

from turngap.errors import DataError
from turngap.synth import bank
from turngap.synth.bank import Bank
from turngap.synth.explore import Brief
from turngap.synth.plan import Exploration, Loss, LostError
from turngap.synth.program import ProgramExplorer


def _named(name: str, exploration: Exploration) -> Exploration:
    return msgspec.structs.replace(exploration, id=name)


CANCELLED = explored([FIND, PENDING, CANCEL])
RETURNED = explored([FIND, USER, DELIVERED, RETURN])


def test_kinds_are_drawn_evenly_however_common_they_are() -> None:
    """One return among three cancellations is drawn half of the time."""
    found = Bank([_named("a", CANCELLED), _named("b", CANCELLED), _named("c", CANCELLED), _named("d", RETURNED)])
    rng = random.Random(1)
    drawn = [found.draw(rng) for _ in range(400)]
    returned = sum(one is not None and one.id == "d" for one in drawn)
    assert 150 < returned < 250


def test_an_empty_bank_has_nothing_to_draw() -> None:
    """A first round may begin from nothing."""
    assert Bank().draw(random.Random(0)) is None
    assert len(Bank()) == 0


def test_growth_does_not_depend_on_the_order_of_coming() -> None:
    """What was kept counts by id, and of each kind the first few stay."""
    kept = [_named(f"x{number}", CANCELLED) for number in range(6)] + [_named("x9", RETURNED)]
    forwards, backwards = Bank().grown(kept), Bank().grown(reversed(kept))
    assert forwards.trajectories == backwards.trajectories
    assert [one.id for one in forwards.trajectories] == ["x0", "x1", "x2", "x9"]
    assert len(forwards.grown([_named("y", explored([FIND, HOME]))])) == 5


def test_a_beginning_is_made_by_doing_and_is_seeded() -> None:
    """The program makes a few trajectories without refusals; the same seed the same, another seed others."""

    def begin(seed: int) -> Bank:
        return asyncio.run(bank.begin(shop(), ProgramExplorer(shop()), sampler(), seed=seed, count=4))

    first = begin(1)
    assert len(first) == 4
    assert all(not step.error and not step.breaches for one in first.trajectories for step in one.steps)
    assert begin(1).trajectories == first.trajectories
    assert begin(2).trajectories != first.trajectories


def test_an_explorer_that_finds_nothing_gives_an_empty_bank() -> None:
    """Losses are no errors, and there is an end to trying."""

    class Idle:
        def __init__(self) -> None:
            self.asked = 0

        def identity(self) -> dict[str, object]:
            return {}

        async def explore(self, brief: Brief, world: object) -> Exploration:
            self.asked += 1
            raise LostError(Loss(stage="explore", reason="nothing"))

        async def aclose(self) -> None:
            return None

    idle = Idle()
    assert len(asyncio.run(bank.begin(shop(), idle, sampler(), seed=0, count=2))) == 0
    assert idle.asked == 20


def test_a_bank_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A file brings the same trajectories back."""
    path = tmp_path / "bank.jsonl"
    written = Bank([_named("a", CANCELLED), _named("b", RETURNED)])
    written.write(path)
    assert bank.read(path, small()).trajectories == written.trajectories


def test_a_trajectory_that_cannot_be_done_is_refused_by_line(tmp_path: Path) -> None:
    """A result that is not what the domain gives is no trajectory of it; nor is a line that says none at all."""
    path = tmp_path / "bank.jsonl"
    changed = msgspec.structs.replace(RETURNED.steps[-1], result="done")
    wrong = msgspec.structs.replace(RETURNED, id="wrong", steps=(*RETURNED.steps[:-1], changed))
    Bank([CANCELLED, wrong]).write(path)
    with pytest.raises(DataError, match=r"bank.jsonl:2: trajectory wrong gives something else"):
        bank.read(path, small())
    path.write_text("{}\n")
    with pytest.raises(DataError, match=r"bank.jsonl:1: no trajectory"):
        bank.read(path, small())
    with pytest.raises(DataError, match="cannot be read"):
        bank.read(tmp_path / "none.jsonl", small())
