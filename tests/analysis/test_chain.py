"""Chain arithmetic: published averages, closed forms, its inverse, and runs with known rates."""

from __future__ import annotations

import asyncio
import math
import random
from pathlib import Path

import pytest
import scored
from hypothesis import given
from hypothesis import strategies as st

from turngap import samples
from turngap.analysis.chain import Chain, Length, Link, all_turns, chain, chance, completion, needed
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.engines.base import Quiet
from turngap.metrics.interval import wilson
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.store import RunStore

_LENGTHS = st.lists(
    st.builds(Length, st.integers(0, 12), st.integers(1, 12), st.integers(1, 5)), min_size=1, max_size=8
)


def link(found: Chain, name: str) -> Link:
    """One of the links."""
    return next(one for one in found.links if one.name == name)


@pytest.mark.parametrize(("p_text", "p_tool", "published"), [(33.2, 17.8, 28.5), (58.4, 23.7, 47.7)])
def test_published_averages_give_the_published_all_turn_figure(p_text: float, p_tool: float, published: float) -> None:
    """376 text turns at 33.2% and 166 tool turns at 17.8% make 28.5%; after fine-tuning 58.4% and 23.7% make 47.7%."""
    found = all_turns(p_text / 100, 376, p_tool / 100, 166)
    assert found is not None
    # The parts are rounded to 0.05 points each, and so is the whole.
    assert 100 * found == pytest.approx(published, abs=0.1)


def test_eight_of_seventy_seven_is_10_4_percent() -> None:
    """The best published completion, with the interval that so few conversations allow."""
    assert round(100 * 8 / 77, 1) == 10.4
    interval = wilson(8, 77)
    assert interval is not None
    assert interval == pytest.approx((0.0535, 0.1918), abs=5e-4)


def test_published_averages_predict_next_to_no_completion() -> None:
    """At the published mean length (376 + 166 decisions in 84 conversations) the rates before and after predict 0-1%."""
    mean = [Length(round(376 / 84), round(166 / 84))]
    assert completion(0.332, 0.178, mean) == pytest.approx(0.332**4 * 0.178**2)
    after = completion(0.584, 0.237, mean)
    assert after is not None
    assert after < 0.01
    rate = needed(0.9, mean)
    assert rate == pytest.approx(0.9 ** (1 / 6))


@given(_LENGTHS, st.floats(0.01, 0.99))
def test_the_inverse_of_completion(lengths: list[Length], rate: float) -> None:
    """The rate that a completion needs is the rate that gives it, and grows with what is wanted."""
    reached = completion(rate, rate, lengths)
    assert reached is not None
    if reached > 1e-12:
        found = needed(reached, lengths)
        assert found is not None
        assert completion(found, found, lengths) == pytest.approx(reached, rel=1e-6)
        more = needed(min(1.0, reached * 1.1), lengths)
        assert more is not None
        assert more >= found


def test_the_inverse_at_its_edges() -> None:
    """Certainty needs certainty, with known text rates some completions are out of reach, nothing gives None."""
    lengths = [Length(2, 3), Length(0, 1, 4)]
    assert needed(1.0, lengths) == pytest.approx(1.0)
    assert needed(0.0, lengths) == pytest.approx(0.0, abs=1e-12)
    assert needed(0.9, [Length(2, 3)], p_text=0.9) is None
    rate = needed(0.5, [Length(2, 3)], p_text=0.9)
    assert rate == pytest.approx((0.5 / 0.81) ** (1 / 3))
    assert needed(0.5, []) is None
    assert completion(0.5, 0.5, []) is None
    assert all_turns(0.5, 0, 0.5, 0) is None
    with pytest.raises(ValueError, match="lies in"):
        needed(1.5, lengths)


def test_the_page_tells_the_truth() -> None:
    """Each line of the example in docs/gap.md gives the number behind its comment."""
    page = (Path(__file__).parents[2] / "docs" / "gap.md").read_text(encoding="utf-8")
    example = page.partition("```python")[2].partition("```")[0].strip().splitlines()
    known = {"Length": Length, "all_turns": all_turns, "completion": completion, "needed": needed}
    lines = [line for line in example if "#" in line]
    assert len(lines) == 3
    for line in lines:
        expression, _, comment = line.partition("#")
        said = comment.split()[0].rstrip(":")
        digits = len(said.partition(".")[2])
        assert f"{eval(expression, known):.{digits}f}" == said, line


def test_retries_by_hand() -> None:
    """Three attempts at 0.5 make 0.875."""
    assert chance(0.5, 3) == pytest.approx(0.875)
    assert chance(0.3, 1) == pytest.approx(0.3)


def test_a_run_by_hand(tmp_path: Path) -> None:
    """Two conversations: rates, prediction, measurement and their difference, computed on paper."""
    conversations = [scored.conversation("a", "ctc"), scored.conversation("b", "ct"), scored.conversation("talk", "tt")]
    turns = [
        scored.turn("a", 0, "tool", True),
        scored.turn("a", 1, "text", True),
        scored.turn("a", 2, "tool", False),
        scored.turn("b", 0, "tool", True),
        scored.turn("b", 1, "text", False),
        scored.turn("talk", 0, "text", True),
        scored.turn("talk", 1, "text", True),
    ]
    workflows = [scored.finished("a", False), scored.finished("b", True)]
    found = chain(scored.run(tmp_path / "run", conversations, {"turn:rules": turns, "workflow:rules": workflows}))
    assert [one.name for one in found.links] == ["judged"]
    judged = link(found, "judged")
    # Talk without calls is no workflow, so it does not enter the rates either.
    assert (judged.p_text.value, judged.p_text.n) == (0.5, 2)
    assert (judged.p_tool.value, judged.p_tool.n) == (pytest.approx(2 / 3), 3)
    predicted = (0.5 * (2 / 3) ** 2 + 0.5 * 2 / 3) / 2
    assert judged.predicted.value == pytest.approx(predicted)
    assert (judged.measured.value, judged.measured.n) == (0.5, 2)
    assert judged.gap.value == pytest.approx(0.5 - predicted)
    assert found.lengths == (Length(1, 1, 1), Length(1, 2, 1))
    assert found.needed(0.5) == needed(0.5, found.lengths)


def test_sta_07_a_run_without_scores_or_calls(tmp_path: Path) -> None:
    """STA-07: no scores give no links; errored decisions give null with n 0; talk alone has no lengths."""
    only_talk = [scored.conversation("talk", "tt")]
    found = chain(scored.run(tmp_path / "talk", only_talk, {"turn:rules": [scored.turn("talk", 0, "text", True)]}))
    assert found == Chain(links=(), lengths=(), targets=())
    assert found.needed(0.5) is None
    one = [scored.conversation("a", "ct")]
    turns = [scored.turn("a", 0, "tool", None), scored.turn("a", 1, "text", True)]
    judged = link(chain(scored.run(tmp_path / "part", one, {"turn:rules": turns})), "judged")
    assert (judged.p_tool.value, judged.p_tool.n, judged.p_tool.ci95) == (None, 0, None)
    assert (judged.predicted.value, judged.predicted.n, judged.measured.n, judged.gap.n) == (None, 0, 0, 0)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """The chain of a baseline with independent errors on the packaged conversations."""
    directory = tmp_path_factory.mktemp("chain") / "run"
    config = EvalConfig(
        data=DataConfig(paths=(str(samples.path()),)),
        model=ModelConfig(spec="baseline/noisy?p_tool=0.8&seed=1"),
        protocols=("strict", "replay"),
    )
    asyncio.run(evaluate(config, directory, Services(progress=Quiet())))
    with RunStore.open(directory) as store:
        return chain(store)


@pytest.mark.parametrize(("name", "attempts"), [("flawless", 1), ("with_retries", 3)])
def test_independent_errors_complete_as_predicted(noisy: Chain, name: str, attempts: int) -> None:
    """With known independent rates the closed form lies in both intervals, and the difference is none."""
    found = link(noisy, name)
    total = sum(length.count for length in noisy.lengths)
    truth = math.fsum(length.count * chance(0.8, attempts) ** length.n_tool for length in noisy.lengths) / total
    assert found.attempts == attempts
    for figure in (found.predicted, found.measured):
        assert figure.ci95 is not None
        assert figure.ci95[0] <= truth <= figure.ci95[1]
    assert not found.gap.clear


def test_targets_have_intervals(noisy: Chain) -> None:
    """What a completion needs is given with how far it depends on the lengths at hand."""
    for target in noisy.targets:
        assert target.ci95 is not None
        assert target.ci95[0] <= target.rate <= target.ci95[1] <= 1
        assert target.rate == noisy.needed(target.completion)
    assert [target.rate for target in noisy.targets] == sorted(target.rate for target in noisy.targets)


@pytest.mark.slow
def test_the_interval_of_the_gap_covers_zero_in_93_to_97_of_100(tmp_path: Path) -> None:
    """With independent errors the interval of measured less predicted holds zero about 95 times in 100."""
    draw, covered, rounds = random.Random(4), 0, 100
    lengths = [draw.randint(1, 6) for _ in range(80)]
    conversations = [scored.conversation(f"c{at:02}", "c" * length) for at, length in enumerate(lengths)]
    store = scored.run(tmp_path / "run", conversations, {})
    for seed in range(rounds):
        strict, replays = [], []
        for one, length in zip(conversations, lengths, strict=True):
            strict += [scored.exact(one.id, at, draw.random() < 0.8) for at in range(length)]
            replays.append(scored.replayed(one.id, all(draw.random() < chance(0.8, 3) for _ in range(length))))
        store.replace_scores("strict", strict)
        store.replace_scores("replay", replays)
        interval = link(chain(store, seed=seed), "with_retries").gap.ci95
        assert interval is not None
        covered += interval[0] <= 0 <= interval[1]
    # Three standard errors of 100 rounds below 93.
    assert covered / rounds >= 0.93 - 0.07, covered / rounds
