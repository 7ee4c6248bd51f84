"""The way of candidates in numbers."""

from __future__ import annotations

from turngap.data import Scenario
from turngap.synth.funnel import STAGES, funnel
from turngap.synth.plan import Candidate, Customer, Exploration, Loss

MADE = Exploration(
    id="x", seed=0, explorer="program", customer=Customer(table="t", key="k", record={}), offered=(), steps=()
)


def lost(stage: str, reason: str) -> Candidate:
    """A candidate that was given up."""
    return Candidate(scenario=Scenario.GENERAL, loss=Loss(stage=stage, reason=reason))  # type: ignore[arg-type]


def test_kept_and_lost_make_the_whole() -> None:
    """What was begun is what is left at the end and all losses together, stage by stage."""
    explorations = [MADE] * 5 + [Loss(stage="explore", reason="nothing could be done")]
    candidates = [
        Candidate(scenario=Scenario.GENERAL),
        Candidate(scenario=Scenario.GENERAL),
        lost("ablate", "no effect"),
        lost("play", "the reference agent does not get through"),
        lost("repeat", "asks for the same as an earlier task"),
    ]
    found = funnel("general", explorations, candidates)
    assert found.begun == 6
    assert found.kept == 2
    assert found.kept + sum(sum(passage.losses.values()) for passage in found.passages) == found.begun
    lefts = [passage.left for passage in found.passages]
    assert lefts == sorted(lefts, reverse=True)
    assert found.passages[0].losses == {"nothing could be done": 1}


def test_explorations_of_which_nobody_asked_are_no_loss() -> None:
    """A scenario that had enough tasks is not charged with later explorations."""
    found = funnel("general", [MADE] * 100, [Candidate(scenario=Scenario.GENERAL)])
    assert (found.begun, found.kept) == (1, 1)


def test_every_stage_of_a_loss_has_its_place() -> None:
    """No stage is forgotten in the table, so no loss can vanish from it."""
    for stage, _ in STAGES:
        early = stage in ("explore", "filter")
        made = Loss(stage=stage, reason="why") if early else MADE
        found = funnel("general", [made], [] if early else [lost(stage, "why")])
        assert found.begun == 1, stage
        assert found.kept == 0, stage
    assert funnel("general", [], []).kept == 0
