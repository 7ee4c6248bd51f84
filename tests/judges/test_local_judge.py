"""A local model as judge, through the seam of models."""

from __future__ import annotations

from turngap.data import AssistantMessage, Conversation, Finish, Prediction, decisions
from turngap.judges import TurnCase
from turngap.judges.llm import LlmJudge
from turngap.judges.local import ModelChat
from turngap.models.scripted import ScriptedModel

VERDICT = '{"success": true, "failure_category": "none", "rationale": ""}'


async def test_a_model_is_asked_for_verdicts(boat_conversation: Conversation) -> None:
    """Prompt and reply go through `Model.act`; a reply that was cut is asked for again, in another request."""
    cut = Prediction(message=AssistantMessage(content=VERDICT), finish=Finish.LENGTH)
    model = ScriptedModel([cut, VERDICT])
    judge = LlmJudge("local/x.gguf", ModelChat(model), server=model.identity(), max_tokens=64)
    decision = next(decisions(boat_conversation))
    prediction = Prediction(message=decision.reference)
    found = await judge.turn(TurnCase(conversation=boat_conversation, decision=decision, prediction=prediction))
    assert found.success
    assert found.asks == 2
    first, second = model.requests
    assert first.tools == ()
    assert "BEGIN DATA" in first.messages[0].content
    assert "cut off" in second.messages[0].content
    assert first.seat.conversation != second.seat.conversation
    await judge.aclose()
    assert model.closed
