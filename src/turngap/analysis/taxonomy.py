"""Why replays failed: counts by category, by finding and by tool, and every failure with its evidence.

Deterministic: the category comes from the replay, findings from `turngap.analysis.detector`. A label that a judge gave
to what is left (`turngap.protocols.labelling`) is read from the store and shown beside them, never mixed with them.

What fails a workflow is its first unresolved error; counts and shares are over those. Later ones (replays that went on
after a failure) are counted apart, since an error that follows an error is no independent observation. Errored replays
are in no count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from turngap.analysis.detector import Finding, Scene, detect
from turngap.analysis.finish import unfinished
from turngap.data import Category, Conversation, Failure, Figure, Trajectory, Verdict
from turngap.metrics.interval import wilson
from turngap.metrics.matching import Matcher
from turngap.protocols import labelling
from turngap.runs.store import RunStore

FORMAT = "turngap-taxonomy/1"
NO_TOOL = "(none due)"
"""Stands for the tool where the recording calls none."""
_EXAMPLES = 3


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One unresolved error."""

    conversation: str
    decision: int | None
    """Index of the recorded decision; None past the recording."""
    event: int
    """Index of the event of the trajectory at which it became unresolved."""
    first: bool
    """Whether it is what failed the workflow."""
    category: Category
    tool: str
    """The recorded tool that was due."""
    called: str
    """The tool that the last rejected call named; empty without one."""
    detail: str
    """Reference against prediction, one line."""
    findings: tuple[Finding, ...] = ()
    label: str = ""
    """What a judge called it; empty where none was asked or it knew no label."""
    rationale: str = ""
    """The judge's reason for the label."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look."""

    conversation: str
    decision: int | None
    detail: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One category, finding, label or tool."""

    name: str
    count: int
    """Failed replays whose first error is of this kind."""
    share: Figure
    """Of all failed replays."""
    later: int = 0
    """Further errors of this kind, behind the first of their replay."""
    tools: dict[str, int] = {}
    """Recorded tool that was due -> count, the most frequent first."""
    examples: tuple[Example, ...] = ()
    """The first few, in the order of the data."""


class Taxonomy(msgspec.Struct, frozen=True, kw_only=True):
    """Why the replays of a run failed."""

    replays: int
    """Replays that could be measured."""
    completed: int
    failed: int
    errored: int
    """Conversations without a measured replay."""
    categories: tuple[Row, ...]
    """Every category that occurs, the most frequent first; their counts add up to `failed`."""
    findings: tuple[Row, ...]
    """Every finding that occurs; a failure may have several, so the counts add up to nothing."""
    tools: tuple[Row, ...]
    """By the recorded tool that was due; `tools` of a row holds categories here."""
    without_finding: int
    """Failed replays of which no detector says more than the category."""
    labels: tuple[Row, ...]
    """By the judge's label; empty where no judge was asked."""
    labelled_by: str
    """The judge, or nothing."""
    label_errors: int
    """Failures that the judge could not be made to name."""
    cases: tuple[Case, ...]
    """Every unresolved error, in the order of the data."""
    notes: tuple[str, ...] = ()
    """What a reader has to know beside it: that the run is not finished."""

    def show(self, name: str) -> tuple[Case, ...]:
        """The cases of a category, finding, label, tool or conversation."""
        return tuple(case for case in self.cases if name in _names(case))


def taxonomy(store: RunStore) -> Taxonomy:
    """Explain the failed replays of a run; labels are those of whoever was asked last. The store is only read."""
    completed = errored = label_errors = 0
    cases: list[Case] = []
    labelled_by = str(store.note(labelling.NOTE, ""))
    for conversation in store.conversations():
        trajectory = store.trajectory(conversation.id)
        if not isinstance(trajectory, Trajectory):
            errored += 1
        elif trajectory.completed:
            completed += 1
        else:
            stored = store.verdicts(labelled_by, labelling.PROTOCOL, conversation.id) if labelled_by else {}
            _, label = stored.get(None, ("", None))
            label_errors += isinstance(label, Failure)
            cases += cases_of(store, conversation, trajectory, label if isinstance(label, Verdict) else None)
    failed = sum(case.first for case in cases)
    rows = _Rows(cases, failed)
    return Taxonomy(
        replays=completed + failed,
        completed=completed,
        failed=failed,
        errored=errored,
        categories=rows.by(lambda case: (case.category,)),
        findings=rows.by(lambda case: [finding.detector for finding in case.findings]),
        tools=rows.by(lambda case: (case.tool,), within=lambda case: case.category),
        without_finding=sum(case.first and not case.findings for case in cases),
        labels=rows.by(lambda case: (case.label,) if case.label else ()),
        labelled_by=labelled_by,
        label_errors=label_errors,
        cases=tuple(cases),
        notes=unfinished(store),
    )


def to_document(found: Taxonomy) -> dict[str, Any]:
    """The content of ``turngap taxonomy --json``: plain values, strict JSON, keys in a fixed order."""
    document: dict[str, Any] = {"format": FORMAT, **msgspec.to_builtins(found)}
    return document


def cases_of(
    store: RunStore, conversation: Conversation, trajectory: Trajectory, label: Verdict | None
) -> Iterator[Case]:
    """Explain the unresolved errors of one replay, in order.

    Args:
        store: the run; only its settings are read.
        conversation: the recording.
        trajectory: the replay of it.
        label: what a judge called the first error; None where none was asked or it knew no label.
    """
    matcher = Matcher(conversation.tools, store.config.match, conversation.compare_args)
    for number, problem in enumerate(trajectory.problems):
        scene = Scene(conversation, trajectory, problem, matcher)
        named = label if number == 0 else None
        yield Case(
            conversation=conversation.id,
            decision=problem.decision,
            event=problem.event,
            first=number == 0,
            category=problem.category,
            tool=scene.due[0].name if scene.due else NO_TOOL,
            called=scene.attempts[-1].call.name if scene.attempts else "",
            detail=problem.detail,
            findings=detect(scene),
            label=named.category if named else "",
            rationale=named.rationale if named else "",
        )


class _Rows:
    """Counts cases by whatever they are asked for."""

    def __init__(self, cases: Sequence[Case], failed: int) -> None:
        self._cases, self._failed = cases, failed

    def by(
        self, names: Callable[[Case], Iterable[str]], *, within: Callable[[Case], str] = lambda case: case.tool
    ) -> tuple[Row, ...]:
        """One row for each name, the most frequent first."""
        groups: dict[str, list[Case]] = {}
        for case in self._cases:
            for name in names(case):
                groups.setdefault(str(name), []).append(case)
        rows = [self._row(name, group, within) for name, group in groups.items()]
        return tuple(sorted(rows, key=lambda row: (-row.count, -row.later, row.name)))

    def _row(self, name: str, group: Sequence[Case], within: Callable[[Case], str]) -> Row:
        first = [case for case in group if case.first]
        share = Figure(value=None, n=0)
        if self._failed:
            share = Figure(value=len(first) / self._failed, n=self._failed, ci95=wilson(len(first), self._failed))
        tools = Counter(str(within(case)) for case in first)
        return Row(
            name=name,
            count=len(first),
            share=share,
            later=len(group) - len(first),
            tools=dict(sorted(tools.items(), key=lambda item: (-item[1], item[0]))),
            examples=tuple(
                Example(conversation=case.conversation, decision=case.decision, detail=case.detail)
                for case in (first or group)[:_EXAMPLES]
            ),
        )


def _names(case: Case) -> set[str]:
    findings = {str(finding.detector) for finding in case.findings}
    return {case.conversation, str(case.category), case.tool, case.called, case.label, *findings} - {""}
