"""`corrected/SPEC` in real rollouts: what a model spoils that can be mended is mended, and every trial comes to an end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec
import pytest
from synthtasks import drafts, programs, worded

from turngap import users
from turngap.config import ModelConfig, RolloutConfig, TaskConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    Message,
    Score,
    SystemMessage,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Usage,
)
from turngap.data.arguments import leaves
from turngap.data.asking import GO_AHEAD, spell, spoken
from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.engines import Quiet
from turngap.formats import tasks as task_files
from turngap.grading.grader import RewardGrader
from turngap.live import Place, Played, run
from turngap.models import Model, Request
from turngap.models.corrected import Corrected, first_difference
from turngap.models.live_baseline import advice
from turngap.models.scripted import Answer, ScriptedModel, prediction
from turngap.protocols.evaluate import Services
from turngap.protocols.trials import roll_out
from turngap.runs.store import RunStore

RETAIL, SHOP = "retail", f"{Path(__file__).parents[2] / 'experiments' / 'corner_shop.py'}?seed=2"
NOISY = "baseline/noisy?p_tool=0.6&p_text=1&seed=2"


@lru_cache
def _tasks(name: str) -> tuple[LiveDomain, tuple[Task, ...]]:
    """Some synthesised tasks of each scenario."""
    domain, explorations = programs(name, 4 if name == RETAIL else 10)
    made = [worded(draft, domain) for wanted in Scenario for draft in drafts(domain, explorations, wanted)[:4]]
    return domain, tuple(made)


def _rolled(name: str, spec: str, folder: Path) -> list[tuple[Task, Trajectory, Score]]:
    """A rollout of all tasks: each with its trial and its score."""
    folder.mkdir()
    task_files.write(folder / "tasks.json", list(_tasks(name)[1]))
    config = RolloutConfig(
        domain=name, tasks=TaskConfig(path=str(folder / "tasks.json")), model=ModelConfig(spec=spec), max_steps=60
    )
    asyncio.run(roll_out(config, folder / "run", Services(progress=Quiet())))
    with RunStore.open(folder / "run") as store:
        scores = {score.conversation: score for _, score in store.scores("reward")}
        found = []
        for task in store.trials.tasks():
            (stored,) = store.trials.of(task.id)
            assert isinstance(stored.result, Trajectory), stored.result
            found.append((task, stored.result, scores[task.id]))
        return found


def _acted(trajectory: Trajectory) -> list[Acted]:
    return [event for event in trajectory.events if isinstance(event, Acted)]


def _difference(name: str, task: Task, trajectory: Trajectory) -> int | None:
    tools = tuple(tool.spec for tool in _tasks(name)[0].tools)
    return first_difference(task, tools, (*task.given, *trajectory.messages()))


@pytest.mark.parametrize("name", [RETAIL, SHOP])
def test_a_wrong_call_stands_and_the_reference_recovers(name: str, tmp_path: Path) -> None:
    """Up to the slip all is as without correction; the slip is refused, and behind it the trial succeeds, always."""
    plain = {task.id: trajectory for task, trajectory, _ in _rolled(name, NOISY, tmp_path / "plain")}
    mended = 0
    for task, trajectory, score in _rolled(name, f"corrected/{NOISY}", tmp_path / "corrected"):
        assert score.success, (task.id, score.detail)
        acted, alone = _acted(trajectory), _acted(plain[task.id])
        at = _difference(name, task, trajectory)
        assert at == _difference(name, task, plain[task.id])
        until = len(alone) if at is None else at + 1
        assert [event.message for event in acted[:until]] == [event.message for event in alone[:until]]
        if at is None:
            continue
        mended += 1
        (wrong,), (result,) = acted[at].message.calls, acted[at].results
        assert wrong.name.endswith("_unknown")
        assert result.error
        assert acted[at + 1].message.calls == (
            ToolCall(name=wrong.name.removesuffix("_unknown"), arguments=wrong.arguments),
        )
        assert not any(call.name.endswith("_unknown") for event in acted[at + 1 :] for call in event.message.calls)
    assert mended >= 3


@pytest.mark.parametrize("name", [RETAIL, SHOP])
def test_correcting_the_reference_changes_nothing(name: str, tmp_path: Path) -> None:
    """Trial for trial the same is said and done, with the same results, to the same end and for the same reward."""

    def told(spec: str, folder: str) -> list[object]:
        return [
            (
                [msgspec.structs.replace(e, asked="") if isinstance(e, Acted) else e for e in trajectory.events],
                {key: value for key, value in trajectory.metadata.items() if key != "answer_seconds"},
                score.success,
            )
            for _, trajectory, score in _rolled(name, spec, tmp_path / folder)
        ]

    assert told("corrected/baseline/reference", "corrected") == told("baseline/reference", "plain")


def test_who_hands_over_at_once_is_corrected_and_who_closes_at_once_has_lost_the_user(tmp_path: Path) -> None:
    """A hand-over that nobody asked for can be made up for; a user who has left cannot be called back."""
    for task, trajectory, score in _rolled(SHOP, "corrected/baseline/transfer", tmp_path / "transfer"):
        assert (_difference(SHOP, task, trajectory), score.success) == (0, True), score.detail
    for task, trajectory, score in _rolled(SHOP, "corrected/baseline/nothing", tmp_path / "nothing"):
        if task.scenario in (Scenario.GENERAL, Scenario.AMBIGUOUS):
            assert (len(_acted(trajectory)), score.success) == (1, False)


# ---- learners that do anything


Do = Callable[[random.Random, Request, AssistantMessage], Answer]


def _call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def _any_action(rng: random.Random, request: Request) -> ToolCall:
    assert request.seat.task is not None
    return rng.choice(request.seat.task.criteria.actions).call()


def _described(call: ToolCall) -> str:
    return "; ".join(f"{spoken(slot)} {spell(value)}" for slot, value in (call.arguments or {}).items())


def _mixed_up(rng: random.Random, request: Request, told: AssistantMessage) -> Answer:
    """The right tool with a value of somebody else's call, or a call that is not due."""
    if not told.calls or not told.calls[0].arguments:
        return _any_action(rng, request)
    slot = rng.choice(sorted(told.calls[0].arguments))
    return _call(told.calls[0].name, **{**told.calls[0].arguments, slot: f"{told.calls[0].arguments[slot]}9"})


def _again(rng: random.Random, request: Request, told: AssistantMessage) -> Answer:
    """Something that it did before."""
    return rng.choice([told, *(one for one in request.messages if isinstance(one, AssistantMessage))])


HOSTILE: dict[str, Do] = {
    "mixes values up": _mixed_up,
    "does what is not due": lambda rng, request, _: _any_action(rng, request),
    "does two things at once": lambda rng, request, _: AssistantMessage(
        calls=(_any_action(rng, request), _any_action(rng, request))
    ),
    "makes up tools": lambda *_: _call("no_such_tool", anything=1),
    "writes no arguments": lambda rng, request, _: ToolCall(
        name=rng.choice(request.tools).name, arguments=None, raw="{", error="cut"
    ),
    "does it again": _again,
    "talks": lambda rng, *_: rng.choice(["One moment, please.", "I see.", "How are you?", "Yes."]),
    "asks": lambda rng, request, _: (
        f"What is the {spoken(rng.choice(sorted(_any_action(rng, request).arguments or ())))}?"
    ),
    "has things confirmed": lambda rng, request, _: f"Please confirm: {_described(_any_action(rng, request))}.",
    "proposes anything": lambda rng, request, _: (
        f"I would {spoken(_any_action(rng, request).name)}: {_described(_any_action(rng, request))}.\n{GO_AHEAD}"
    ),
}


def _learner(kinds: dict[str, Do], share: float, seed: int) -> ScriptedModel:
    """Acts by the advice but for a share of its decisions, at a token each; the same history always gets the same."""

    def act(request: Request) -> Answer:
        rng = random.Random(f"{seed}/{request.seat.conversation}/{len(request.messages)}")
        assert request.seat.task is not None
        told = advice(request.seat.task, request.tools, request.messages)
        answer: Answer = told if rng.random() >= share else kinds[rng.choice(sorted(kinds))](rng, request, told)
        return msgspec.structs.replace(prediction(answer), usage=Usage(prompt_tokens=1))

    return ScriptedModel(act, label="learner")


def _played(name: str, model: Model, task: Task, max_steps: int) -> tuple[Trajectory, float]:
    domain = _tasks(name)[0]
    simulator = users.build(ModelConfig(spec="scripted"))
    place = Place(domain=domain, simulator=simulator, max_steps=max_steps, max_errors=max_steps, seed=0)

    async def play() -> tuple[Trajectory, float]:
        played = await run(model, place, task, 0)
        assert isinstance(played, Played), played
        reward = await RewardGrader().grade(task, domain, played.trajectory, played.world, beside=False)
        return played.trajectory, reward.value

    return asyncio.run(play())


def _unnamed(messages: tuple[Message, ...], call: ToolCall) -> Iterator[str]:
    """Values of a call that stand in no words of the user and in no result; what the user says in other words is none."""
    known = "\n".join(one.content for one in messages if not isinstance(one, (AssistantMessage, SystemMessage)))
    for slot, value in leaves(call.arguments):
        words = spell(value)
        if slot not in ("reason", "summary", "expression") and words and words.casefold() not in known.casefold():
            yield f"{slot} {words}"


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_a_learner_that_errs_in_any_way_is_brought_to_success(kind: str) -> None:
    """From wherever one error leads, the reference gets full reward, with values that were named, and asks nobody."""
    model = Corrected(_learner({kind: HOSTILE[kind]}, 0.4, seed=1))
    differed = 0
    for task in _tasks(SHOP)[1]:
        trajectory, reward = _played(SHOP, model, task, max_steps=60)
        assert reward == 1, (task.id, trajectory.problems)
        at = _difference(SHOP, task, trajectory)
        differed += at is not None
        assert trajectory.usage.prompt_tokens == (len(_acted(trajectory)) if at is None else at + 1)
        messages, decision = trajectory.messages(), -1
        for index, message in enumerate(messages):
            decision += isinstance(message, AssistantMessage)
            if at is not None and isinstance(message, AssistantMessage) and decision > at:
                assert not [unnamed for call in message.calls for unnamed in _unnamed(messages[:index], call)]
    assert differed >= 3


@pytest.mark.parametrize("seed", [1, 2])
def test_conversations_with_a_learner_that_never_stops_erring_end_by_themselves(seed: int) -> None:
    """Where the reference only acts now and then it still gets on: the user leaves, long before the steps are spent."""
    model = _learner(HOSTILE, 0.6, seed)
    for task in _tasks(SHOP)[1]:
        trajectory, _ = _played(SHOP, model, task, max_steps=400)
        assert Termination(trajectory.metadata["termination"]) in (
            Termination.USER_STOP,
            Termination.TRANSFER,
            Termination.OUT_OF_SCOPE,
        )
