"""What the protocols share: whom to blame for a unit that is not a success, and scores without a figure."""

from __future__ import annotations

from turngap.data import AssistantMessage, Cause, Conversation, Decision, Failure, Finish, Score, requires_tools


def blame(message: AssistantMessage, finish: Finish) -> Cause:
    """The model's own cause: malformed before cut before wrong.

    A call that the token limit broke is `cut`, since the limit and not the model's grammar broke it.
    """
    malformed = any(call.arguments is None for call in message.calls)
    if finish is Finish.LENGTH:
        return Cause.CUT
    return Cause.MALFORMED if malformed else Cause.WRONG


def conversation_kind(conversation: Conversation) -> str:
    """``tools`` for a tool-requiring conversation, else ``chat``."""
    return "tools" if requires_tools(conversation) else "chat"


def unscored(protocol: str, conversation: Conversation, decision: Decision | None, failure: Failure) -> Score:
    """The score of a unit that could not be measured: no figure, one cause."""
    return Score(
        protocol=protocol,
        conversation=conversation.id,
        decision=decision.index if decision else None,
        kind=decision.kind if decision else conversation_kind(conversation),
        success=False,
        cause=failure.cause,
        category=failure.kind,
        detail=failure.reason,
    )
