"""One trial of a live task as a page: what was said and done, what it left in the world, what it was worth and why.

The reference of a live task is no dialogue, so nothing stands beside the trial; the actions of the reference do, each
with the event in which the agent made it, or with how the nearest call of that tool differed. That is an aid for
reading: what a trial is worth was said by its grader, and stands here as it was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from turngap.analysis.evidence import differences
from turngap.config import MatchConfig
from turngap.data import (
    Acted,
    Action,
    Cause,
    Event,
    Failure,
    Score,
    Spoken,
    Task,
    ToolCall,
    Trajectory,
    Usage,
    UserMessage,
)
from turngap.data.reward import Mismatch, Reward
from turngap.metrics.matching import Matcher
from turngap.runs.store import RunStore
from turngap.web.piece import LONGEST, Call, Ink, Message, Standing, Text, finish_notes
from turngap.web.shelf import Unknown
from turngap.web.verdict import Chip, Tone, cost


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Which trial."""

    id: str
    """Of the task."""
    trial: int = 0


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One component of the reward."""

    name: str
    value: float
    counted: bool
    detail: str


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """Something that went wrong, with the event that shows it."""

    kind: str
    event: int
    detail: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """An action of the reference and what the agent made of it."""

    what: str
    """``reference``, ``required`` or ``forbidden``."""
    by_user: bool
    call: Call
    made: int | None
    """Event in which it was made."""
    near: int | None
    """Event of the nearest call of the same tool, where it was not made."""
    info: str = ""

    @property
    def good(self) -> bool:
        """Whether this is as it should be."""
        return (self.made is None) == (self.what == "forbidden")


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """One event."""

    number: int
    message: Message
    user_calls: tuple[Call, ...] = ()
    """What the user did with tools of their own before these words."""
    signs: tuple[Sign, ...] = ()


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """Another trial of the task."""

    trial: int
    chip: Chip | None


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The whole page."""

    id: str
    trial: int
    trials: tuple[Other, ...]
    scenario: str
    purpose: str
    told: tuple[tuple[str, Text], ...]
    """What the user was told, and what the agent had to say and hold; heading and text."""
    chip: Chip | None
    reward: float | None
    parts: tuple[Part, ...]
    tau2: float | None
    signs: tuple[Sign, ...]
    mismatches: tuple[Mismatch, ...]
    mismatched: int
    wanted: tuple[Wanted, ...]
    events: tuple[Happened, ...]
    given: tuple[Message, ...]
    ended: str
    cost: str
    user_cost: str
    lapses: tuple[str, ...]
    error: str
    """Why there is no trajectory, or no reward."""
    before: tuple[str, ...]
    """Why earlier tries could not be measured."""
    whole: dict[str, str]


def view(store: RunStore, asked: Asked, *, longest: int = LONGEST) -> View:
    """Make the page of one trial.

    Args:
        store: an open run on live tasks.
        asked: which one.
        longest: characters of one text that are shown at once.

    Raises:
        Unknown: the run has no such task, or no such trial of it.
    """
    try:
        task = store.trials.task(asked.id)
    except KeyError:
        raise Unknown(f"this run has no task {asked.id[:80]!r}") from None
    stored = {one.trial: one for one in store.trials.of(asked.id)}
    if stored and asked.trial not in stored:
        raise Unknown(f"task {asked.id[:80]!r} has no trial {asked.trial}; it has {', '.join(map(str, stored))}")
    scores = store.scores_of(asked.id).get("reward", {})
    trial = stored.get(asked.trial)
    result = trial.result if trial else None
    trajectory = result if isinstance(result, Trajectory) else None
    _, graded = store.trials.rewards(asked.id).get(asked.trial, ("", None))
    reward = graded if isinstance(graded, Reward) else None
    ink = Ink(longest)
    signs = _signs(reward)
    failures = [one for one in (result, graded) if isinstance(one, Failure)]
    return View(
        id=task.id,
        trial=asked.trial,
        trials=tuple(Other(trial=number, chip=_chip(scores.get(number))) for number in stored),
        scenario=task.scenario.value,
        purpose=task.purpose,
        told=tuple((heading, ink.text(f"told.{heading}", text)) for heading, text in _told(task)),
        chip=_chip(scores.get(asked.trial)),
        reward=reward.value if reward else None,
        parts=_parts(reward),
        tau2=_number(reward.tau2.get("reward")) if reward and reward.tau2 else None,
        signs=signs,
        mismatches=reward.mismatches if reward else (),
        mismatched=reward.mismatched if reward else 0,
        wanted=tuple(_wanted(task, trajectory, ink)),
        events=tuple(_events(trajectory, signs, ink)) if trajectory else (),
        given=tuple(ink.said(f"g{at}", message) for at, message in enumerate(task.given)),
        ended=_ended(trajectory),
        cost=cost(trajectory.usage, trajectory.seconds) if trajectory else "",
        user_cost=cost(_user_usage(trajectory)) if trajectory else "",
        lapses=tuple(_lapses(trajectory)),
        error="; ".join(f"{one.cause}: {one.reason}" for one in failures[:1]) or ("" if trial else "not tried yet"),
        before=tuple(f"{one.cause}: {one.reason}" for one in (trial.before if trial else ())),
        whole=ink.whole,
    )


def _parts(reward: Reward | None) -> tuple[Part, ...]:
    return tuple(
        Part(name=name, value=grade.value, counted=grade.counted, detail=grade.detail)
        for name, grade in (reward.components if reward else {}).items()
    )


def _signs(reward: Reward | None) -> tuple[Sign, ...]:
    return tuple(
        Sign(kind=one.kind.value.replace("_", " "), event=one.event, detail=one.detail)
        for one in (reward.symptoms if reward else ())
    )


def _chip(score: Score | None) -> Chip | None:
    if score is None:
        return None
    if score.errored:
        return Chip(protocol="rollout", tone="errored", word=_spoiled(score), detail=score.detail)
    value = score.values.get("reward", 0.0)
    tone: Tone = "good" if score.success else "bad"
    return Chip(protocol="rollout", tone=tone, word=f"reward {value:g}", detail=score.detail)


def _spoiled(score: Score) -> str:
    return "spoiled by the user" if score.cause is Cause.USER else "not measured"


def _told(task: Task) -> Iterator[tuple[str, str]]:
    told, criteria = task.instructions, task.criteria
    texts = (
        ("What the user is like", task.persona),
        ("Why the user makes contact", told.reason or (task.intent.opening if task.intent else "")),
        ("What the user knows", told.known),
        ("What the user does not know", told.unknown),
        ("How the user is to behave", told.further),
        ("What the agent has to say", "\n".join(criteria.communicate)),
        ("What has to hold", "\n".join(criteria.nl_assertions)),
        ("Why it cannot be done", criteria.reason),
    )
    return ((heading, text) for heading, text in texts if text.strip())


def _wanted(task: Task, trajectory: Trajectory | None, ink: Ink) -> Iterator[Wanted]:
    """Every action of the reference with the call that made it, or came nearest. No call stands for two actions."""
    criteria = task.criteria
    made = {side: list(_calls(trajectory, by_user=side)) for side in (False, True)}
    groups = (("reference", criteria.actions), ("required", criteria.required), ("forbidden", criteria.forbidden))
    for what, actions in groups:
        left = {side: list(calls) for side, calls in made.items()}
        for place, action in enumerate(actions):
            by_user = action.requestor == "user"
            yield _held(f"w.{what}{place}", what, action, left[by_user], ink)


def _held(at: str, what: str, action: Action, calls: list[tuple[int, ToolCall]], ink: Ink) -> Wanted:
    compared = {} if action.compare_args is None else {action.name: action.compare_args}
    matcher = Matcher((), MatchConfig(compare_args=compared))
    wanted = action.call()
    hit = next((one for one in calls if matcher.same(one[1], wanted)), None)
    if hit is not None:
        calls.remove(hit)
    of_tool = [] if hit is not None or what == "forbidden" else [one for one in calls if one[1].name == action.name]
    near = min(of_tool, key=lambda one: len(differences(one[1], wanted, matcher)), default=None)
    # Seen from the action: what the agent's call has in the place of each leaf.
    found = [] if near is None else differences(wanted, near[1], matcher)
    return Wanted(
        what=what,
        by_user=action.requestor == "user",
        call=ink.call(at, wanted, found),
        made=hit[0] if hit else None,
        near=near[0] if near else None,
        info=action.info,
    )


def _calls(trajectory: Trajectory | None, *, by_user: bool) -> Iterator[tuple[int, ToolCall]]:
    for at, event in enumerate(trajectory.events if trajectory else ()):
        if by_user and isinstance(event, Spoken):
            yield from ((at, call) for call in event.calls)
        elif not by_user and isinstance(event, Acted):
            yield from ((at, call) for call in event.message.calls)


def _events(trajectory: Trajectory, signs: Sequence[Sign], ink: Ink) -> Iterator[Happened]:
    for at, event in enumerate(trajectory.events):
        yield Happened(
            number=at,
            message=_message(at, event, ink),
            user_calls=tuple(_called(f"e{at}", event.calls, event, ink)) if isinstance(event, Spoken) else (),
            signs=tuple(sign for sign in signs if sign.event == at),
        )


def _message(at: int, event: Event, ink: Ink) -> Message:
    if isinstance(event, Spoken):
        who: Literal["user", "system"] = "user" if isinstance(event.message, UserMessage) else "system"
        return Message(who=who, event=at, text=ink.text(f"e{at}.t", event.message.content))
    calls = list(_called(f"e{at}", event.message.calls, event, ink))
    fields: dict[str, Any] = {}
    if isinstance(event, Acted):
        fields = {"raw": ink.some(f"e{at}.raw", event.raw), "notes": finish_notes(event.finish, event.notes)}
    empty = not calls and not event.message.content.strip()
    return ink.message(
        f"e{at}", event.message, calls, event=at, mark="empty answer" if empty else "", bad=empty, **fields
    )


def _called(at: str, calls: Sequence[ToolCall], event: Event, ink: Ink) -> Iterator[Call]:
    """Calls with their results; that a call ran is nothing to mention, only that one did not."""
    verdicts = event.verdicts if isinstance(event, Acted) else ()
    for place, call in enumerate(calls):
        verdict = verdicts[place] if place < len(verdicts) else None
        refused = verdict is not None and not verdict.accepted
        standing: Standing = "rejected" if refused else ""
        yield ink.call(
            f"{at}.c{place}",
            call,
            standing=standing,
            category=verdict.category.replace("_", " ") if verdict and verdict.category else "",
            detail=verdict.detail if verdict and refused else "",
            result=ink.result(f"{at}.x{place}", event.results[place]) if place < len(event.results) else None,
        )


def _ended(trajectory: Trajectory | None) -> str:
    if trajectory is None:
        return ""
    ending = str(trajectory.metadata.get("termination", "")).replace("_", " ")
    return f"{f'ended by {ending}, ' if ending else ''}{trajectory.steps} messages of the agent"


def _lapses(trajectory: Trajectory | None) -> Iterator[str]:
    """What the simulated user did wrong, in words."""
    for lapse in (trajectory.metadata.get("lapses") or []) if trajectory else []:
        if isinstance(lapse, dict):
            mended = " (mended)" if lapse.get("mended") else ""
            kind = str(lapse.get("kind", "lapse")).replace("_", " ")
            yield f"{kind} in turn {lapse.get('turn', '?')}{mended}: {lapse.get('detail', '')}"


def _user_usage(trajectory: Trajectory) -> Usage:
    try:
        return msgspec.convert(trajectory.metadata.get("user_usage", {}), Usage)
    except msgspec.ValidationError:
        return Usage()


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
