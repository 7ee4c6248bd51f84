"""One generation per decision on gold history; text, turn and strict all score it."""

from __future__ import annotations

from turngap.data import Conversation, Decision, Failure, Prediction
from turngap.engines.capture import capture
from turngap.models import Model, Request, Seat


def request(conversation: Conversation, decision: Decision) -> Request:
    """What the model is asked at `decision`: everything recorded before it, nothing after."""
    return Request(
        policy=conversation.policy,
        tools=conversation.tools,
        messages=conversation.messages[: decision.position],
        seat=Seat(
            conversation=conversation.id,
            protocol="gold",
            decision=decision.index,
            reference=decision.reference,
        ),
    )


async def predict(model: Model, conversation: Conversation, decision: Decision) -> Prediction | Failure:
    """Ask the model for one decision; an unmeasurable unit comes back as a `Failure`."""
    return await capture(model.act(request(conversation, decision)))
