"""The section on who plays the user in live trials: what they spoiled, and how far figures depend on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from turngap.data.reward import SymptomKind
from turngap.report.document import Cell, Column, Section, Table, figure_cell, head, number
from turngap.report.live_subject import LiveSubject

_USER_LEAD = (
    "Trials that the simulated user spoiled count neither for nor against the agent. Figures with them take the reward "
    "that came of them as it is."
)


def users(found: Sequence[LiveSubject]) -> Section:
    """What the simulated user spoiled, and the figures with and without it; audits."""
    pairs = (("reward", "reward.all"), ("pass^1", "pass^1.all"))
    columns = (
        Column(title="agent"),
        Column(title="user"),
        Column(title="spoiled", number=True),
        *(
            Column(title=title, group=group, number=True)
            for group, _ in pairs
            for title in ("without them", "with them")
        ),
    )
    rows = tuple(
        (
            head(one.label),
            Cell(text=one.summary.user),
            figure_cell(one.measured("user_error")),
            *(figure_cell(one.measured(name)) for pair in pairs for name in pair),
        )
        for one in found
    )
    tables = [
        Table(
            caption="Trials that the user spoiled, and figures without and with them (percent).",
            columns=columns,
            rows=rows,
        )
    ]
    audited = [one for one in found if one.summary.audit is not None]
    if audited:
        tables.append(_audits(audited))
    return Section(
        key="users",
        title="The user's part",
        lead=(_USER_LEAD,),
        findings=tuple(sentence for one in found if (sentence := _lapses(one))),
        tables=tuple(tables),
    )


def _lapses(one: LiveSubject) -> str:
    """Which lapses there were, most frequent first; nothing where the user spoiled no trial."""
    kinds = Counter(
        kind
        for case in one.symptoms.cases
        for kind in {
            symptom.detail.partition(":")[0] for symptom in case.symptoms if symptom.kind is SymptomKind.USER_FAULT
        }
    )
    spoiled = one.summary.n["user_errors"]
    if not spoiled:
        return ""
    named = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])))
    return (
        f"{one.label}: the user spoiled {spoiled} of {one.summary.n['trials']} trials{f' ({named})' if named else ''}."
    )


def _audits(audited: Sequence[LiveSubject]) -> Table:
    columns = (
        Column(title="agent"),
        Column(title="second user"),
        Column(title="tasks", number=True),
        Column(title="own user", group="reward", number=True),
        Column(title="second user", group="reward", number=True),
        Column(title="came out otherwise", number=True),
        Column(title="spoiled, own / second", number=True),
    )
    rows = []
    for one in audited:
        audit = one.summary.audit
        if audit is not None:
            rows.append(
                (
                    head(one.label),
                    Cell(text=audit.user),
                    number(audit.tasks),
                    *map(figure_cell, (audit.reward, audit.other, audit.moved)),
                    number(" / ".join(map(str, audit.user_errors))),
                )
            )
    return Table(
        caption="The audit: the same trials with a second user (percent of trials that count with either).",
        columns=columns,
        rows=tuple(rows),
    )
