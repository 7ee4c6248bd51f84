"""The gate chooser says what `turngap gate` says."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import gateruns
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from turngap.analysis.gate import Outcome
from turngap.analysis.rule import parse
from turngap.cli.main import app
from turngap.runs.store import RunStore
from turngap.web.chooser import Choice, Wish, choices, choose, figure_text
from turngap.web.opened import NOTHING, Opened
from turngap.web.shelf import Shelf


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`base` talks and calls well and finishes nothing; `sft` finishes 40 of 50; `lost` has errored units."""
    path = tmp_path_factory.mktemp("gates")
    good, half = gateruns.outcomes(45, 5), gateruns.outcomes(40, 10)
    gateruns.make(path / "base", strict=good, turn=good, replay=half, workflow=gateruns.outcomes(0, 50))
    gateruns.make(path / "sft", strict=half, turn=half, replay=half, workflow=half)
    lost = gateruns.outcomes(40, 7, 3)
    gateruns.make(path / "lost", strict=lost, turn=lost, replay=lost, workflow=lost)
    return path


def _choose(folder: Path, wish: Wish, *names: str) -> Choice:
    with ExitStack() as closing:
        opened = [
            Opened(id=f"r{at}", label=name, store=closing.enter_context(RunStore.open(folder / name)))
            for at, name in enumerate(names or ("base", "sft", "lost"), 1)
        ]
        return choose(opened, wish)


WISHES = (
    Wish(metric="turn.success.tool", bound=60.0),
    Wish(metric="workflow.success", bound=80.0),
    Wish(metric="workflow.success", bound=80.0, confidence=95.0),
    Wish(metric="strict.spurious", kind="max", bound=0.0),
    Wish(metric="strict.exact", kind="max_drop", bound=5.0),
    Wish(metric="strict.exact", kind="max_drop", bound=5.0, confidence=90.0),
    Wish(metric="horizon.8", bound=10.0),
    Wish(metric="turn.success", bound=50.0, max_errored=100),
    Wish(metric="pass^1", bound=50.0),
)


@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: f"{wish.metric}-{wish.kind}-{wish.confidence}")
def test_view_06_page_and_command_agree(folder: Path, tmp_path: Path, wish: Wish) -> None:
    """VIEW-06: for min, max, max_drop, confidence and a missing figure, exit code, value and reason are the command's."""
    choice = _choose(folder, wish)
    assert choice.rule is not None
    rules = tmp_path / "gate.toml"
    rules.write_text(choice.toml, encoding="utf-8")
    for one in choice.passed:
        call = ["gate", str(folder / one.label), "--rules", str(rules), "--json"]
        if wish.kind == "max_drop":
            call += ["--baseline", str(folder / "base")]
        if choice.tables:
            call.append("--what-if")
        ran = CliRunner().invoke(app, call)
        told = json.loads(ran.stdout)
        (ruling,) = told["rulings"]
        assert ran.exit_code == one.result.exit_code
        assert (ruling["outcome"], ruling["value"], ruling["n"]) == (
            one.ruling.outcome,
            one.ruling.value,
            one.ruling.n,
        )
        assert ruling["reason"] == one.ruling.reason
        assert told["outcome"] == one.result.outcome
        if choice.tables:
            trials = told["what_if"]["runs"][0]["trials"]
            shown = next(run for run in choice.tables[0].runs if run.run == one.result.run).trials
            assert [(trial["outcome"], trial["let_through"]) for trial in trials] == [
                (trial.outcome, trial.let_through) for trial in shown
            ]


def test_a_cheap_gate_lets_through_what_does_not_finish(folder: Path) -> None:
    """A run that talks and calls well and finishes nothing passes a gate on turns, and is named."""
    choice = _choose(folder, Wish(metric="turn.success", bound=60.0), "base", "sft")
    through = {one.label: one.let_through for one in choice.passed}
    assert through == {"base": True, "sft": False}
    assert [one.ended.value for one in choice.passed] == [0.0, 0.8]
    assert choice.finding == (
        "2 of 2 runs pass this gate: base, sft. Of these, base would fail the same bound on what gets finished."
    )
    dear = _choose(folder, Wish(metric="workflow.success", bound=60.0), "base", "sft")
    assert [one.result.outcome for one in dear.passed] == [Outcome.FAIL, Outcome.PASS]


def test_errored_units_leave_it_undecided(folder: Path) -> None:
    """What could not be measured decides nothing, and nothing is said to be let through."""
    choice = _choose(folder, Wish(metric="turn.success", bound=60.0), "lost")
    (one,) = choice.passed
    assert one.result.outcome is Outcome.UNDECIDED
    assert one.let_through is None
    assert choice.finding == "No loaded run passes this gate."


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish(metric="turn.sucess"), "did you mean turn.success"),
        (Wish(metric="turn.success", bound=160.0), "fractions in [0, 1]"),
        (Wish(metric="turn.success", bound=float("nan")), "cannot be"),
        (Wish(metric="turn.success", bound=float("inf")), "cannot be"),
        (Wish(metric="turn.success", confidence=4.0), "between 0.5 and 0.999"),
        (Wish(metric='x"\n[[rule]]\nmetric = "turn.success'), "unknown figure"),
    ],
)
def test_what_is_no_rule_says_why(folder: Path, wish: Wish, words: str) -> None:
    """A wish that makes no rule is answered in the words of the gate, whatever is in it."""
    choice = _choose(folder, wish, "base")
    assert (choice.rule, choice.passed) == (None, ())
    assert words in choice.problem


@given(st.text(max_size=30), st.floats(), st.one_of(st.none(), st.floats()), st.integers(0, 10**6))
def test_any_wish_is_one_rule_or_none(metric: str, bound: float, confidence: float | None, errored: int) -> None:
    """Nothing that a reader sends makes two rules, or a page that fails."""
    choice = choose([], Wish(metric=metric, bound=bound, confidence=confidence, max_errored=errored))
    if choice.rule is not None:
        assert parse(choice.toml) == (choice.rule,)
    else:
        assert choice.problem


def test_figures_to_choose_are_those_measured(shelf: Shelf) -> None:
    """What can be chosen was measured in some run, recorded figures first, and makes a rule."""
    with ExitStack() as closing:
        opened = [Opened(id=run.id, label=run.label, store=closing.enter_context(run.store())) for run in shelf.runs]
        names = [name for name, _ in choices(opened)]
        choice = choose(opened, Wish())
        assert choice.wish.metric == "turn.success"
        assert len(choice.tables) == 2, "recorded conversations and live trials have a table each"
    assert names.index("turn.success") < names.index("pass^1")
    assert {"workflow.success", "pass^3", "reward.db"} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("metric", "wanted"), [("reward", "pass^1"), ("pass^3", "pass^3")])
def test_live_trials_end_as_their_gate_wants(shelf: Shelf, metric: str, wanted: str) -> None:
    """Beside a gate on trials stands the pass^k that it is held against: that of the rule, else pass^1."""
    with shelf.get("r3").store() as store:
        choice = choose([Opened(id="r3", label="boats", store=store)], Wish(metric=metric, bound=30.0))
    (one,) = choice.passed
    assert one.ended_by == wanted == choice.tables[0].wanted
    assert one.ended.n


def test_figures_in_one_line() -> None:
    """A figure that was not measured is a dash."""
    assert figure_text(NOTHING) == "–"
