"""From stored predictions, replays and verdicts to score rows; one pass a scorer, so that memory stays small.

How each protocol was scored is noted beside the scores (`scored_with`), since a run can be scored again in other ways:
by whom, with which tool parser and comparison. Closed loops are always those that the run was made with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap.config import EvalConfig
from turngap.data import Cause, Conversation, Decision, Failure, Prediction, Score, decisions
from turngap.judges.base import Judge
from turngap.metrics.matching import Matcher
from turngap.models.reading import reparse
from turngap.protocols import horizon, replay, strict, text, turn, workflow
from turngap.runs.store import RunStore

_MISSING = Failure(
    cause=Cause.HARNESS, reason="the run was interrupted before this unit; resume it", kind="NotRun", attempts=0
)


def matcher_for(conversation: Conversation, config: EvalConfig) -> Matcher:
    """The matcher of one conversation's tools."""
    return Matcher(conversation.tools, config.match, conversation.compare_args)


def predictions_of(store: RunStore, conversation: Conversation, config: EvalConfig) -> dict[int, Prediction | Failure]:
    """The stored predictions of a conversation, read with the tool parser of `config`."""
    known = store.predictions(conversation.id)
    parser = config.model.tool_parser
    if parser == store.config.model.tool_parser:
        return known
    return {index: _read_again(result, conversation, parser) for index, result in known.items()}


def _read_again(result: Prediction | Failure, conversation: Conversation, parser: str) -> Prediction | Failure:
    if isinstance(result, Failure) or not result.raw:
        return result
    reading = reparse(result.raw, conversation.tools, parser)
    return msgspec.structs.replace(result, message=reading.message, dialect=reading.dialect, notes=reading.notes)


def score_all(store: RunStore, judges: Sequence[str], config: EvalConfig) -> None:
    """Replace the scores of every protocol in `config` by those of what is stored now.

    Args:
        store: the run.
        judges: labels of the judges whose verdicts are scored.
        config: protocols and how they compare.
    """
    if "text" in config.protocols:
        store.replace_scores("text", _text_scores(store, config))
    if "strict" in config.protocols:
        store.replace_scores("strict", _strict_scores(store, config))
    if "replay" in config.protocols:
        store.replace_scores("replay", _replay_scores(store))
    if "horizon" in config.protocols:
        store.replace_scores("horizon", _horizon_scores(store, config.horizon.max))
    for judge in judges:
        if "turn" in config.protocols:
            store.replace_scores(f"turn:{judge}", _turn_scores(store, judge, config))
        if "workflow" in config.protocols:
            store.replace_scores(f"workflow:{judge}", _workflow_scores(store, judge))


def note_scoring(store: RunStore, judges: Sequence[Judge], config: EvalConfig) -> None:
    """Note how the protocols of `config` were scored; what is noted of the others stays.

    Args:
        store: the run.
        judges: those whose verdicts give the figures, the first one those without ``@``.
        config: as for `score_all`.
    """
    before = store.note("scoring", {})
    how: dict[str, dict[str, Any]] = {
        "text": {"tool_parser": config.model.tool_parser, "text": config.text},
        "strict": {"tool_parser": config.model.tool_parser, "match": config.match},
        "turn": {"tool_parser": config.model.tool_parser, "judges": [judge.label for judge in judges]},
        "workflow": {"judges": [judge.label for judge in judges]},
    }
    noted = {name: value for name, value in how.items() if name in config.protocols}
    identities = {judge.label: judge.identity() for judge in judges}
    store.set_note(
        "scoring",
        {
            "judges": {**before.get("judges", {}), **identities},
            "protocols": {**before.get("protocols", {}), **noted},
        },
    )


def scored_with(store: RunStore, protocol: str) -> dict[str, Any]:
    """How a protocol was scored, as plain values, each there where it matters to the protocol.

    ``tool_parser`` (by which calls in answers were read), ``match``, ``text``, and ``judges``: the labels of those
    whose verdicts give the figures, in order, which is absent where nobody judged yet. Of a run that was never
    scored, what its configuration says.
    """
    config = store.config
    found: dict[str, Any] = {"tool_parser": config.model.tool_parser}
    if protocol == "text":
        found["text"] = msgspec.to_builtins(config.text)
    elif protocol != "turn":
        found["match"] = msgspec.to_builtins(config.match)
    scoring = store.note("scoring", {})
    if "protocols" not in scoring:  # an older note, which is one for all protocols
        return {**found, **{name: scoring[name] for name in found if name in scoring}}
    noted: dict[str, Any] = scoring["protocols"].get(protocol, {})
    return {**found, **noted}


def _predicted(
    store: RunStore, config: EvalConfig
) -> Iterator[tuple[Conversation, list[tuple[Decision, Prediction | Failure]]]]:
    """Each conversation with its decisions and what was predicted for them."""
    for conversation in store.conversations():
        known = predictions_of(store, conversation, config)
        yield conversation, [(decision, known.get(decision.index, _MISSING)) for decision in decisions(conversation)]


def _text_scores(store: RunStore, config: EvalConfig) -> Iterator[Score]:
    for conversation, results in _predicted(store, config):
        for decision, result in results:
            if decision.kind == "text":
                yield text.score(conversation, decision, result, config.text)


def _strict_scores(store: RunStore, config: EvalConfig) -> Iterator[Score]:
    for conversation, results in _predicted(store, config):
        matcher = matcher_for(conversation, config)
        for decision, result in results:
            yield strict.score(conversation, decision, result, matcher)


def _turn_scores(store: RunStore, judge: str, config: EvalConfig) -> Iterator[Score]:
    for conversation, results in _predicted(store, config):
        verdicts = store.verdicts(judge, "turn", conversation.id)
        for decision, result in results:
            _, verdict = verdicts.get(decision.index, ("", None))
            yield turn.score(conversation, decision, result, verdict)


def _replay_scores(store: RunStore) -> Iterator[Score]:
    for conversation in store.conversations():
        yield replay.score(conversation, store.trajectory(conversation.id) or _MISSING)


def _horizon_scores(store: RunStore, most: int) -> Iterator[Score]:
    for conversation in store.conversations():
        known = store.horizon(conversation.id, most)
        counted = horizon.starts(conversation)
        for place, start in enumerate(counted):
            yield horizon.score(conversation, counted[place:], known.get(start.index, _MISSING), most)


def _workflow_scores(store: RunStore, judge: str) -> Iterator[Score]:
    for conversation in store.conversations():
        _, verdict = store.verdicts(judge, "workflow", conversation.id).get(None, ("", None))
        yield workflow.score(conversation, store.trajectory(conversation.id) or _MISSING, verdict)
