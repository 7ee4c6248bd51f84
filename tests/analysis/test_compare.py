"""Paired comparison of runs: pairing, coverage, refusal, tests and their correction, verdicts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import scored
from scipy import stats

from turngap import jsonio
from turngap.analysis.comparable import settings_that_differ
from turngap.analysis.compare import Comparison, PairedFigure, compare, to_document
from turngap.analysis.summary import summarise
from turngap.config import MatchConfig, ReplayConfig
from turngap.data import Score
from turngap.errors import ConfigError, UsageError
from turngap.metrics.paired import holm
from turngap.runs.store import RunStore


def figure(found: Comparison, name: str, contrast: int = 0) -> PairedFigure:
    """One figure of a contrast."""
    return next(one for one in found.contrasts[contrast].figures if one.name == name)


def _completions(names: Sequence[str], done: Callable[[str], bool | None]) -> dict[str, Sequence[Score]]:
    return {"replay": [scored.replayed(name, done(name)) for name in names]}


def test_sta_06_paired_by_conversation_never_by_position(tmp_path: Path) -> None:
    """STA-06: B is stored in another order and lacks two; nine better and one worse of 48 give p = 0.021."""
    names = [f"c{at:02}" for at in range(50)]
    better, worse = set(names[:9]), {names[9]}
    conversations = [scored.conversation(name) for name in names]
    shuffled = [one for one in conversations if one.id not in (names[48], names[49])]
    random.Random(1).shuffle(shuffled)
    a = scored.run(tmp_path / "a", conversations, _completions(names, lambda name: name not in better))
    b = scored.run(tmp_path / "b", shuffled, _completions([one.id for one in shuffled], lambda name: name not in worse))
    found = compare([a, b])
    replay = figure(found, "replay.completed")
    assert replay.difference.n == replay.difference.clusters == found.shared == 48
    assert replay.discordance is not None
    assert (replay.discordance.gained, replay.discordance.lost) == (9, 1)
    assert replay.discordance.p == pytest.approx(stats.binomtest(9, 10).pvalue)
    assert round(replay.discordance.p, 3) == 0.021
    assert replay.p == pytest.approx(replay.discordance.p)
    assert replay.difference.value == pytest.approx(8 / 48)
    assert found.runs[1].lacks == ("c48", "c49")
    assert any("c48, c49" in note for note in found.notes)


def test_sta_10_runs_of_different_coverage_are_compared_on_what_they_share(tmp_path: Path) -> None:
    """STA-10: runs of 84, 84 and 61 conversations meet on 61; the full figures stand beside, and coverage is noted."""
    names = [f"c{at:02}" for at in range(84)]
    hard = set(names[61:])
    stores = [
        scored.run(
            tmp_path / label,
            [scored.conversation(name) for name in held],
            _completions(held, lambda name: name not in hard),
        )
        for label, held in (("a", names), ("b", names), ("c", names[:61]))
    ]
    found = compare(stores)
    assert found.shared == 61
    assert [figure(found, "replay.completed", at).difference.n for at in (0, 1)] == [61, 61]
    assert figure(found, "replay.completed", 1).difference.value == 0
    full = {one.run: one.full for one in found.coverage if one.figure == "replay.completed"}
    assert full["openai/a"].value == pytest.approx(61 / 84)
    assert full["openai/a"].n == 84
    assert full["openai/c"].n == 61
    assert {one.run: one.left_out for one in found.coverage}["openai/a"] == 23
    assert any("openai/c has 61" in note for note in found.notes)
    assert any("and 18 more" in note for note in found.notes)


def test_jdg_04_only_what_both_judged_is_paired(tmp_path: Path) -> None:
    """JDG-04: three verdicts that A's judge never gave leave seven pairs; they count as no failure of anybody."""
    conversations = [scored.conversation(f"c{at}", "t") for at in range(10)]
    names = [one.id for one in conversations]
    a = scored.run(
        tmp_path / "a",
        conversations,
        {"turn:rules": [scored.turn(name, 0, "text", None if at < 3 else True) for at, name in enumerate(names)]},
    )
    b = scored.run(
        tmp_path / "b", conversations, {"turn:rules": [scored.turn(name, 0, "text", True) for name in names]}
    )
    found = compare([a, b])
    turns = figure(found, "turn.success")
    assert turns.difference.n == 7
    assert turns.first.value == turns.second.value == 1.0
    assert turns.judge == "rules"
    assert [one.left_out for one in found.coverage if one.figure == "turn.success"] == [0, 3]


def test_sta_07_a_figure_without_units_is_null(tmp_path: Path) -> None:
    """STA-07: data with text decisions only leave tool figures null with n 0, out of Holm, and the JSON strict."""
    conversations = [scored.conversation(f"c{at}", "t") for at in range(4)]
    scores = {"turn:rules": [scored.turn(one.id, 0, "text", True) for one in conversations]}
    found = compare([scored.run(tmp_path / name, conversations, scores) for name in ("a", "b")])
    tool = figure(found, "turn.success.tool")
    assert tool.difference.n == tool.first.n == 0
    assert (tool.difference.value, tool.p, tool.p_holm, tool.needed_for, tool.discordance) == (None,) * 5
    text = jsonio.dumps(to_document(found))
    assert "NaN" not in text
    assert jsonio.loads(text)["format"] == "turngap-comparison/1"


def _many(tmp_path: Path, label: str, gain: float, seed: int, **settings: Any) -> RunStore:
    """Twenty conversations of two calls and two texts, each right by chance, and a replay that needs both calls."""
    chance = random.Random(seed)
    conversations = [scored.conversation(f"c{at:02}", "ctct") for at in range(40)]
    turns, strict, replays, finished = [], [], [], []
    for one in conversations:
        calls = [chance.random() < 0.4 + gain for _ in range(2)]
        for at, good in zip((0, 2), calls, strict=True):
            strict.append(scored.exact(one.id, at, good))
            turns.append(scored.turn(one.id, at, "tool", good))
        turns += [scored.turn(one.id, at, "text", chance.random() < 0.5 + gain) for at in (1, 3)]
        replays.append(scored.replayed(one.id, all(calls)))
        finished.append(scored.finished(one.id, all(calls) and chance.random() < 0.5))
    scores = {"turn:rules": turns, "strict": strict, "replay": replays, "workflow:rules": finished}
    return scored.run(tmp_path / label, conversations, scores, scored.config(f"openai/{label}", **settings))


def test_figures_agree_with_the_summaries_and_with_holm(tmp_path: Path) -> None:
    """Shared figures are those of `summarise`, differences theirs, and p-values are corrected all together."""
    stores = [_many(tmp_path, label, gain, seed) for label, gain, seed in (("a", 0, 1), ("b", 0.3, 2), ("c", 0.1, 3))]
    found = compare(stores)
    summaries = [summarise(store) for store in stores]
    for at, contrast in enumerate(found.contrasts, 1):
        assert contrast.first == "openai/a"
        for one in contrast.figures:
            assert one.first == summaries[0].metrics[one.name]
            assert one.second == summaries[at].metrics[one.name]
            assert one.second.value is not None
            assert one.difference.value == pytest.approx(one.second.value - one.first.value)
            assert one.difference.ci95 is not None
            assert one.difference.ci95[0] <= one.difference.value <= one.difference.ci95[1]
    figures = [one for contrast in found.contrasts for one in contrast.figures]
    assert [one.p_holm for one in figures] == pytest.approx(holm([one.p for one in figures]))
    assert {one.name for one in figures} >= {"turn.success", "strict.arg_f1", "workflow.success"}
    assert figure(found, "turn.success").discordance is not None
    assert figure(found, "strict.arg_f1").discordance is None


def test_pooled_figures_are_compared_as_ratios(tmp_path: Path) -> None:
    """The difference of pooled F1 is that of the pooled figures, inside its interval."""
    found = compare([_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.3, 2)], metrics=["strict.arg_f1.micro"])
    pooled = figure(found, "strict.arg_f1.micro")
    assert pooled.first.value is not None
    assert pooled.second.value is not None
    assert pooled.difference.value == pytest.approx(pooled.second.value - pooled.first.value)
    assert pooled.difference.ci95 is not None
    assert pooled.difference.ci95[0] < pooled.difference.value < pooled.difference.ci95[1]
    assert pooled.p is not None
    assert pooled.p < 0.05


def test_a_run_against_itself_shows_nothing(tmp_path: Path) -> None:
    """Equal runs differ by 0 with p = 1, an interval around 0, and a verdict that claims nothing."""
    found = compare([_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0, 1)])
    for one in found.contrasts[0].figures:
        assert one.difference.value == 0
        assert one.difference.ci95 is not None
        assert one.difference.ci95[0] < 0 < one.difference.ci95[1]
        assert one.p == one.p_holm == 1
        assert one.needed is None
    assert found.contrasts[0].verdict == "text +0.0, tool +0.0, workflow +0.0: no difference is clear"


def test_it_is_deterministic(tmp_path: Path) -> None:
    """The same runs give the same document byte for byte."""
    stores = [_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.2, 2)]
    assert jsonio.dumps(to_document(compare(stores))) == jsonio.dumps(to_document(compare(stores)))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"match": MatchConfig(coerce=False)}, "match.coerce is True, there False"),
        ({"replay": ReplayConfig(attempts=1)}, "replay.attempts is 3, there 1"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path: Path, settings: dict[str, Any], named: str) -> None:
    """Another matcher or other replay rules are refused with the difference named; forced, the output says so."""
    stores = [_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.2, 2, **settings)]
    with pytest.raises(ConfigError, match="did not measure the same thing") as raised:
        compare(stores)
    assert named in str(raised.value)
    assert "--force" in str(raised.value)
    assert any(named in line for line in compare(stores, force=True).forced)


def test_another_judge_or_tool_parser_is_refused(tmp_path: Path) -> None:
    """A judge of another identity and another reading of calls are differences; a figure nobody judged is none."""
    stores = [_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.2, 2)]
    for at, store in enumerate(stores):
        parser = ("auto", "hermes")[at]
        store.set_note("scoring", {"judges": {"rules": {"judge": "rules", "floor": at}}, "tool_parser": parser})
    with pytest.raises(ConfigError) as raised:
        compare(stores)
    assert "judge.floor is 0, there 1" in str(raised.value)
    assert "tool_parser is 'auto', there 'hermes'" in str(raised.value)
    stores[1].set_note("scoring", {"judges": {"rules": {"judge": "rules", "floor": 1}}, "tool_parser": "auto"})
    assert compare(stores, metrics=["strict.exact"]).forced == ()


def test_changed_conversations_are_refused_or_left_out(tmp_path: Path) -> None:
    """The same id with other content is refused by name; forced, such conversations are in no pair."""
    names = [f"c{at}" for at in range(5)]
    scores = _completions(names, lambda _: True)
    a = scored.run(tmp_path / "a", [scored.conversation(name) for name in names], scores)
    changed = [scored.conversation(name, said="hi" if name == "c3" else "hello") for name in names]
    b = scored.run(tmp_path / "b", changed, scores)
    with pytest.raises(ConfigError, match="1 conversation changed: c3"):
        compare([a, b])
    found = compare([a, b], force=True)
    assert found.shared == figure(found, "replay.completed").difference.n == 4
    assert found.forced == ("1 conversation changed: c3",)
    other = scored.run(tmp_path / "c", [scored.conversation("x")], _completions(["x"], lambda _: True))
    with pytest.raises(ConfigError, match="no conversation in common"):
        compare([a, other], force=True)


def test_wrong_questions_get_one_line(tmp_path: Path) -> None:
    """One run, a run twice, an unknown figure and a figure without scores are refused with what would do."""
    a, b = _many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.2, 2)
    with pytest.raises(UsageError, match="two or more runs"):
        compare([a])
    with pytest.raises(UsageError, match="named twice"):
        compare([a, a])
    with pytest.raises(UsageError, match=r"unknown figure 'turn.sucess'; known: .*turn.success"):
        compare([a, b], metrics=["turn.sucess"])
    with pytest.raises(UsageError, match=r"text.rouge1: no scores in openai/a, openai/b"):
        compare([a, b], metrics=["text.rouge1"])


def test_a_figure_that_one_run_lacks_is_named(tmp_path: Path) -> None:
    """Where one run was not scored under a protocol, its figures are left out with a note."""
    a = _many(tmp_path, "a", 0, 1)
    b = scored.run(
        tmp_path / "b",
        a.conversations(),
        {"strict": [scored.exact(name, at, True) for name in a.conversation_ids() for at in (0, 2)]},
    )
    found = compare([a, b])
    assert [one.name for one in found.contrasts[0].figures] == ["strict.exact", "strict.arg_f1"]
    assert any("openai/b has no scores" in note and "replay.completed" in note for note in found.notes)


def test_runs_of_one_model_are_called_by_their_directories(tmp_path: Path) -> None:
    """Two runs of the same model have different labels."""
    stores = [
        scored.run(
            tmp_path / name, [scored.conversation("x")], _completions(["x"], lambda _: True), scored.config("openai/m")
        )
        for name in ("before", "after")
    ]
    assert [one.label for one in compare(stores).runs] == ["before", "after"]


def test_what_comes_behind_a_failure_is_no_difference_but_to_a_model_that_judges(tmp_path: Path) -> None:
    """--after-failure leaves completion and the verdicts by rules as they are; a model reads what came behind."""
    stores = [_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.2, 2, replay=ReplayConfig(after_failure="continue"))]
    assert compare(stores).forced == ()
    assert figure(compare(stores), "replay.completed").difference.n == 40
    assert settings_that_differ(*stores, ("workflow:rules", "workflow:rules")) == []
    assert settings_that_differ(*stores, ("workflow:openai/j", "workflow:openai/j")) == [
        "replay.after_failure is 'stop', there 'continue'"
    ]


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (
            {"replay": ReplayConfig(attempts=1)},
            "; repeat turngap eval for one of them with the same replay.attempts, or",
        ),
        ({"match": MatchConfig(coerce=False)}, "; repeat turngap eval for one of them with the same match.coerce, or"),
    ],
)
def test_settings_of_the_closed_loop_take_a_new_run(tmp_path: Path, settings: dict[str, Any], advice: str) -> None:
    """What no scoring changes is not to be scored again."""
    stores = [_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.2, 2, **settings)]
    with pytest.raises(ConfigError) as raised:
        compare(stores)
    assert advice in str(raised.value)
    assert "turngap score" not in str(raised.value)


@pytest.mark.parametrize(
    ("metric", "advice"),
    [
        ("strict.exact", "score them alike (turngap score)"),
        ("replay.completed", "repeat turngap eval for one of them with the same match.compare_args.book"),
    ],
)
def test_other_arguments_are_scored_again_only_where_no_loop_went_on_from_them(
    tmp_path: Path, metric: str, advice: str
) -> None:
    """--compare-args of strict figures are changed by turngap score, those of replays by a new run."""
    other = MatchConfig(compare_args={"book": ("id",)})
    stores = [_many(tmp_path, "a", 0, 1), _many(tmp_path, "b", 0.2, 2, match=other)]
    with pytest.raises(ConfigError) as raised:
        compare(stores, metrics=[metric])
    assert advice in str(raised.value)
