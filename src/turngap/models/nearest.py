"""``baseline/nearest``: the action of the most similar training context, with slots filled from the current history.

What a retrieval system without any language model can do; a model that is not better has not learned the workflow. It
learns from ``?train=FILE`` or, when none is given, from the other conversations of the file that is being scored. Never
from the one being scored: that one is left out by its id, and so is every copy of it, by content. Leaving out is exact:
the answers are those of a corpus that never held it.

The most similar contexts (`turngap.models.likeness`) are walked from the best on. The first one decides what to do that
calls only tools of the current conversation, whose arguments can all be filled, and whose calls were not made before
with the same arguments. Neighbours that did the same vote on each argument: each traces its value to where it came from
in its history and proposes what stands at that place in the current one (`turngap.models.slots`). Texts are taken over
with their facts exchanged in the same way.

Deterministic; ties are broken by conversation id and decision. The index is built once, at the first request, and holds
at most `MAX_CONTEXTS` decisions.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation, Message, Prediction, ToolCall, ToolSpec, decisions
from turngap.errors import DataError, UsageError
from turngap.models.base import ModelContext, Request
from turngap.models.ground import Ground, Scalar, leaves, signature
from turngap.models.ground import Path as _Path
from turngap.models.likeness import Features, Likeness, describe
from turngap.models.retell import retell
from turngap.models.slots import Constant, Origin, Said, refill, trace
from turngap.models.span import shape_of

MAX_CONTEXTS = 40_000
"""Training decisions that are kept, the first ones of the file: memory has a bound, and more add little."""
NEIGHBOURS = 24
"""Contexts that are looked at for one request."""
VOTERS = 8
"""Neighbours that vote on an argument."""


class _Context(NamedTuple):
    """One training decision."""

    history: tuple[Message, ...]
    action: AssistantMessage


class _Corpus(NamedTuple):
    """Everything that is learned."""

    contexts: list[_Context]
    likeness: Likeness
    contents: dict[str, str]
    """Conversation id -> content digest, also of those beyond the bound."""
    groups: dict[str, set[int]]
    """Content digest -> the groups that hold it."""


class Nearest:
    """A retrieval baseline over recorded conversations."""

    def __init__(
        self,
        training: Callable[[], Iterable[Conversation]],
        *,
        scored: Callable[[], Iterable[Conversation]] = lambda: (),
        source: dict[str, Any] | None = None,
        label: str = "baseline/nearest",
    ) -> None:
        """Prepare; nothing is read before the first request.

        Args:
            training: the conversations to learn from.
            scored: the conversations being scored, so that copies of one of them under another id are left out.
            source: what identifies the training data.
            label: how tables name it.
        """
        self.label = label
        self._training, self._scored, self._source = training, scored, source or {}
        self._corpus: _Corpus | None = None
        self._contents: dict[str, str] = {}
        self._grounds: dict[int, Ground] = {}

    @classmethod
    def from_context(cls, context: ModelContext, *, train: str | None, label: str) -> Nearest:
        """Build from what the factory was given.

        Raises:
            UsageError: a training file is named where none can be read, or an empty name. DataError: it does not exist
                or open.
        """
        if train is None:
            return cls(context.corpus, source={"train": "the other conversations"}, label=label)
        if not train:  # as a path it would be the current folder
            raise UsageError(f"model {label!r}: train= names no file; leave it out to learn from the data themselves")
        load, path = context.load, Path(train)
        if load is None:
            raise UsageError(f"model {label!r}: no training file can be read here")
        if not path.exists():
            raise DataError("there is no such training file", file=train)
        if not (path.is_file() or path.is_dir()):  # a pipe cannot be read twice
            raise DataError("is no regular file (a pipe or a device); save the data to a file first", file=train)
        source = {"train": _fingerprint(path)}
        return cls(lambda: load(path), scored=context.corpus, source=source, label=label)

    def identity(self) -> dict[str, Any]:
        """What it learned from."""
        return {"model": "baseline/nearest", **self._source}

    async def act(self, request: Request) -> Prediction:
        """Answer with a filled action of the most similar contexts; an empty corpus gives an empty answer.

        Raises:
            DataError: the training file cannot be read.
        """
        corpus = self._learn()
        features = describe(request.messages)
        ranked = corpus.likeness.rank(features, without=self._excluded(corpus, request), limit=NEIGHBOURS)
        return Prediction(message=self._choose(corpus, ranked, request))

    async def aclose(self) -> None:
        """Let the index go."""
        self._corpus = None
        self._grounds.clear()

    def _learn(self) -> _Corpus:
        if self._corpus is None:
            self._corpus = _read(self._training())
            self._contents = {conversation.id: _content(conversation) for conversation in self._scored()}
        return self._corpus

    def _excluded(self, corpus: _Corpus, request: Request) -> frozenset[int]:
        """The groups of the conversation being scored: its id, and copies of its content."""
        name = request.seat.conversation
        contents = {corpus.contents.get(name, ""), self._contents.get(name, "")}
        return frozenset(group for content in contents for group in corpus.groups.get(content, ()))

    def _choose(self, corpus: _Corpus, ranked: Sequence[tuple[int, float]], request: Request) -> AssistantMessage:
        known = {tool.name for tool in request.tools}
        usable = [
            (place, likeness)
            for place, likeness in ranked
            if not known or all(call.name in known for call in corpus.contexts[place].action.calls)
        ]
        ground = Ground(request.messages)
        fallback: AssistantMessage | None = None
        for position, (place, _) in enumerate(usable):
            action = corpus.contexts[place].action
            if not action.calls:
                text = retell(action.content, self._ground(corpus, place), ground)
                return AssistantMessage(content=text)
            calls, complete = self._fill(corpus, usable[position:], ground, request.tools)
            if complete:
                return AssistantMessage(calls=calls)
            fallback = fallback or AssistantMessage(calls=calls)
        return fallback or AssistantMessage()

    def _ground(self, corpus: _Corpus, place: int) -> Ground:
        if place not in self._grounds:
            if len(self._grounds) >= 4 * NEIGHBOURS:
                self._grounds.clear()  # neighbours of one conversation recur; those of others rarely do
            self._grounds[place] = Ground(corpus.contexts[place].history)
        return self._grounds[place]

    def _fill(
        self, corpus: _Corpus, usable: Sequence[tuple[int, float]], ground: Ground, tools: Sequence[ToolSpec]
    ) -> tuple[tuple[ToolCall, ...], bool]:
        """The calls of the first context with values for this history, and whether they are complete and new."""
        model = corpus.contexts[usable[0][0]].action.calls
        names = [call.name for call in model]
        voters = [
            (place, likeness)
            for place, likeness in usable
            if [call.name for call in corpus.contexts[place].action.calls] == names
        ][:VOTERS]
        complete = True
        calls: list[ToolCall] = []
        made = set(ground.made)
        for number, call in enumerate(model):
            votes = [
                (corpus.contexts[place].action.calls[number], self._ground(corpus, place), likeness)
                for place, likeness in voters
            ]
            spec = next((tool for tool in tools if tool.name == call.name), ToolSpec(name=call.name))
            filled, whole = _filled(call, votes, ground, made, spec)
            complete &= whole
            calls.append(filled)
            made.add(signature(filled))
        return tuple(calls), complete


def _filled(
    call: ToolCall, votes: Sequence[tuple[ToolCall, Ground, float]], ground: Ground, made: set[str], spec: ToolSpec
) -> tuple[ToolCall, bool]:
    """One call with values of this history: the best ones that make a call not made before."""
    options: dict[_Path, list[Scalar]] = {}
    own = dict(leaves(call.arguments or {}))
    for path, value in own.items():
        found = [option for option in _ballot(path, value, votes, ground) if _allowed(option, path, spec)]
        # Places that held different values keep different values: an exchange is never for the same item.
        taken = {options[other][0] for other in options if own[other] != value and _alike(own[other], value)}
        found.sort(key=lambda option: option in taken)
        if not found:
            return call, False
        options[path] = found
    first = ToolCall(name=call.name, arguments=_rebuilt(call.arguments or {}, options, {}))
    if signature(first) not in made:
        return first, True
    # The same call again would bring nothing new: take the next best value of one argument, the first that is new.
    for path, values in options.items():
        for value in values[1:]:
            other_call = ToolCall(name=call.name, arguments=_rebuilt(call.arguments or {}, options, {path: value}))
            if signature(other_call) not in made:
                return other_call, True
    return first, False


def _alike(one: Scalar, other: Scalar) -> bool:
    """Whether two values are of one kind, so that one could be mistaken for the other."""
    return isinstance(one, str) and isinstance(other, str) and shape_of(one) == shape_of(other) != ""


def _allowed(value: Scalar, path: _Path, spec: ToolSpec) -> bool:
    """Whether the schema's enum of a top-level argument has the value."""
    declared = spec.parameters.get("properties", {}).get(path[0], {}) if len(path) == 1 else {}
    return not isinstance(declared, dict) or value in declared.get("enum", (value,))


def _ballot(path: _Path, own: Scalar, votes: Sequence[tuple[ToolCall, Ground, float]], ground: Ground) -> list[Scalar]:
    """Values for one argument, best first; empty when no voter's origin exists in this history."""
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    origins: dict[Origin, float] = defaultdict(float)
    for call, theirs, likeness in votes:
        value = dict(leaves(call.arguments or {})).get(path)
        if value is not None:
            for origin in trace(value, theirs, key):
                origins[origin] += likeness * _trust(origin)
    scores: dict[Scalar, float] = defaultdict(float)
    for origin, trust in origins.items():
        for candidate, weight in refill(origin, ground, key):
            scores[_typed(candidate, own)] += weight * trust
    return sorted(scores, key=lambda value: -scores[value])


def _trust(origin: Origin) -> float:
    """Words said tell most; a constant is the last resort, for an id of another conversation is always wrong."""
    return 0.5 if isinstance(origin, Constant) else 1.5 if isinstance(origin, Said) else 1.0


def _typed(value: Scalar, like: Scalar) -> Scalar:
    """The value in the type that the argument had."""
    if isinstance(like, str) and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str) and isinstance(like, (int, float)) and not isinstance(like, bool):
        try:
            return type(like)(value.replace(",", ""))
        except ValueError:
            return value
    return value


def _rebuilt(value: Any, options: dict[_Path, list[Scalar]], chosen: dict[Any, Scalar]) -> Any:
    """Arguments of the same structure with the first option, or the chosen one, at each leaf."""

    def build(inner: Any, path: _Path) -> Any:
        if isinstance(inner, dict):
            return {key: build(child, (*path, key)) for key, child in inner.items()}
        if isinstance(inner, list):
            return [build(child, (*path, place)) for place, child in enumerate(inner)]
        return chosen[path] if path in chosen else options[path][0] if path in options else inner

    return build(value, ())


def _read(conversations: Iterable[Conversation]) -> _Corpus:
    kept: list[Conversation] = []
    contents: dict[str, str] = {}
    room = MAX_CONTEXTS
    for conversation in conversations:
        contents[conversation.id] = _content(conversation)
        if room > 0:
            kept.append(conversation)
            room -= sum(1 for _ in decisions(conversation))
    kept.sort(key=lambda conversation: conversation.id)  # ties are broken alike whatever the order of the file
    contexts: list[_Context] = []
    described: list[Features] = []
    members: list[int] = []
    groups: dict[str, set[int]] = defaultdict(set)
    for group, conversation in enumerate(kept):
        groups[contents[conversation.id]].add(group)
        for decision in decisions(conversation):
            history = conversation.messages[: decision.position]
            contexts.append(_Context(history, decision.reference))
            described.append(describe(history))
            members.append(group)
    return _Corpus(contexts, Likeness(described, members), contents, dict(groups))


def _content(conversation: Conversation) -> str:
    """Digest of what was said and done, without id and source."""
    return jsonio.digest([conversation.policy, conversation.messages])


def _fingerprint(path: Path) -> str:
    """SHA-256 over the content of a file, or of a folder's files."""
    digest = hashlib.sha256()
    files = sorted(inner for inner in path.rglob("*") if inner.is_file()) if path.is_dir() else [path]
    for file in files:
        try:
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", file=str(file)) from None
    return digest.hexdigest()
