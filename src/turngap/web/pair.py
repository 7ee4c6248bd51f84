"""One conversation in two runs, side by side: what its scores say in each, and what each model did, abreast.

Replays of one recording are laid beside it (`turngap.web.aligned`) and so beside each other, decision by decision. Live
trials go their own ways, so of a task only what came of each trial stands abreast. Texts are those of the report, word
for word up to its limit; the pages of the two conversations have the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from turngap.analysis.scorer import headline
from turngap.data import (
    Conversation,
    Decision,
    Failure,
    Prediction,
    Score,
    Trajectory,
    UserMessage,
    decisions,
    results_of,
)
from turngap.data.reward import Reward
from turngap.report.document import Line
from turngap.report.transcript import event_lines, message_lines, text_line
from turngap.runs.store import RunStore
from turngap.web.aligned import Alignment, Row, State, Turn, align

_PROTOCOLS = ("turn", "strict", "replay", "workflow")
_STATES = {
    State.RIGHT: "right",
    State.RECOVERED: "put right",
    State.WRONG: "wrong",
    State.MISSING: "missing",
    State.PASSED: "passed over",
    State.UNREACHED: "not reached",
    State.UNASKED: "not asked",
}


class Did(msgspec.Struct, frozen=True, kw_only=True):
    """What one model did at one place."""

    state: str
    """In a word or two; empty past the recording."""
    good: bool | None
    """None where nothing went wrong or right."""
    lines: tuple[Line, ...]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded decision, or what lies past the recording, on both sides."""

    decision: int | None
    recorded: tuple[Line, ...]
    sides: tuple[Did, Did]

    @property
    def differs(self) -> bool:
        """Whether the two did not do the same."""
        return self.sides[0] != self.sides[1]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What was said to both, and what came of it."""

    number: int
    said: tuple[Line, ...]
    places: tuple[Place, ...]

    @property
    def differs(self) -> bool:
        """Whether any of it is not the same."""
        return any(place.differs for place in self.places)


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One unit's score in one run."""

    good: bool | None
    """None where it could not be measured."""
    why: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One unit's score in both."""

    protocol: str
    unit: str
    """``the whole``, ``decision 3`` or ``trial 1``."""
    decision: int | None = None
    """Index of the decision, where it is one."""
    trial: int | None = None
    """Number of the trial, where it is one."""
    sides: tuple[Told | None, Told | None]
    """None where there is no score."""

    @property
    def differs(self) -> bool:
        """Whether it is good in one and not in the other."""
        one, other = self.sides
        return (one and one.good) != (other and other.good)


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides of a conversation or task."""

    id: str
    live: bool
    verdicts: tuple[Verdict, ...]
    """Whole conversations and trials always; decisions where the two differ."""
    answers: tuple[Place, ...]
    """Answers on recorded history, at decisions where one is good and the other is not."""
    sections: tuple[Section, ...]
    """Of replays; empty for live tasks."""


def pair(first: RunStore, second: RunStore, name: str, *, live: bool) -> Pair:
    """Lay a conversation of two runs side by side.

    Args:
        first: an open run; only read.
        second: likewise.
        name: id of the conversation or task, which both hold with the same content.
        live: whether it is a task of live trials.

    Raises:
        StoreError: a record is damaged.
    """
    if live:
        return Pair(id=name, live=True, verdicts=tuple(_trials(first, second, name)), answers=(), sections=())
    recorded = first.conversation(name)
    sides = [align(recorded, _replay(store, name)) for store in (first, second)]
    verdicts = tuple(_verdicts(first, second, name))
    differing = {verdict.decision for verdict in verdicts if verdict.decision is not None}
    return Pair(
        id=name,
        live=False,
        verdicts=verdicts,
        answers=tuple(_answers(recorded, (first, second), differing)),
        sections=tuple(_sections(recorded, sides)),
    )


def _replay(store: RunStore, name: str) -> Trajectory | None:
    found = store.trajectory(name)
    return found if isinstance(found, Trajectory) else None


def _verdicts(first: RunStore, second: RunStore, name: str) -> Iterator[Verdict]:
    sides = [store.scores_of(name) for store in (first, second)]
    for protocol in _PROTOCOLS:
        scorers = [headline(store, protocol) for store in (first, second)]
        ones, others = (found.get(scorer, {}) for found, scorer in zip(sides, scorers, strict=True))
        for place in sorted({*ones, *others}, key=lambda at: -1 if at is None else at):
            found = Verdict(
                protocol=protocol,
                unit="the whole" if place is None else f"decision {place}",
                decision=place,
                sides=(_told(ones.get(place)), _told(others.get(place))),
            )
            if place is None or found.differs:
                yield found


def _told(score: Score | None) -> Told | None:
    if score is None:
        return None
    why = score.detail or score.category or ("" if score.cause is None else score.cause.value)
    return Told(good=None if score.errored else score.success, why="" if score.success else why)


def _trials(first: RunStore, second: RunStore, name: str) -> Iterator[Verdict]:
    rewards = [store.trials.rewards(name) for store in (first, second)]
    for trial in sorted({*rewards[0], *rewards[1]}):
        one, other = (_worth(found.get(trial)) for found in rewards)
        yield Verdict(protocol="rollout", unit=f"trial {trial + 1}", trial=trial, sides=(one, other))


def _worth(found: tuple[str, Reward | Failure] | None) -> Told | None:
    if found is None:
        return None
    reward = found[1]
    if isinstance(reward, Failure):
        return Told(good=None, why=reward.reason)
    good = reward.value >= 1 - 1e-6
    return Told(good=good, why="" if good else reward.detail)


def _answers(recorded: Conversation, stores: Sequence[RunStore], wanted: Collection[int]) -> Iterator[Place]:
    found = [store.predictions(recorded.id) for store in stores] if wanted else []
    for decision in decisions(recorded):
        if decision.index in wanted:
            one, other = (_answer(of.get(decision.index)) for of in found)
            yield Place(decision=decision.index, recorded=_recorded(recorded, decision), sides=(one, other))


def _answer(found: Prediction | Failure | None) -> Did:
    if isinstance(found, Prediction):
        return Did(state="", good=None, lines=tuple(message_lines(found.message)))
    return Did(state="" if found is None else f"errored: {found.reason}", good=None, lines=())


def _recorded(conversation: Conversation, decision: Decision) -> tuple[Line, ...]:
    return tuple(message_lines(decision.reference, results_of(conversation, decision)))


def _sections(recorded: Conversation, sides: Sequence[Alignment]) -> Iterator[Section]:
    for turns in zip(*(side.turns for side in sides), strict=True):
        said = tuple(
            text_line("user" if isinstance(message, UserMessage) else "system", message.content)
            for message in turns[0].spoken
        )
        yield Section(number=turns[0].number, said=said, places=tuple(_places(recorded, turns)))


def _places(recorded: Conversation, turns: Sequence[Turn]) -> Iterator[Place]:
    """The recorded decisions of a turn, each with both sides; behind them what has no place in the recording."""
    by_decision: list[Mapping[int, Row]] = []
    rest: list[list[Row]] = []
    for turn in turns:
        placed = {row.decision.index: row for row in turn.rows if row.decision is not None and not row.late}
        by_decision.append(placed)
        rest.append([row for row in turn.rows if row.decision is None or row.late])
    for index in sorted({*by_decision[0], *by_decision[1]}):
        rows = [found.get(index) for found in by_decision]
        decision = next(row.decision for row in rows if row is not None and row.decision is not None)
        yield Place(
            decision=index,
            recorded=_recorded(recorded, decision),
            sides=(_did(rows[0]), _did(rows[1])),
        )
    for at in range(max(len(rest[0]), len(rest[1]))):
        rows = [found[at] if at < len(found) else None for found in rest]
        yield Place(decision=None, recorded=(), sides=(_did(rows[0]), _did(rows[1])))


def _did(row: Row | None) -> Did:
    if row is None:
        return Did(state="", good=None, lines=())
    late = "" if row.decision is None or not row.late else f"late, for decision {row.decision.index}"
    state = late or ("" if row.decision is None else _STATES[row.state])
    good = False if row.state.failed else True if row.state in (State.RIGHT, State.RECOVERED) else None
    return Did(
        state=state,
        good=None if late or row.decision is None else good,
        lines=tuple(line for _, event in row.own for line in event_lines(event)),
    )
