"""The plain-words verdict: what it may claim, and what it may not."""

from __future__ import annotations

import pytest

from turngap.analysis.transfer import Finding, verdict
from turngap.metrics.paired import Difference


def finding(value: float, low: float, high: float, p: float = 0.001) -> Finding:
    """A difference in points."""
    return Finding(Difference(value=value / 100, n=77, clusters=77, ci95=(low / 100, high / 100)), p)


TEXT, TOOL = finding(25.2, 21, 29), finding(5.9, 1, 11)


@pytest.mark.parametrize(
    ("text", "tool", "workflow", "said"),
    [
        (TEXT, TOOL, finding(0, -4.8, 4.8, 1), "text +25.2, tool +5.9, workflow +0.0: turn gains did not transfer"),
        (TEXT, TOOL, finding(20, 10, 30), "turn gains transferred to workflows"),
        (TEXT, TOOL, finding(6, 2, 10), "turn gains transferred only in part"),
        (TEXT, TOOL, finding(10, -6, 26, 0.3), "text and tool turns got better; whether it reaches workflows is open"),
        (TEXT, TOOL, finding(-12, -20, -4), "turns got better and workflows worse"),
        (finding(1, -3, 5, 0.6), finding(2, -3, 7, 0.4), finding(3, -8, 14, 0.6), ": no difference is clear"),
        (finding(1, -3, 5, 0.6), finding(2, -3, 7, 0.4), finding(13, 3, 24), "without a clear gain in turns"),
        (TEXT, finding(-9, -14, -4), finding(9, 1, 15), "workflows got better although tool turns got worse"),
        (
            finding(-9, -14, -4),
            TOOL,
            finding(0, -9, 9, 1),
            "tool turns got better, text turns got worse; for workflows",
        ),
        (finding(-9, -14, -4), finding(-5, -9, -1), finding(-7, -11, -3), ": workflows got worse"),
    ],
)
def test_what_a_verdict_says(text: Finding, tool: Finding, workflow: Finding, said: str) -> None:
    """Each constellation of clear and open differences has its sentence."""
    findings = {"turn.success.text": text, "turn.success.tool": tool, "workflow.success": workflow}
    assert said in verdict(findings)


def test_an_interval_or_a_p_value_alone_makes_nothing_clear() -> None:
    """A difference is open where the corrected p-value is not small, or where the interval holds zero."""
    open_ones = {"turn.success.text": finding(5, 1, 9, 0.06), "turn.success.tool": finding(5, -1, 9, 0.04)}
    assert "no difference in turns is clear" in verdict(open_ones)


def test_an_interval_without_zero_beside_an_open_verdict_is_explained() -> None:
    """What is called open although its interval leaves zero out was so by the correction, which is said."""
    open_one = {"pass^1": finding(-40, -70, -5, 0.12), "reward": finding(-40, -70, -5, 0.12)}
    assert verdict(open_one) == (
        "pass^1 -40.0, reward -40.0: no difference is clear (95% interval -70.0 to -5.0, but p is 0.120 when corrected "
        "for all that is compared)"
    )


def test_missing_figures_are_spoken_for_or_left_out() -> None:
    """ROUGE, exact calls and completion stand in; a figure without units says nothing; nothing at all is said."""
    stand_ins = {"text.rouge1": TEXT, "strict.exact": TOOL, "replay.completed": finding(-0.04, -4.8, 4.8, 1)}
    assert verdict(stand_ins).startswith("text +25.2, tool +5.9, workflow +0.0: turn gains did not transfer")
    assert verdict({"turn.success": TEXT}) == "all +25.2: all turns got better; no workflow figure to hold that against"
    empty = Finding(Difference(value=None, n=0, clusters=0), None)
    assert verdict({"turn.success.text": empty}) == "nothing to compare"
    assert verdict({"turn.success.text": TEXT, "turn.success.tool": empty}) == (
        "text +25.2: text turns got better; no workflow figure to hold that against"
    )
