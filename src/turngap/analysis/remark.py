"""Sentences that a reader needs beside the figures of a run: what was left out, read, scored or spent in which way.

Each function yields whole sentences, and none where there is nothing to say. They stand in `Summary.notes`, and so in
the table and in `metrics.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from turngap.analysis.repair import repair
from turngap.analysis.scorer import unnamed
from turngap.config import differences
from turngap.data import Spending, Usage
from turngap.metrics.rounding import decimals
from turngap.protocols.offer import offer
from turngap.protocols.scoring import scored_with
from turngap.protocols.stock import Answers, unread
from turngap.runs.store import RunStore

_REASONS = 3  # reasons of errored units that are named, the most frequent first
_COMPARING = ("strict", "replay")


def about_reading(store: RunStore, answers: Mapping[str, Answers]) -> Iterator[str]:
    """Why the model may be better than its tool figures: it had no tools, or its calls were not read as such."""
    if warning := offer(store.config.model, store.conversations()).warning:
        yield warning
    yield from unread(answers)


def about_scoring(store: RunStore, tool_parser: Mapping[str, str]) -> Iterator[str]:
    """What was scored in another way than the name of a figure says.

    Args:
        store: the run.
        tool_parser: scored protocol -> by which parser calls in answers were read.
    """
    parsers: dict[str, list[str]] = {}
    for protocol, parser in tool_parser.items():
        parsers.setdefault(parser, []).append(protocol)
    if len(parsers) > 1:
        parts = [f"{', '.join(names)} with {parser!r}" for parser, names in parsers.items()]
        yield f"calls in answers were read by different tool parsers, so these do not compare: {'; '.join(parts)}"
    if "replay" in tool_parser and set(parsers) - {store.config.model.tool_parser}:
        yield (
            f"closed loops (replay, workflow, horizon) are those made with the tool parser "
            f"{store.config.model.tool_parser!r}; reading answers again does not change them"
        )
    strict, replay = (scored_with(store, protocol)["match"] for protocol in _COMPARING)
    compared = strict.get("compare_args", {})
    if compared and "strict" in tool_parser:
        parts = [f"{tool} ({', '.join(names) or 'its name alone'})" for tool, names in compared.items()]
        yield f"calls were compared by these arguments only: {', '.join(parts)}"
    other = differences(strict, replay, "match")
    if other and set(_COMPARING) <= set(tool_parser):
        names = ", ".join(line.partition(":")[0] for line in other)
        yield f"strict was scored with other settings ({names}) than closed loops were made with: they do not compare"
    if left := unnamed(store):
        names = ", ".join(scorer.replace(":", "@") for scorer in left)
        yield f"also stored, and in no figure: {names} (to count, a judge is named: turngap score RUN --judge NAME)"


def about_data(store: RunStore) -> Iterator[str]:
    """Which records and conversations were left out."""
    report = store.note("data", {})
    if skipped := report.get("skipped", 0):
        yield f"data: {report.get('read', 0)} records read, {skipped} could not be read and were left out"
    if unsuccessful := report.get("unsuccessful", 0):
        yield f"{unsuccessful} conversations that the recording does not mark as successful were left out"


def about_spending(spending: Spending) -> Iterator[str]:
    """Tokens and money, of the model and of each judge."""
    usages = {"model": spending.gold + spending.replay, **spending.judges}
    for who, usage in usages.items():
        if usage != Usage():
            cost = "" if usage.cost is None else f", cost {usage.cost:,.4g}"
            yield f"tokens of {who}: {usage.prompt_tokens:,} in, {usage.completion_tokens:,} out{cost}"


def about_errors(reasons: Iterable[str]) -> Iterator[str]:
    """The most frequent reasons of errored units; those that differ in numbers alone (attempts, seconds) are one."""
    groups: dict[str, list[str]] = {}
    for reason in sorted(reasons):
        groups.setdefault(re.sub(r"\d+", "0", reason), []).append(reason)
    ordered = sorted(groups.values(), key=lambda alike: (-len(alike), alike[0]))
    for alike in ordered[:_REASONS]:
        yield f"errored, {len(alike)} x {alike[0]}"


def about_repairs(store: RunStore) -> Iterator[str]:
    """What the repair of the first failure says, where it was asked for."""
    if store.config.replay.after_failure != "repair-first":
        return
    found = repair(store)
    if found.finished.value is not None:
        yield (
            f"repair-first: with the recorded decision put in at the first failure, "
            f"{decimals(100 * found.finished.value)}% of {found.finished.n} failed replays finish (one slip), the "
            "others fail again"
        )
