"""What a run says in numbers: figures, intervals, ledgers, agreement; checked against plain Python."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap import jsonio
from turngap.analysis.figure import plain_name
from turngap.analysis.scorer import headline
from turngap.analysis.summary import LEDGERS, summarise, to_document
from turngap.config import DataConfig, EvalConfig, JudgeConfig, MatchConfig, ModelConfig
from turngap.data import (
    AssistantMessage,
    Cause,
    Conversation,
    Score,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    Verdict,
    decisions,
)
from turngap.errors import HarnessFault
from turngap.runs.store import RunStore


def _conversation(name: str, kinds: str) -> Conversation:
    """A conversation whose decisions are the letters of `kinds`: t (text) or c (call)."""
    messages: list[Any] = []
    for kind in kinds:
        if kind == "t":
            messages += [UserMessage(content="hello"), AssistantMessage(content="good day")]
        else:
            messages += [
                UserMessage(content="look"),
                AssistantMessage(calls=(ToolCall(name="look", arguments={}),)),
                ToolMessage(name="look", content="{}"),
            ]
    return Conversation(id=name, messages=tuple(messages))


def _config(*judges: str) -> EvalConfig:
    return EvalConfig(
        data=DataConfig(paths=("logs.jsonl",)),
        model=ModelConfig(spec="baseline/reference"),
        judge=JudgeConfig(specs=judges or ("rules",)),
    )


def _scored(protocol: str, conversation: str, decision: int | None, kind: str, good: bool, /, **values: float) -> Score:
    return Score(
        protocol=protocol,
        conversation=conversation,
        decision=decision,
        kind=kind,
        success=good,
        cause=None if good else Cause.WRONG,
        values=values,
        category="default" if protocol == "text" else "",
    )


def _errored(protocol: str, conversation: str, decision: int | None, kind: str, cause: Cause) -> Score:
    return Score(
        protocol=protocol,
        conversation=conversation,
        decision=decision,
        kind=kind,
        success=False,
        cause=cause,
        detail="server answered 503",
    )


def _random_scores(conversations: Iterable[Conversation], seed: int) -> dict[str, list[Score]]:
    draw = random.Random(seed)
    found: dict[str, list[Score]] = {name: [] for name in ("text", "turn:rules", "strict", "replay", "workflow:rules")}
    for conversation in conversations:
        kind_of_all = "chat"
        for decision in decisions(conversation):
            place = (conversation.id, decision.index, decision.kind)
            kind_of_all = "tools" if decision.kind == "tool" else kind_of_all
            if draw.random() < 0.05:
                found["turn:rules"].append(_errored("turn", *place, Cause.ENDPOINT))
                found["strict"].append(_errored("strict", *place, Cause.ENDPOINT))
                if decision.kind == "text":
                    found["text"].append(_errored("text", *place, Cause.ENDPOINT))
                continue
            if decision.kind == "text":
                found["text"].append(_scored("text", *place, True, rouge1=draw.random(), rouge2=0.1, rougeL=0.2))
                spurious = draw.random() < 0.1
                found["strict"].append(_scored("strict", *place, not spurious, spurious=float(spurious)))
            else:
                exact = draw.random() < 0.6
                predicted, reference = draw.randint(1, 5), draw.randint(1, 5)
                matched = draw.randint(0, min(predicted, reference))
                found["strict"].append(
                    _scored(
                        "strict",
                        *place,
                        exact,
                        exact=float(exact),
                        name=float(exact or draw.random() < 0.5),
                        arg_f1=2 * matched / (predicted + reference),
                        arg_tp=float(matched),
                        arg_pred=float(predicted),
                        arg_ref=float(reference),
                    )
                )
            good = draw.random() < 0.7
            found["turn:rules"].append(_scored("turn", *place, good, success=float(good)))
        place_all = (conversation.id, None, kind_of_all)
        done = draw.random() < 0.5
        counts = {"steps": 5.0, "rejected": float(draw.randint(0, 3)), "recovered": 0.0}
        found["replay"].append(_scored("replay", *place_all, done, completed=float(done), **counts))
        met = done and draw.random() < 0.8
        found["workflow:rules"].append(_scored("workflow", *place_all, met, success=float(met)))
    return found


def _fill(
    directory: Path,
    conversations: list[Conversation],
    scores: dict[str, list[Score]],
    config: EvalConfig | None = None,
) -> RunStore:
    store = RunStore.create(directory, config or _config())
    store.add_conversations(conversations)
    for scorer, rows in scores.items():
        store.replace_scores(scorer, rows)
    store.set_note("state", "finished")
    return store


def _fifty() -> list[Conversation]:
    draw = random.Random(7)
    return [_conversation(f"c{at:02}", "".join(draw.choices("ttc", k=draw.randint(1, 9)))) for at in range(50)]


def _wilson(successes: int, n: int) -> tuple[float, float]:
    z = 1.959963984540054
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def test_figures_equal_a_plain_recomputation(tmp_path: Path) -> None:
    """Shares, means and pooled ratios equal sums written out by hand, over the measured units only."""
    conversations = _fifty()
    scores = _random_scores(conversations, 3)
    with _fill(tmp_path / "run", conversations, scores) as store:
        found = summarise(store).metrics

    def column(scorer: str, kinds: str, value: str) -> list[float]:
        return [row.values[value] for row in scores[scorer] if row.kind in kinds.split("|") and value in row.values]

    shares = {
        "turn.success": ("turn:rules", "text|tool", "success"),
        "turn.success.text": ("turn:rules", "text", "success"),
        "turn.success.tool": ("turn:rules", "tool", "success"),
        "strict.exact": ("strict", "tool", "exact"),
        "strict.name": ("strict", "tool", "name"),
        "strict.spurious": ("strict", "text", "spurious"),
        "replay.completed": ("replay", "tools", "completed"),
        "replay.completed.all": ("replay", "tools|chat", "completed"),
        "workflow.success": ("workflow:rules", "tools", "success"),
        "workflow.success.all": ("workflow:rules", "tools|chat", "success"),
    }
    for name, where in shares.items():
        values = column(*where)
        assert found[name].n == len(values)
        assert found[name].value == pytest.approx(sum(values) / len(values), abs=1e-12)
        assert found[name].ci95 == pytest.approx(_wilson(int(sum(values)), len(values)), abs=1e-9)
    for name, value in (("text.rouge1", "rouge1"), ("text.rouge2", "rouge2"), ("text.rougeL", "rougeL")):
        values = column("text", "text", value)
        assert found[name].n == len(values)
        assert found[name].value == pytest.approx(sum(values) / len(values), abs=1e-12)
    values = column("strict", "tool", "arg_f1")
    assert found["strict.arg_f1"].value == pytest.approx(sum(values) / len(values), abs=1e-12)
    pooled = 2 * sum(column("strict", "tool", "arg_tp"))
    pooled /= sum(column("strict", "tool", "arg_pred")) + sum(column("strict", "tool", "arg_ref"))
    assert found["strict.arg_f1.micro"].value == pytest.approx(pooled, abs=1e-12)
    low, high = found["strict.arg_f1.micro"].ci95 or (1.0, 0.0)
    assert low < pooled < high


def test_all_turn_figure_is_the_decision_weighted_mean(tmp_path: Path) -> None:
    """376 text turns at 33.2% and 166 tool turns at 17.8% make 28.5% of all turns, not the mean of the two."""
    conversation = _conversation("long", "t" * 376 + "c" * 166)
    rows = [
        _scored("turn", "long", at, "text" if at < 376 else "tool", good, success=float(good))
        for at in range(542)
        for good in [at < 125 or 376 <= at < 376 + 30]
    ]
    with _fill(tmp_path / "run", [conversation], {"turn:rules": rows}) as store:
        found = summarise(store).metrics
    assert found["turn.success"].value == pytest.approx(155 / 542)
    assert (found["turn.success.text"].n, found["turn.success.tool"].n, found["turn.success"].n) == (376, 166, 542)


def test_sizes_are_those_of_the_data(tmp_path: Path) -> None:
    """The n block counts the data, also when only one protocol was scored; an errored unit counts once."""
    conversations = [_conversation("a", "tct"), _conversation("b", "t")]
    place = ("a", 0, "text")
    scores = {
        "text": [_errored("text", *place, Cause.ENDPOINT), _scored("text", "a", 2, "text", True, rouge1=0.5)],
        "strict": [_errored("strict", *place, Cause.ENDPOINT)],
    }
    with _fill(tmp_path / "run", conversations, scores) as store:
        summary = summarise(store)
    assert summary.n == {
        "conversations": 2,
        "tool_conversations": 1,
        "decisions": 4,
        "text_decisions": 3,
        "tool_decisions": 1,
        "errored": 1,
    }
    assert summary.missing == {"strict": 3, "text": 1}
    assert any("partial run" in note for note in summary.notes)
    assert "errored, 1 x endpoint: server answered 503" in summary.notes


def test_sta_07_a_figure_without_units_is_null(tmp_path: Path) -> None:
    """STA-07: text decisions only, or a tool decision that is errored: null with n 0, never 0 and never NaN."""
    scores = {
        "strict": [
            _scored("strict", "a", 0, "text", True, spurious=0.0),
            _errored("strict", "a", 1, "tool", Cause.ENDPOINT),
        ],
        "replay": [_scored("replay", "b", None, "chat", True, completed=1.0, steps=1.0, rejected=0.0, recovered=0.0)],
    }
    with _fill(tmp_path / "run", [_conversation("a", "tc"), _conversation("b", "t")], scores) as store:
        document = json.loads(jsonio.dumps(to_document(summarise(store))), parse_constant=pytest.fail)
    empty = {"value": None, "n": 0, "ci95": None}
    for name in ("strict.exact", "strict.arg_f1", "strict.arg_f1.micro", "replay.completed", "turn.success"):
        assert document["metrics"][name] == empty
    assert document["metrics"]["replay.completed.all"]["value"] == 1.0
    assert document["metrics"]["strict.spurious"]["value"] == 0.0


def test_sta_02_errored_units_are_shown_beside_a_small_n(tmp_path: Path) -> None:
    """STA-02: one success and 39 errored units give 1 of 1, with the 39 said."""
    conversations = [_conversation(f"c{at}", "c") for at in range(40)]
    rows = [_scored("replay", "c0", None, "tools", True, completed=1.0, steps=1.0, rejected=0.0, recovered=0.0)]
    rows += [_errored("replay", f"c{at}", None, "tools", Cause.ENDPOINT) for at in range(1, 40)]
    with _fill(tmp_path / "run", conversations, {"replay": rows}) as store:
        summary = summarise(store)
    assert (summary.metrics["replay.completed"].value, summary.metrics["replay.completed"].n) == (1.0, 1)
    assert summary.n["errored"] == 39
    assert summary.ledger["replay"].causes["endpoint"] == 39


def test_every_ledger_adds_up_to_its_figure(tmp_path: Path) -> None:
    """Successes and causes make the units; less the errored they are the figure's n, and successes its value."""
    conversations = _fifty()
    with _fill(tmp_path / "run", conversations, _random_scores(conversations, 11)) as store:
        summary = summarise(store)
    assert list(summary.ledger) == [name for name in LEDGERS if name != "horizon"]
    for name, book in summary.ledger.items():
        figure = summary.metrics[LEDGERS[name]]
        assert book.success + sum(book.causes.values()) == book.units
        assert book.units - book.errored == figure.n
        if name not in ("text", "strict.text"):
            assert figure.value == pytest.approx(book.success / figure.n)
    assert summary.ledger["turn"].units == summary.n["decisions"]
    assert summary.ledger["strict"].units == summary.n["tool_decisions"]
    assert summary.ledger["strict.text"].units == summary.n["text_decisions"]
    assert summary.ledger["workflow"].units == summary.n["conversations"]


@pytest.mark.parametrize(("success", "cause"), [(True, Cause.WRONG), (False, None)])
def test_a_score_without_its_one_cause_is_an_internal_error(tmp_path: Path, success: bool, cause: Cause | None) -> None:
    """A unit that is neither a success nor blamed on anybody is refused, not dropped."""
    row = Score(protocol="strict", conversation="a", decision=0, kind="text", success=success, cause=cause)
    with (
        _fill(tmp_path / "run", [_conversation("a", "t")], {"strict": [row]}) as store,
        pytest.raises(HarnessFault, match="cause"),
    ):
        summarise(store)


def test_a_ledger_that_does_not_add_up_is_an_internal_error(tmp_path: Path) -> None:
    """A measured unit without the value of its figure breaks the sum, and is refused."""
    row = _scored("strict", "a", 0, "tool", True, name=1.0)
    with (
        _fill(tmp_path / "run", [_conversation("a", "c")], {"strict": [row]}) as store,
        pytest.raises(HarnessFault, match="ledger strict"),
    ):
        summarise(store)


def test_the_document_does_not_depend_on_the_order_of_storing(tmp_path: Path) -> None:
    """RUN-12: the same scores stored in another order give the same bytes; another seed moves only bootstrap intervals."""
    conversations = _fifty()
    scores = _random_scores(conversations, 5)
    shuffled = {name: random.Random(1).sample(rows, len(rows)) for name, rows in reversed(scores.items())}
    with (
        _fill(tmp_path / "one", conversations, scores) as one,
        _fill(tmp_path / "two", conversations, shuffled) as two,
    ):
        first, second = (jsonio.dumps(to_document(summarise(store, seed=4))) for store in (one, two))
        other = summarise(one, seed=5)
        assert first == second
        assert other.metrics["text.rouge1"].value == summarise(one, seed=4).metrics["text.rouge1"].value


def test_several_judges_stand_beside_each_other(tmp_path: Path) -> None:
    """The first judge of the run gives the plain names, the second has its name behind @, and kappa says how they agree."""
    conversation = _conversation("a", "t" * 10)
    ours = [at < 6 for at in range(10)]
    theirs = [at < 5 for at in range(10)]
    scores = {
        f"turn:{judge}": [
            _scored("turn", "a", at, "text", good, success=float(good)) for at, good in enumerate(verdicts)
        ]
        for judge, verdicts in (("alpha", theirs), ("rules", ours))
    }
    with _fill(tmp_path / "run", [conversation], scores, _config("rules", "openai/alpha")) as store:
        for at in range(10):
            store.put_verdict("alpha", "turn", "a", at, Verdict(success=theirs[at], asks=1 + (at == 3)), "k")
        summary = summarise(store)
    assert summary.judges == {"turn": ("rules", "alpha")}
    assert summary.metrics["turn.success"].value == 0.6
    assert summary.metrics["turn.success@alpha"].value == 0.5
    assert list(summary.ledger) == ["turn", "turn@alpha"]
    agreement = summary.agreement["turn"]
    assert (agreement.judges, agreement.n, agreement.observed) == (("rules", "alpha"), 10, 0.9)
    expected_by_chance = 0.6 * 0.5 + 0.4 * 0.5
    assert agreement.kappa == pytest.approx((0.9 - expected_by_chance) / (1 - expected_by_chance))
    again = summary.asked_again["turn@alpha"]
    assert (again.n, again.first_try_n) == (1, 9)
    assert (again.success, again.first_try_success) == (theirs[3], (sum(theirs) - theirs[3]) / 9)


def test_three_judges_agree_by_fleiss(tmp_path: Path) -> None:
    """With three judges the kappa is Fleiss', over the units that all three judged."""
    conversation = _conversation("a", "tttt")
    verdicts = {"x": (1, 1, 0, 0), "y": (1, 1, 0, 1), "z": (1, 0, 0, 0)}
    scores = {
        f"turn:{judge}": [
            _scored("turn", "a", at, "text", bool(good), success=float(good)) for at, good in enumerate(row)
        ]
        for judge, row in verdicts.items()
    }
    scores["turn:z"][3] = _errored("turn", "a", 3, "text", Cause.JUDGE)
    with _fill(tmp_path / "run", [conversation], scores, _config("x", "y", "z")) as store:
        agreement = summarise(store).agreement["turn"]
    # Three units, yes-counts 3, 2, 0: observed (1 + 1/3 + 1) / 3, by chance (5/9)^2 + (4/9)^2.
    observed, chance = (1 + 1 / 3 + 1) / 3, (25 + 16) / 81
    assert agreement.n == 3
    assert agreement.kappa == pytest.approx((observed - chance) / (1 - chance))


def test_notes_say_what_was_left_out(tmp_path: Path) -> None:
    """ING-19: skipped records and unsuccessful conversations are said; tokenizers, where they were not all alike."""
    row = _scored("text", "a", 0, "text", True, rouge1=1.0)
    with _fill(tmp_path / "run", [_conversation("a", "tt")], {"text": [row]}) as store:
        store.set_note("data", {"read": 8, "skipped": 2, "unsuccessful": 3})
        notes = summarise(store).notes
        other = msgspec.structs.replace(row, decision=1, category="unicode")
        store.replace_scores("text", [row, other])
        mixed = summarise(store).notes
    left_out = (
        "data: 8 records read, 2 could not be read and were left out",
        "3 conversations that the recording does not mark as successful were left out",
    )
    assert notes == (*left_out, "partial run: no score yet for 1 of text")
    assert mixed == (*left_out, "text turns scored: 1 by the default tokenizer, 1 by the unicode tokenizer")


def _verdicts(good: bool) -> list[Score]:
    return [_scored("turn", "a", at, "text", good, success=float(good)) for at in range(4)]


def test_only_the_judges_that_were_named_last_give_figures(tmp_path: Path) -> None:
    """The first one named gives the plain names; whoever was not named stays stored, and is said to be."""
    scores = {"turn:rules": _verdicts(False), "turn:b": _verdicts(True), "turn:c": _verdicts(False)}
    with _fill(tmp_path / "run", [_conversation("a", "tttt")], scores) as store:
        store.set_note("spending", {"judges": {"b": {"prompt_tokens": 1}, "c": {"prompt_tokens": 1}}})
        store.set_note("scoring", {"protocols": {"turn": {"judges": ["b"]}}})
        alone = summarise(store)
        store.set_note("scoring", {"protocols": {"turn": {"judges": ["b", "rules"]}}})
        two = summarise(store)
        assert headline(store, "turn") == "turn:b"
    assert (alone.judges, alone.metrics["turn.success"].value) == ({"turn": ("b",)}, 1.0)
    assert list(alone.ledger) == ["turn"]
    assert not [name for name in alone.metrics if "@" in name]
    assert list(alone.spending.judges) == ["b"]
    assert any(note.startswith("also stored, and in no figure: turn@rules, turn@c") for note in alone.notes)
    assert two.judges == {"turn": ("b", "rules")}
    assert (two.metrics["turn.success"].value, two.metrics["turn.success@rules"].value) == (1.0, 0.0)
    assert plain_name("turn.success@b", two.judges) == "turn.success"
    assert plain_name("turn@rules", two.judges) == "turn@rules"


def test_with_several_judges_each_has_its_name_in_the_document(tmp_path: Path) -> None:
    """Figures and ledgers of the first judge stand under the plain name and under its own; one judge has one name."""
    scores = {"turn:rules": _verdicts(False), "turn:b": _verdicts(True)}
    with _fill(tmp_path / "run", [_conversation("a", "tttt")], scores, _config("rules", "b")) as store:
        document = to_document(summarise(store))
        store.set_note("scoring", {"protocols": {"turn": {"judges": ["rules"]}}})
        single = to_document(summarise(store))
    for table in ("metrics", "ledger"):
        name = "turn.success" if table == "metrics" else "turn"
        assert document[table][f"{name}@rules"] == document[table][name] != document[table][f"{name}@b"]
        assert not [key for key in single[table] if "@" in key]


def test_answers_that_look_like_unread_calls_are_noted_with_the_parser(tmp_path: Path) -> None:
    """The warning of the run stands in notes and document: on recorded history and in closed loops apart."""
    with _fill(tmp_path / "run", [_conversation("a", "t")], {}) as store:
        answers = {
            "gold": {"total": 9, "unparsed_calls": 2, "tool_parser": "json"},
            "closed_loops": {"total": 7, "unparsed_calls": 0, "tool_parser": "auto"},
        }
        store.set_note("answers", answers)
        document = to_document(summarise(store))
    assert document["answers"] == answers
    assert list(document["notes"]) == [
        (
            "2 of 9 answers on recorded history look like tool calls that the parser 'json' did not read; "
            "try another: turngap score RUN --tool-parser NAME"
        )
    ]


def test_a_parser_that_read_only_some_answers_is_said(tmp_path: Path) -> None:
    """Re-read predictions beside closed loops of the old parser: the document and two notes say so."""
    rows = {
        "strict": [_scored("strict", "a", 0, "text", True, spurious=0.0)],
        "replay": [_scored("replay", "a", None, "chat", True, completed=1.0, steps=1.0, rejected=0.0, recovered=0.0)],
    }
    with _fill(tmp_path / "run", [_conversation("a", "t")], rows) as store:
        before = summarise(store)
        store.set_note("scoring", {"protocols": {"strict": {"tool_parser": "json"}}})
        after = summarise(store)
    assert (before.tool_parser, before.notes) == ({"strict": "auto", "replay": "auto"}, ())
    assert after.tool_parser == {"strict": "json", "replay": "auto"}
    assert after.notes == (
        (
            "calls in answers were read by different tool parsers, so these do not compare: strict with 'json'; replay with "
            "'auto'"
        ),
        (
            "closed loops (replay, workflow, horizon) are those made with the tool parser 'auto'; reading answers again does "
            "not change them"
        ),
    )


def test_other_comparisons_of_strict_are_said(tmp_path: Path) -> None:
    """Arguments that do not count any more, and closed loops that were compared with all of them."""
    rows = {
        "strict": [_scored("strict", "a", 0, "text", True, spurious=0.0)],
        "replay": [_scored("replay", "a", None, "chat", True, completed=1.0, steps=1.0, rejected=0.0, recovered=0.0)],
    }
    match = MatchConfig(compare_args={"look": (), "move": ("to",)})
    with _fill(tmp_path / "run", [_conversation("a", "t")], rows) as store:
        store.set_note("scoring", {"protocols": {"strict": {"match": match}}})
        notes = summarise(store).notes
    assert notes[0] == "calls were compared by these arguments only: look (its name alone), move (to)"
    assert "match.compare_args" in notes[1]


def test_a_model_that_was_offered_no_tools_is_said_to_be(tmp_path: Path) -> None:
    """A language model on recordings without schemas: a note with both counts; a baseline needs no tools."""
    tooled = msgspec.structs.replace(_conversation("b", "c"), tools=(ToolSpec(name="look", parameters={}),))
    conversations = [_conversation("a", "ct"), tooled, _conversation("d", "t"), _conversation("e", "c")]
    live = msgspec.structs.replace(_config(), model=ModelConfig(spec="openai/m"))
    with _fill(tmp_path / "live", conversations, {}, live) as store:
        notes = summarise(store).notes
    with _fill(tmp_path / "baseline", conversations, {}) as store:
        assert summarise(store).notes == ()
    assert notes == (
        (
            "the model was offered no tools in 2 of 3 conversations with calls: their tool figures say nothing about it; "
            "give --tools FILE"
        ),
    )


def test_fractions_stand_in_metrics_and_counts_apart(tmp_path: Path) -> None:
    """Every value of `metrics` is in [0, 1]; means of counts stand in `per_conversation`."""
    conversations = _fifty()
    scores = _random_scores(conversations, 2)
    with _fill(tmp_path / "run", conversations, scores) as store:
        summary = summarise(store)
    for figure in summary.metrics.values():
        assert figure.value is None or 0 <= figure.value <= 1
        assert (figure.value is None) == (figure.n == 0) == (figure.ci95 is None)
    rejected = [row.values["rejected"] for row in scores["replay"]]
    assert summary.per_conversation["replay.rejected"].value == pytest.approx(sum(rejected) / len(rejected))


def test_reasons_that_differ_in_numbers_alone_count_as_one(tmp_path: Path) -> None:
    """The most frequent reasons of errored units are named, with one example for those that are alike."""
    conversation = _conversation("a", "tttttt")
    rows = [
        Score(
            protocol="turn",
            conversation="a",
            decision=at,
            kind="text",
            success=False,
            cause=Cause.ENDPOINT,
            detail=f"503; given up after {at % 2 + 2} requests" if at < 5 else "connection refused",
        )
        for at in range(6)
    ]
    with _fill(tmp_path / "run", [conversation], {"turn:rules": rows}) as store:
        notes = summarise(store).notes
    assert notes == (
        "errored, 5 x endpoint: 503; given up after 2 requests",
        "errored, 1 x endpoint: connection refused",
    )
