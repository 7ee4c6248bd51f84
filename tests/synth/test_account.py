"""A synthesis in numbers, each beside a count of what it stored."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from madeshop import made_shop

from turngap import domains
from turngap.config import SynthConfig
from turngap.data import Acted
from turngap.engines.base import Quiet
from turngap.report.synth_card import card, synth_table
from turngap.report.table import console
from turngap.synth.account import Account, Spread, account
from turngap.synth.export import kept
from turngap.synth.pipeline import synthesise, tool_graph
from turngap.synth.plan import Candidate, Exploration
from turngap.synth.store import SynthStore

Made = tuple[Account, list[Candidate], list[Exploration]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The account of ten explorations, what is kept of them, and the explorations."""
    folder = tmp_path_factory.mktemp("account")
    shop = made_shop(folder)
    config = SynthConfig(domain=shop, explorations=10, count=4, scenarios=("infeasible", "general"))
    asyncio.run(synthesise(config, folder / "s", Quiet()))
    with SynthStore.open(folder / "s") as store:
        found = account(store, tool_graph(config, domains.build(shop)))
        explored = [one for _, one in store.explorations() if isinstance(one, Exploration)]
        return found, list(kept(store, config)), explored


def test_tasks_are_counted_by_scenario_and_no_more_than_asked_for(made: Made) -> None:
    """Four of each, in the order asked for; the funnels say how many there would have been."""
    found, chosen, explored = made
    assert found.tasks == {"infeasible": 4, "general": 4}
    assert [one.scenario.value for one in chosen] == ["infeasible"] * 4 + ["general"] * 4
    assert found.explored == len(explored)
    assert [one.scenario for one in found.funnels] == ["infeasible", "general"]
    assert all(one.kept >= 4 for one in found.funnels)


def test_lengths_are_those_of_what_is_kept(made: Made) -> None:
    """Calls, steps, words and messages, with their extremes and means."""
    found, chosen, explored = made
    steps = [len(one.draft.plan.steps) for one in chosen if one.draft]
    words = [len(one.task.instructions.text().split()) for one in chosen if one.task]
    lengths = found.lengths
    assert lengths.exploration and lengths.plan and lengths.instructions and lengths.decisions
    assert (lengths.plan.low, lengths.plan.high) == (min(steps), max(steps))
    assert lengths.plan.mean == pytest.approx(sum(steps) / len(steps))
    assert lengths.instructions.mean == pytest.approx(sum(words) / len(words))
    assert lengths.exploration.high == max(len(one.steps) for one in explored)
    messages = [sum(isinstance(event, Acted) for event in one.played.events) for one in chosen if one.played]
    assert (lengths.decisions.low, lengths.decisions.high) == (min(messages), max(messages))


def test_effects_and_coverage_are_those_of_the_plans(made: Made) -> None:
    """Every effect of every kept plan is counted once, and each of their tools is covered."""
    found, chosen, _ = made
    plans = [one.draft.plan for one in chosen if one.draft]
    assert sum(found.effects.values()) == sum(len(plan.writes()) for plan in plans)
    used = {step.call.name for plan in plans for step in plan.steps}
    assert found.coverage.tools.met == len(used)


def test_the_distribution_of_lengths_has_quartiles() -> None:
    """Of nothing there is none; of one value it is that value; of five their quartiles."""
    assert Spread.of([]) is None
    one = Spread.of([3])
    assert one is not None and (one.low, one.quarter, one.middle, one.high, one.mean) == (3, 3, 3, 3, 3)
    five = Spread.of([5, 1, 2, 4, 3])
    assert five is not None and (five.quarter, five.middle, five.three_quarters) == (2, 3, 4)


def test_the_card_says_what_the_account_says(made: Made) -> None:
    """Counts, reasons, coverage and settings stand in the Markdown, whose tables are whole; the terminal has the same."""
    found, _, _ = made
    text = card(found)
    assert text.startswith("# 8 synthetic tasks of retail")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any("written, as many as asked for" in row and row.count("| 4") + row.count("|  4") >= 2 for row in rows)
    for funnel in found.funnels:
        for passage in funnel.passages:
            assert all(reason in text for reason in passage.losses)
    for setting in ("| seed |", "| explorer |", "none: hard checks only", "4 of each scenario", "| turngap |"):
        assert setting in text
    terminal = console()
    with terminal.capture() as shown:
        terminal.print(synth_table(found))
    assert max(map(len, shown.get().splitlines())) <= 80
    assert "Funnel" in shown.get()


def test_a_synthesis_that_made_nothing_has_a_card_too(tmp_path: Path) -> None:
    """No task, no length, no share that would divide by nothing."""
    shop = made_shop(tmp_path)
    config = SynthConfig(domain=shop, explorations=1)
    SynthStore.create(tmp_path / "s", config, domains.build(shop).identity()).close()
    with SynthStore.open(tmp_path / "s") as store:
        found = account(store, tool_graph(config, domains.build(shop)))
    assert found.tasks == dict.fromkeys(config.scenarios, 0)
    assert found.lengths.plan is None and found.diversity.near_duplicates is None
    assert card(found).startswith("# 0 synthetic tasks")
