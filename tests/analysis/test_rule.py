"""Gate rules from TOML: what is read, and one clear line for everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.analysis.rule import Rule, parse, read
from turngap.errors import DataError


def _one(body: str) -> Rule:
    return parse(f"[[rule]]\n{body}\n")[0]


def _refusal(text: str) -> str:
    with pytest.raises(DataError) as caught:
        parse(text, file="gate.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_rules_are_read_in_order(tmp_path: Path) -> None:
    """Each table becomes a rule with its one bound; a byte order mark does not matter."""
    file = tmp_path / "gate.toml"
    text = """
[[rule]]
metric = "workflow.success"
min = 0.4
confidence = 0.95

[[rule]]
metric = "turn.success@openai/my-judge"
max_drop = 0
max_errored = 3

[[rule]]
metric = "strict.spurious"
max = 1
"""
    file.write_text(text, encoding="utf-8-sig")
    assert read(file) == (
        Rule(metric="workflow.success", min=0.4, confidence=0.95),
        Rule(metric="turn.success@openai/my-judge", max_drop=0.0, max_errored=3),
        Rule(metric="strict.spurious", max=1.0),
    )


def test_titles_say_the_rule_in_words() -> None:
    """A title has figure, bound and confidence, with all digits that the file gave."""
    assert _one('metric="workflow.success"\nmin=0.405\nconfidence=0.9').title == (
        "workflow.success at least 40.5%, confidence 90%"
    )
    assert _one('metric="strict.exact"\nmax_drop=0.02').title == "strict.exact drops at most 2 points"
    assert _one('metric="horizon.4"\nmax=0.07').title == "horizon.4 at most 7%"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            'metric = "workflow.sucess"\nmin = 0.4',
            "rule 1: metric: unknown figure 'workflow.sucess'; did you mean workflow.success",
        ),
        ('metric = "accuracy"\nmin = 0.4', "unknown figure 'accuracy'; known: text.rouge1, "),
        ('metric = "horizon.0"\nmin = 0.4', "unknown figure 'horizon.0'; did you mean horizon.8"),
        ('metric = "replay.steps"\nmax = 0.4', "counts per conversation and is no fraction"),
        ('metric = "strict.exact@judge"\nmin = 0.4', "@JUDGE goes with figures of turn and workflow only"),
        ('metric = "turn.success@"\nmin = 0.4', "names a judge"),
        ("metric = 3\nmin = 0.4", "a name in quotes is wanted, not 3"),
        ("min = 0.4", "rule 1: metric: is missing"),
        ('metric = "turn.success"', "needs exactly one of min, max, max_drop, and has none"),
        ('metric = "turn.success"\nmin = 0.1\nmax = 0.2', "and has min and max; write two rules for two bounds"),
        ('metric = "turn.success"\nmim = 0.1', "rule 1: mim: unknown key; did you mean min"),
        ('metric = "turn.success"\nmin = "0.1"', "rule 1: min: a number is wanted, not '0.1'"),
        ('metric = "turn.success"\nmin = true', "a number is wanted, not True"),
        ('metric = "turn.success"\nmin = 40', "40 cannot be: figures are fractions in [0, 1]; for 40% write 0.4"),
        ('metric = "turn.success"\nmax_drop = -0.1', "-0.1 cannot be"),
        ('metric = "turn.success"\nmin = nan', "nan cannot be"),
        ('metric = "turn.success"\nmin = inf', "inf cannot be"),
        ('metric = "turn.success"\nmin = 0.1\nconfidence = 95', "for 95% write 0.95"),
        (
            'metric = "turn.success"\nmin = 0.1\nconfidence = 1.0',
            "rule 1: confidence: 1 cannot be: it is between 0.5 and 0.999",
        ),
        ('metric = "turn.success"\nmin = 0.1\nmax_errored = 1.5', "a number of units is wanted, 0 or more, not 1.5"),
        ('metric = "turn.success"\nmin = 0.1\nmax_errored = -1', "0 or more, not -1"),
        ('metric = "strict.spurious"\nmax_drop = 0.1', "since less is better; set max instead"),
    ],
)
def test_what_is_wrong_with_a_rule_is_one_line(body: str, said: str) -> None:
    """File, line, rule, key and what to do."""
    message = _refusal(f"# a comment\n[[rule]]\n{body}\n")
    assert message.startswith("gate.toml:2: rule 1")
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "gate.toml: no rules: a gate needs at least one [[rule]] table"),
        ("rule = []", "no rules"),
        ('[[rules]]\nmetric = "turn.success"', "unknown key 'rules'; did you mean rule?"),
        ('[rule]\nmetric = "turn.success"', "rules are [[rule]] tables, with two brackets"),
        ("[[rule]\n", "not TOML: "),
        ("min = 0.4", "unknown key 'min'; a gate has [[rule]] tables only"),
    ],
)
def test_what_is_wrong_with_the_file_is_one_line(text: str, said: str) -> None:
    """A file without rules, or with anything else in it, is no gate."""
    assert said in _refusal(text)


def test_a_rule_stands_once() -> None:
    """The same rule twice is a slip; the same figure with another bound or confidence is not."""
    one = '[[rule]]\nmetric = "turn.success"\nmin = 0.5\n'
    assert "gate.toml:4: rule 2: 'turn.success at least 50%' stands here twice" in _refusal(one + one)
    assert len(parse(one + one + "confidence = 0.9\n")) == 2


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """A missing file, and one that is not UTF-8."""
    with pytest.raises(DataError, match=r"none\.toml: cannot be read"):
        read(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"# \xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read(tmp_path / "bad.toml")


@given(st.text(max_size=60))
def test_any_text_is_rules_or_one_line(text: str) -> None:
    """Whatever stands in the file, the answer is rules or a DataError of one line."""
    try:
        rules = parse(text)
    except DataError as error:
        message = str(error)
    else:
        message = rules[0].title
    assert message
    assert "\n" not in message
