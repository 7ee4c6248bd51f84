"""What a synthesis keeps, and what it refuses to go on with."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from turngap.config import SynthConfig
from turngap.data import Scenario, ToolCall
from turngap.errors import ConfigError, StoreError, UsageError
from turngap.synth.plan import Candidate, Customer, Exploration, Loss, Step
from turngap.synth.store import DATABASE, SynthStore

CONFIG = SynthConfig(domain="retail")
WHERE = {"domain": "shop", "database": "d1"}
MADE = Exploration(
    id="x00001",
    seed=1,
    explorer="program",
    customer=Customer(table="users", key="u", record={"name": "Zoë \u2028"}),
    offered=("find",),
    steps=(Step(call=ToolCall(name="find", arguments={"n": 2**70}), result="\x00"),),
)


def test_what_is_put_is_read_back(tmp_path: Path) -> None:
    """Explorations, losses and candidates come back equal, in order, whatever is in them."""
    lost = Loss(stage="filter", reason="no effect", detail="…")
    kept = Candidate(scenario=Scenario.GENERAL)
    with SynthStore.create(tmp_path / "s", CONFIG, WHERE) as store:
        store.put_exploration(1, MADE)
        store.put_exploration(0, lost)
        store.put_candidate(1, kept)
        store.put_candidate(1, Candidate(scenario=Scenario.CHANGING, loss=lost))
        assert store.exploration(7) is None and store.candidate(7, "general") is None
    with SynthStore.open(tmp_path / "s") as store:
        assert list(store.explorations()) == [(0, lost), (1, MADE)]
        assert store.exploration(1) == MADE
        assert list(store.candidates("general")) == [(1, kept)]
        assert store.candidate(1, "changing") == Candidate(scenario=Scenario.CHANGING, loss=lost)
        assert store.config == CONFIG and store.domain == WHERE


def test_more_may_be_asked_for_but_nothing_else(tmp_path: Path) -> None:
    """A directory goes on with other counts; other settings or another domain are refused and named."""
    SynthStore.create(tmp_path, CONFIG, WHERE).close()
    SynthStore.create(tmp_path, msgspec.structs.replace(CONFIG, count=5, explorations=9), WHERE).close()
    with pytest.raises(ConfigError, match="seed: 3 asked for, 0 stored"):
        SynthStore.create(tmp_path, msgspec.structs.replace(CONFIG, seed=3), WHERE)
    with pytest.raises(ConfigError, match="database: 'd2' asked for, 'd1' stored"):
        SynthStore.create(tmp_path, CONFIG, {**WHERE, "database": "d2"})


def test_one_process_writes(tmp_path: Path) -> None:
    """A second writer is refused in one line, readers are not."""
    with SynthStore.create(tmp_path, CONFIG, WHERE):
        with pytest.raises(StoreError, match="is writing this run"):
            SynthStore.create(tmp_path, CONFIG, WHERE)
        SynthStore.open(tmp_path).close()


def test_what_is_no_synthesis_is_said_to_be_none(tmp_path: Path) -> None:
    """A missing, a foreign and a damaged file are told apart from a synthesis in one line."""
    with pytest.raises(StoreError, match="holds no synthesis"):
        SynthStore.open(tmp_path)
    (tmp_path / DATABASE).write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="damaged or no SQLite file"):
        SynthStore.create(tmp_path, CONFIG, WHERE)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"explorations": 0}, "explorations is at least 1"),
        ({"tools": -1}, "tools is at least 1"),
        ({"count": 0}, "at least 1, not 0"),
        ({"scenarios": ("general", "odd")}, "unknown scenario odd; known: general"),
        ({"scenarios": ()}, "known: general"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], problem: str) -> None:
    """Each in one line that says what would make sense."""
    with pytest.raises(UsageError, match=problem):
        SynthConfig(domain="retail", **settings)
