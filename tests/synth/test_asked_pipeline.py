"""Synthesis whose words and scores come from a model: what it gets wrong is handled and counted, a failed server waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import copywriter
import pytest
from chatserver import ChatServer, Say, Status, Step, text
from madeshop import made_shop

from turngap import domains
from turngap.config import ModelConfig, SynthConfig
from turngap.engines.base import Quiet
from turngap.synth.account import account
from turngap.synth.check import check_all
from turngap.synth.export import TASKS, TRAJECTORIES, export, kept
from turngap.synth.funnel import Funnel
from turngap.synth.pipeline import synthesise, tool_graph
from turngap.synth.plan import Candidate
from turngap.synth.store import SynthStore

Start = Callable[..., ChatServer]
Body = dict[str, Any]


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The spec of a shop of 30 customers."""
    return made_shop(tmp_path)


def asked(shop: str, server: ChatServer, patience: float = 60.0, **changed: Any) -> SynthConfig:
    """A synthesis with a model that words and scores; `patience` in seconds, with a server that fails."""
    model = ModelConfig(spec="openai/m", base_url=server.url, give_up_after=patience)
    settings: dict[str, Any] = {"explorations": 5, "summariser": model, "scorer": model}
    return SynthConfig(domain=shop, **{**settings, **changed})


def run(config: SynthConfig, directory: Path) -> int:
    """Run a synthesis to its end."""
    return asyncio.run(synthesise(config, directory, Quiet()))


def outcome(directory: Path) -> tuple[list[Candidate], dict[str, Funnel]]:
    """What is kept, and the way of all candidates."""
    with SynthStore.open(directory) as store:
        config = store.config
        found = account(store, tool_graph(config, domains.build(config.domain)))
        return list(kept(store, config)), {one.scenario: one for one in found.funnels}


def lost(funnels: dict[str, Funnel], stage: str) -> dict[str, int]:
    """Reasons of a stage, over all scenarios."""
    counts: dict[str, int] = {}
    for funnel in funnels.values():
        for passage in funnel.passages:
            for reason, count in passage.losses.items() if passage.stage == stage else ():
                counts[reason] = counts.get(reason, 0) + count
    return counts


def worded(body: Body, **changed: Any) -> Say:
    """Good words, with some fields changed."""
    return text(json.dumps({**copywriter.words(body), **changed}))


def test_a_model_words_and_scores_tasks_that_hold(shop: str, chat_server: Start, tmp_path: Path) -> None:
    """Tasks of all four scenarios in the model's words, with its scores, which pass every check and the reference."""
    server = chat_server(lambda body, _: copywriter.answer(body))
    assert run(asked(shop, server, explorations=8), tmp_path / "s") == 0
    found, _ = outcome(tmp_path / "s")
    tasks = [one.task for one in found if one.task is not None]
    assert {task.scenario.value for task in tasks} == {"general", "ambiguous", "changing", "infeasible"}
    assert all(task.made["summary"] == {"by": "openai/m", "asks": 1} for task in tasks)
    assert all(task.made["scores"]["realism"] == 10 and task.made["scores"]["asks"] == 1 for task in tasks)
    assert all(task.persona == "You are to the point." for task in tasks)
    assert not [one for one in check_all(tasks, domains.build(shop)) if one.severity == "error"]


def test_malformed_answers_are_asked_for_once_more(shop: str, chat_server: Start, tmp_path: Path) -> None:
    """A first answer that is no JSON costs a second request, and the task says so."""

    def script(body: Body, _: int) -> Step:
        if not copywriter.is_second(body):
            return text('{"opening": "Hello')
        assert "unreadable answer" in copywriter.asked(body)
        return copywriter.answer(body)

    assert run(asked(shop, chat_server(script)), tmp_path / "s") == 0
    found, _ = outcome(tmp_path / "s")
    assert found
    for one in found:
        assert one.task is not None
        assert one.task.made["summary"] == {"by": "openai/m", "asks": 2, "mishaps": {"unreadable answer": 1}}
        assert one.task.made["scores"]["mishaps"] == {"unreadable answer": 1}


def test_words_that_stay_malformed_are_a_counted_loss(shop: str, chat_server: Start, tmp_path: Path) -> None:
    """Without one usable answer nothing is kept, every draft was asked about twice, and the funnel says why."""
    server = chat_server([text("Sorry, no JSON from me.")])
    assert run(asked(shop, server), tmp_path / "s") == 0
    found, funnels = outcome(tmp_path / "s")
    reasons = lost(funnels, "summarise")
    assert not found and set(reasons) == {"unreadable answer"}
    assert len(server.requests) == 2 * reasons["unreadable answer"] > 0


def test_a_summary_that_leaks_is_told_so_and_given_up(shop: str, chat_server: Start, tmp_path: Path) -> None:
    """What is withheld and stands in the opening is named to the model; told twice, the draft is a counted loss."""

    def script(body: Body, _: int) -> Step:
        told = copywriter.material(body)
        if copywriter.scores(body) or "What must not be in the opening" not in told:
            return copywriter.answer(body)
        leak = " ".join(str(one["value"]) for one in told["What must not be in the opening"])
        return worded(body, opening=f"{copywriter.words(body)['opening']} It is about {leak}.")

    server = chat_server(script)
    assert run(asked(shop, server, scenarios=("ambiguous",), count=1), tmp_path / "s") == 0
    found, funnels = outcome(tmp_path / "s")
    assert not found and lost(funnels, "summarise")["leaks a withheld value"] > 0
    again = [copywriter.asked(body) for body in server.requests if copywriter.is_second(body)]
    assert again and all("leaks a withheld value" in one and "in the first message" in one for one in again)


def test_ids_that_nobody_has_in_mind_are_no_words_of_a_customer(shop: str, chat_server: Start, tmp_path: Path) -> None:
    """A model that makes the customer speak in item ids is asked again, and its second answer is taken."""

    def script(body: Body, _: int) -> Step:
        if copywriter.scores(body) or copywriter.is_second(body):
            return copywriter.answer(body)
        never = copywriter.material(body)["What nobody says, since no customer has it in mind"]
        return worded(body, further=f"Insist on {', '.join(never) or 'nothing'}.")

    assert run(asked(shop, chat_server(script), explorations=8, scenarios=("general",)), tmp_path / "s") == 0
    found, _ = outcome(tmp_path / "s")
    mended = [
        one.task.made["summary"] for one in found if one.task is not None and "mishaps" in one.task.made["summary"]
    ]
    assert mended and all(sum(one["mishaps"].values()) == 1 for one in mended)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (lambda body: copywriter.score(body, realism=6), "a score is too low"),
        (lambda body: copywriter.score(body, correctness=0), "a score is too low"),
        (lambda body: text('{"scores": {"realism": "very"}}'), "no scores"),
        (lambda body: copywriter.score(body, necessity=11), "no scores"),
        (lambda body: text("I like it."), "unreadable answer"),
    ],
)
def test_what_a_scorer_rejects_is_a_counted_loss(
    shop: str, chat_server: Start, tmp_path: Path, reply: Callable[[Body], Say], reason: str
) -> None:
    """A score under seven, and an answer that holds no scores, keep a task out; the funnel counts them apart."""
    server = chat_server(lambda body, _: reply(body) if copywriter.scores(body) else copywriter.answer(body))
    config = asked(shop, server, explorations=3, scenarios=("general", "infeasible"))
    assert run(config, tmp_path / "s") == 0
    found, funnels = outcome(tmp_path / "s")
    reasons = lost(funnels, "validate")
    assert not found and set(reasons) == {reason} and reasons[reason] > 0


def test_a_scorer_is_shown_all_that_it_judges(shop: str, chat_server: Start, tmp_path: Path) -> None:
    """Policy, words, criteria and the reference with its results are in the request, and what each scenario is about."""
    server = chat_server(lambda body, _: copywriter.answer(body))
    assert run(asked(shop, server, explorations=3), tmp_path / "s") == 0
    found, _ = outcome(tmp_path / "s")
    shown = {}
    for body in server.requests:
        if copywriter.scores(body):
            told = copywriter.material(body)
            shown[told["What the customer says"]["opening"]] = (told, copywriter.aspects(body))
    for one in found:
        assert one.task is not None and one.draft is not None and one.task.intent is not None
        told, aspects = shown[one.task.intent.opening]
        assert told["The policy of the desk"] == domains.build(shop).policy
        assert [step["result"] for step in told["The reference, with what each call leads to"]] == [
            step.result for step in one.draft.plan.steps
        ]
        assert told["What the one who plays the customer is told"] == one.task.instructions.text()
        held = told["What a trial is held against"]
        assert held["forbidden"] == [
            [f.name, f.arguments, f.compare_args and list(f.compare_args)] for f in one.task.criteria.forbidden
        ]
        extra = {"general": None, "ambiguous": "relevance", "changing": "relevance", "infeasible": "soundness"}
        assert aspects == list(filter(None, ["realism", "necessity", "correctness", extra[one.task.scenario.value]]))


def _files(directory: Path) -> tuple[bytes, bytes]:
    with SynthStore.open(directory) as store:
        export(store)
    return (directory / TASKS).read_bytes(), (directory / TRAJECTORIES).read_bytes()


def test_a_server_that_is_down_costs_nothing_that_was_made(shop: str, chat_server: Start, tmp_path: Path) -> None:
    """After eight answers the server fails: what failed is not stored, and the same command ends where an undisturbed one does."""
    server = chat_server(lambda body, _: copywriter.answer(body))
    config = asked(shop, server, explorations=8)
    assert run(config, tmp_path / "whole") == 0
    server.requests.clear()
    server.script = lambda body, count: copywriter.answer(body) if count < 8 else Status(500)
    failed = run(asked(shop, server, patience=0.2, explorations=8), tmp_path / "broken")
    assert failed > 0
    with SynthStore.open(tmp_path / "broken") as store:
        causes = [one.loss.reason for name in config.scenarios for _, one in store.candidates(name) if one.loss]
        assert not [reason for reason in causes if "fault" in reason]
        before = {name: list(store.candidates(name)) for name in config.scenarios}
    server.script = lambda body, _: copywriter.answer(body)
    assert run(config, tmp_path / "broken") == 0
    with SynthStore.open(tmp_path / "broken") as store:
        for name, made in before.items():
            after = dict(store.candidates(name))
            assert all(after[position] == candidate for position, candidate in made)
    assert _files(tmp_path / "broken") == _files(tmp_path / "whole")


def test_a_server_that_never_answers_leaves_explorations_and_no_task(
    shop: str, chat_server: Start, tmp_path: Path
) -> None:
    """With a server that is down from the start every exploration waits for the same command; none counts as lost."""
    config = asked(shop, chat_server([Status(503)]), patience=0.2, explorations=4)
    assert run(config, tmp_path / "s") > 0
    found, funnels = outcome(tmp_path / "s")
    assert not found
    assert not lost(funnels, "summarise") and not lost(funnels, "validate") and not lost(funnels, "explore")
