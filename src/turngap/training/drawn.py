"""How often a set of examples holds each decision of its conversations: from examples back to whole conversations.

A set that was drawn in a mix leaves some decisions of a conversation out and holds others several times. Trained one by
one, each example pays for its whole history; as one sequence with counts, all of them pay for the conversation once,
and teach the same. This holds only where a conversation says what its examples say: each is held against it.

Which counts can be trained on, and how, is up to `turngap.training.rendering` and the engines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from turngap.data import AssistantMessage, Conversation, Message, ToolCall
from turngap.training.example import Example


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation, and what of it is to be learnt."""

    conversation: Conversation
    counts: dict[int, int]
    """Index of a decision -> how many examples of the set are that decision. The others are context."""


class UnmatchedError(Exception):
    """Examples and conversations are not of one set; says which example is not, in a sentence."""


def drawn(conversations: Iterable[Conversation], examples: Iterable[Example]) -> tuple[Drawn, ...]:
    """Count the examples of each conversation.

    Args:
        conversations: of one split, whole, as they were when the examples were made.
        examples: of the same split; one that was drawn several times stands there as often.

    Returns:
        The conversations in their order, without those that no example is of.

    Raises:
        UnmatchedError: an example is not the decision of the conversation that it names.
    """
    whole: dict[str, Conversation] = {}
    for one in conversations:
        if one.id in whole:
            raise UnmatchedError(f"two conversations of the set have the id {one.id!r}")
        whole[one.id] = one
    of: defaultdict[str, list[Example]] = defaultdict(list)
    for example in examples:
        if example.conversation not in whole:
            raise UnmatchedError(f"the set does not hold the conversation of example {example.id!r}")
        of[example.conversation].append(example)
    return tuple(Drawn(conversation=one, counts=_counted(one, of[name])) for name, one in whole.items() if name in of)


def _counted(conversation: Conversation, examples: Sequence[Example]) -> dict[int, int]:
    messages = [_said(one) for one in conversation.messages]
    places = [at for at, one in enumerate(messages) if isinstance(one, AssistantMessage)]
    setting = (conversation.policy, conversation.tools)
    for example in examples:
        known = 0 <= example.decision < len(places)
        end = places[example.decision] + 1 if known else 0
        if (
            not known
            or (example.setting.policy, example.setting.tools) != setting
            or [_said(one) for one in (*example.context, example.target)] != messages[:end]
        ):
            raise UnmatchedError(
                f"example {example.id!r} is not decision {example.decision} of the conversation as the set holds it"
            )
    return dict(sorted(Counter(example.decision for example in examples).items()))


def _said(message: Message) -> Message:
    """The message without the text in which its arguments were written, which differs between the files of a set."""
    if not isinstance(message, AssistantMessage) or not message.calls:
        return message
    calls = tuple(ToolCall(name=call.name, arguments=call.arguments) for call in message.calls)
    return msgspec.structs.replace(message, calls=calls)
