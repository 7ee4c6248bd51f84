"""Protocol `text` (P1 i): ROUGE of prediction and reference on text decisions.

A prediction that is a tool call, or empty, scores 0. A success in the ledger is an answer in text that the token limit
did not cut; how similar it is, the figures say.
"""

from __future__ import annotations

from turngap.config import TextConfig
from turngap.data import Conversation, Decision, Failure, Finish, Prediction, Score
from turngap.metrics.rouge import choose_tokenizer, rouge_l, rouge_n
from turngap.protocols.unit import blame, unscored


def score(conversation: Conversation, decision: Decision, result: Prediction | Failure, config: TextConfig) -> Score:
    """Score one text decision."""
    if isinstance(result, Failure):
        return unscored("text", conversation, decision, result)
    message = result.message
    said = "" if message.calls else message.content.strip()
    reference = decision.reference.content
    tokenizer = choose_tokenizer(said, reference, config.tokenizer)
    success = bool(said) and result.finish is not Finish.LENGTH
    values = dict.fromkeys(("rouge1", "rouge2", "rougeL"), 0.0)
    if said:
        values = {
            "rouge1": rouge_n(said, reference, 1, tokenizer=tokenizer),
            "rouge2": rouge_n(said, reference, 2, tokenizer=tokenizer),
            "rougeL": rouge_l(said, reference, tokenizer=tokenizer),
        }
    return Score(
        protocol="text",
        conversation=conversation.id,
        decision=decision.index,
        kind="text",
        success=success,
        cause=None if success else blame(message, result.finish),
        values=values,
        category=tokenizer,
        detail="" if said else f"prediction: {'a tool call' if message.calls else 'nothing'}",
    )
