"""One conversation as a page: the recording and the model's own history side by side, decision by decision.

Beside each decision stands what every protocol says of it and what the model answered when it was asked on recorded
history. Where a run holds no replay, that answer takes the place of the own history. A unit that failed to be measured
says why; nothing that a recording or a model contains can keep the page from being made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from turngap import jsonio
from turngap.analysis.taxonomy import Case, cases_of
from turngap.data import Conversation, Decision, Failure, Prediction, Source, Trajectory, Verdict, decisions
from turngap.metrics.matching import Matcher
from turngap.protocols import labelling
from turngap.runs.store import RunStore
from turngap.web.aligned import Alignment, Row, State, align, sound
from turngap.web.hearing import Hearing
from turngap.web.piece import LONGEST, Ink, Message, Text
from turngap.web.shelf import Unknown
from turngap.web.sides import Sides
from turngap.web.verdict import Chip, Opinion, Opinions, Scores, chips, cost, failing

_LONGEST_DETAIL = 200
_WORDS = {
    State.RIGHT: "right",
    State.RECOVERED: "recovered",
    State.WRONG: "wrong",
    State.MISSING: "missing",
    State.PASSED: "passed over",
    State.UNREACHED: "not reached",
    State.UNASKED: "cannot be asked for",
}
_EXPLAINED = {
    State.RIGHT: "",
    State.RECOVERED: "something went wrong first, and the model put it right by itself",
    State.WRONG: "its attempts were spent on other calls",
    State.MISSING: "its calls were never made",
    State.PASSED: "the model had ended this turn before, with words in the place of a call",
    State.UNREACHED: "the replay ended before it",
    State.UNASKED: "its recorded calls cannot be read",
}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What makes one page differ from another."""

    id: str
    """Of the conversation."""
    evidence: bool | None = None
    """Whether to look for where differing values had been heard; None: where that is quick."""


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answered on recorded history."""

    message: Message | None
    """None where there is no answer."""
    error: str = ""
    cost: str = ""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """An unresolved error, with what can be said of it."""

    category: str
    detail: str
    first: bool
    """Whether it is what failed the workflow."""
    findings: tuple[tuple[str, str], ...] = ()
    """What a detector found, in words, with its evidence."""
    label: str = ""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded decision and what the model did."""

    number: int | None
    """Of the decision; None past the recording."""
    kind: Literal["text", "tool", ""]
    late: bool
    first: bool
    """Whether the replay first left the recording here."""
    behind: bool
    """Whether it had left it before: what is asked here is asked from the model's own, differing history."""
    state: str
    """Empty without a replay."""
    word: str
    explained: str
    slipped: bool
    failed: bool
    recorded: Message | None
    own: tuple[Message, ...]
    elsewhere: int | None
    troubles: tuple[Trouble, ...]
    chips: tuple[Chip, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    gold: Gold | None = None
    failing: tuple[str, ...] = ()
    """Protocols under which this decision is a failure."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the user and what came of it."""

    number: int
    spoken: tuple[Message, ...]
    rows: tuple[Beside, ...]
    reached: bool


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The whole page."""

    id: str
    source: str
    goal: Text | None
    reward: float | None
    policy: Text | None
    tools: tuple[tuple[str, Text], ...]
    """Name, and what the model is told of it."""
    given: tuple[Message, ...]
    rounds: tuple[Round, ...]
    own: Literal["replay", "gold", "none"]
    """What the second side holds."""
    error: str
    """Why there is no replay, where one was tried."""
    outcome: tuple[Chip, ...]
    opinions: tuple[Opinion, ...]
    cost: str
    counts: str
    """How far the replay came, in words."""
    alignment: Alignment
    evidence: bool
    """Whether it was said where differing values had been heard."""
    first: int | None
    """The decision at which the replay first left the recording."""
    whole: dict[str, str]
    """Address -> text, of the texts that are shown in part."""

    def rows(self) -> Iterator[Beside]:
        """All rows in order."""
        return (row for one in self.rounds for row in one.rows)


def view(store: RunStore, asked: Asked, *, longest: int = LONGEST) -> View:
    """Make the page of one conversation.

    Args:
        store: an open run on conversations.
        asked: which one, and how.
        longest: characters of one text that are shown at once.

    Raises:
        Unknown: the run has no such conversation.
    """
    try:
        conversation = store.conversation(asked.id)
    except KeyError:
        raise Unknown(f"this run has no conversation {asked.id[:80]!r}") from None
    return _Maker(store, conversation, asked, Ink(longest)).view()


class _Maker:
    """Makes one page."""

    def __init__(self, store: RunStore, conversation: Conversation, asked: Asked, ink: Ink) -> None:
        result = store.trajectory(conversation.id)
        self.store, self.conversation, self.ink, self.result = store, conversation, ink, result
        self.trajectory = sound(result) if isinstance(result, Trajectory) else None
        self.predictions = store.predictions(conversation.id)
        self.scores: Scores = store.scores_of(conversation.id)
        self.opinions = Opinions(store, conversation.id, self.scores, ink)
        self.aligned = align(conversation, self.trajectory)
        hearing = Hearing(conversation, self.trajectory.events if self.trajectory else ())
        self.evidence = not hearing.costly if asked.evidence is None else asked.evidence
        matcher = Matcher(conversation.tools, store.config.match, conversation.compare_args)
        self.sides = Sides(conversation, matcher, ink, hearing if self.evidence else None)
        self.own: Literal["replay", "gold", "none"] = (
            "replay" if self.trajectory else "gold" if self.predictions else "none"
        )

    def view(self) -> View:
        """The page."""
        given = tuple(self.ink.said(f"g{at}", message) for at, message in enumerate(self.aligned.given))
        rounds = tuple(self._rounds())
        conversation, trajectory = self.conversation, self.trajectory
        return View(
            id=conversation.id,
            source=_source(conversation.source),
            goal=self.ink.some("goal", conversation.goal),
            reward=conversation.reward,
            policy=self.ink.some("policy", conversation.policy),
            tools=tuple(
                (tool.name, self.ink.text(f"tool{at}", _tool(tool.description, tool.parameters)))
                for at, tool in enumerate(conversation.tools)
            ),
            given=given,
            rounds=rounds,
            own=self.own,
            error=f"{self.result.cause}: {self.result.reason}" if isinstance(self.result, Failure) else "",
            outcome=chips(self.scores, None),
            opinions=self.opinions.on(None),
            cost=cost(trajectory.usage, trajectory.seconds) if trajectory else "",
            counts=_counts(trajectory) if trajectory else "",
            alignment=self.aligned,
            evidence=self.evidence,
            first=self.aligned.first,
            whole=self.ink.whole,
        )

    def _rounds(self) -> Iterator[Round]:
        troubles = self._troubles()
        for turn in self.aligned.turns:
            spoken = tuple(self.ink.said(f"u{turn.number}.{at}", message) for at, message in enumerate(turn.spoken))
            rows = tuple(self._row(row, troubles) for row in turn.rows)
            yield Round(number=turn.number, spoken=spoken, rows=rows, reached=turn.reached)

    def _row(self, row: Row, troubles: Mapping[int | None, Sequence[Trouble]]) -> Beside:
        decision, first = row.decision, self.aligned.first
        number = decision.index if decision else None
        # Own messages first: they say which leaves of the recorded calls are to be marked.
        own = self.sides.own(row)
        gold = None if decision is None or row.late else self._gold(decision)
        if self.own == "gold" and gold is not None and gold.message is not None:
            own = (gold.message,)
        shown = () if decision is None or row.late else chips(self.scores, number)
        replayed = self.own == "replay"
        fails = failing(shown)
        if replayed and row.state.slipped and not row.late:
            fails = (*fails, "replay")
        mine = () if row.late else tuple(troubles.get(number, ()))
        if decision is None and not row.own:
            mine = tuple(one for index, group in troubles.items() if index not in self._indices for one in group)
        return Beside(
            number=number,
            kind="" if decision is None else "tool" if decision.kind == "tool" else "text",
            late=row.late,
            first=replayed and number is not None and number == first and not row.late,
            behind=replayed and number is not None and first is not None and number > first,
            state=row.state.value if replayed else "",
            word=_WORDS[row.state],
            explained=_explained(row) if replayed else "",
            slipped=replayed and row.state.slipped,
            failed=replayed and row.state.failed,
            recorded=None if decision is None else self.sides.recorded(decision),
            own=own,
            elsewhere=row.elsewhere,
            troubles=mine,
            chips=shown,
            opinions=() if decision is None or row.late else self.opinions.on(number),
            gold=gold,
            failing=fails,
        )

    @property
    def _indices(self) -> set[int]:
        return {decision.index for decision in decisions(self.conversation)}

    def _gold(self, decision: Decision) -> Gold | None:
        found = self.predictions.get(decision.index)
        if found is None:
            return None
        if isinstance(found, Failure):
            return Gold(message=None, error=f"{found.cause}: {found.reason}")
        return Gold(message=self.sides.predicted(decision, found, mark=self.own == "gold"), cost=_cost_of(found))

    def _troubles(self) -> dict[int | None, list[Trouble]]:
        """Unresolved errors by decision; with what detectors say, unless there is too much to read."""
        found: dict[int | None, list[Trouble]] = {}
        if self.trajectory is None:
            return found
        if not self.evidence:
            for at, problem in enumerate(self.trajectory.problems):
                trouble = Trouble(category=_plain(problem.category), detail=_cut(problem.detail), first=at == 0)
                found.setdefault(problem.decision, []).append(trouble)
            return found
        for case in cases_of(self.store, self.conversation, self.trajectory, self._label()):
            found.setdefault(case.decision, []).append(_trouble(case))
        return found

    def _label(self) -> Verdict | None:
        labelled_by = str(self.store.note(labelling.NOTE, ""))
        stored = self.store.verdicts(labelled_by, labelling.PROTOCOL, self.conversation.id) if labelled_by else {}
        _, label = stored.get(None, ("", None))
        return label if isinstance(label, Verdict) else None


def _trouble(case: Case) -> Trouble:
    return Trouble(
        category=_plain(case.category),
        detail=_cut(case.detail),
        first=case.first,
        findings=tuple((_plain(finding.detector), finding.evidence) for finding in case.findings),
        label=case.label,
    )


def _explained(row: Row) -> str:
    """What has to be said of a state, where the word alone does not."""
    parts = [_EXPLAINED[row.state]]
    if row.state is State.MISSING and row.decision is not None and row.decision.kind == "text":
        parts = ["the model never ended this turn with words"]
    if row.elsewhere is not None and not row.repaired:
        parts.append(f"its calls were made in event {row.elsewhere}")
    if row.repaired:
        parts.append("the recorded decision was put in")
    return "; ".join(filter(None, parts))


def _counts(trajectory: Trajectory) -> str:
    ended = "completed" if trajectory.completed else "not completed"
    return (
        f"{ended}: {trajectory.steps} messages of the model (at most {trajectory.step_limit}), "
        f"{trajectory.rejected} calls rejected, {trajectory.recovered} errors recovered from"
    )


def _cost_of(prediction: Prediction) -> str:
    return cost(prediction.usage, prediction.seconds, cached=prediction.cached)


def _source(source: Source) -> str:
    """Where the recording stands, without the folders of its file."""
    name = source.file.replace("\\", "/").rpartition("/")[2]
    place = f"line {source.line}" if source.line is not None else ""
    place = place or (f"record {source.record}" if source.record is not None else "")
    return ", ".join(filter(None, (name, place)))


def _tool(description: str, parameters: object) -> str:
    return f"{description}\n\n{jsonio.dumps(parameters, indent=2)}".strip()


def _cut(text: str) -> str:
    """Both calls stand beside it word for word."""
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}…"


def _plain(name: str) -> str:
    return name.replace("_", " ")
