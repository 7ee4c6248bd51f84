"""The plain-words verdict of a comparison: did better turns become finished workflows?

A difference is called *clear* when its interval leaves zero out and its corrected p-value is below 0.05; everything
else is open, and is called open: "no difference is clear" never means "there is none". That gains did not transfer is
said only where the whole interval of the workflow difference lies below that of a clear turn gain.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from turngap.metrics.paired import Difference
from turngap.metrics.rounding import decimals, signed

LEVEL = 0.05
USERS_DIFFER = 0.1
"""Difference between the rates of user errors of two runs from which on no winner is called."""

_SPEAKERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("text", ("turn.success.text", "text.rouge1")),
    ("tool", ("turn.success.tool", "strict.exact", "strict.arg_f1")),
    ("workflow", ("workflow.success", "replay.completed")),
)
"""What a sentence calls it, and the figures that may speak for it, the first one that was compared. `turn.success`
speaks for all turns where neither text nor tool turns were compared."""


class Finding(msgspec.Struct, frozen=True):
    """A difference and its p-value, corrected for all that are shown."""

    difference: Difference
    p: float | None

    @property
    def clear(self) -> bool:
        """See the module."""
        return self.difference.clear and self.p is not None and self.p < LEVEL

    @property
    def sign(self) -> int:
        """1 for a clear gain, -1 for a clear loss, 0 where it is open."""
        value = self.difference.value or 0.0
        return ((value > 0) - (value < 0)) if self.clear else 0


def verdict(findings: Mapping[str, Finding]) -> str:
    """One sentence on what changed, e.g. "text +25.2, tool +5.9, workflow +0.0: turn gains did not transfer".

    Args:
        findings: figure -> what came of it; those without units are passed over.
    """
    spoken = {}
    for word, names in _SPEAKERS:
        found = next((findings[name] for name in names if name in findings and findings[name].difference.n), None)
        if found is not None:
            spoken[word] = found
    if "pass^1" in findings or "reward" in findings:
        return _of_trials(findings)
    whole = findings.get("turn.success")
    if "text" not in spoken and "tool" not in spoken and whole is not None and whole.difference.n:
        spoken = {"all": whole, **spoken}
    if not spoken:
        return "nothing to compare"
    numbers = ", ".join(f"{word} {_points(found.difference.value)}" for word, found in spoken.items())
    workflow = spoken.pop("workflow", None)
    return f"{numbers}: {_conclusion(spoken, workflow)}"


def _of_trials(findings: Mapping[str, Finding]) -> str:
    """Of live trials: who is better, unless the users of the two runs failed so differently that nobody can know."""
    shown = [
        (name, findings[name]) for name in ("pass^1", "reward") if name in findings and findings[name].difference.n
    ]
    if not shown:
        return "nothing to compare"
    numbers = ", ".join(f"{name} {_points(found.difference.value)}" for name, found in shown)
    users = findings.get("user_error")
    if users is not None and (abs(users.difference.value or 0.0) > USERS_DIFFER or users.sign):
        spoiled = _points(users.difference.value)
        return f"{numbers}: no winner is called, for the user spoiled {spoiled} points more of the second run's trials"
    main = shown[0][1]
    if not main.sign:
        return f"{numbers}: no difference is clear ({_interval(main)})"
    return f"{numbers}: more trials succeed" if main.sign > 0 else f"{numbers}: fewer trials succeed"


def _conclusion(turns: Mapping[str, Finding], workflow: Finding | None) -> str:
    better = {word: found for word, found in turns.items() if found.sign > 0}
    worse = [word for word, found in turns.items() if found.sign < 0]
    if workflow is None:
        return f"{_turns(better, worse)}; no workflow figure to hold that against"
    if workflow.sign > 0:
        return _finished_more(better, worse, workflow)
    if workflow.sign < 0:
        return "turns got better and workflows worse" if better and not worse else "workflows got worse"
    interval = _interval(workflow)
    if better and not worse:
        if _below(workflow, better):
            return f"turn gains did not transfer (workflow {interval})"
        return f"{_turns(better, worse)}; whether it reaches workflows is open ({interval})"
    if better or worse:
        return f"{_turns(better, worse)}; for workflows no difference is clear ({interval})"
    return "no difference is clear"


def _finished_more(better: Mapping[str, Finding], worse: list[str], workflow: Finding) -> str:
    if worse:
        return f"workflows got better although {' and '.join(worse)} turns got worse"
    if not better:
        return "workflows got better, without a clear gain in turns"
    return "turn gains transferred only in part" if _below(workflow, better) else "turn gains transferred to workflows"


def _below(workflow: Finding, better: Mapping[str, Finding]) -> bool:
    """Whether the workflow difference is clearly smaller than the largest clear turn gain."""
    gains = [found.difference.ci95[0] for found in better.values() if found.difference.ci95]
    return workflow.difference.ci95 is not None and workflow.difference.ci95[1] < max(gains)


def _turns(better: Mapping[str, Finding], worse: list[str]) -> str:
    parts = [f"{' and '.join(better)} turns got better"] if better else []
    parts += [f"{' and '.join(worse)} turns got worse"] if worse else []
    return ", ".join(parts) or "no difference in turns is clear"


def _points(value: float | None) -> str:
    return signed(100 * (value or 0.0))


def _interval(found: Finding) -> str:
    """The interval; where it leaves zero out and the difference is open all the same, why that is."""
    low, high = found.difference.ci95 or (-1.0, 1.0)
    told = f"95% interval {_points(low)} to {_points(high)}"
    if found.clear or not found.difference.clear or found.p is None:
        return told
    return f"{told}, but p is {decimals(found.p, 3)} when corrected for all that is compared"
