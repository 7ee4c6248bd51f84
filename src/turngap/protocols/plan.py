"""What an evaluation would cost, without asking any model: calls, tokens, money.

Tokens are estimated as UTF-8 bytes / 4, which is close for English prose and JSON; replays are counted as if the
model behaved like the recording.
"""

from __future__ import annotations

import msgspec

from turngap import formats
from turngap.config import EvalConfig, Prices
from turngap.data import Conversation, decisions, requires_tools
from turngap.protocols.naming import Known, check
from turngap.protocols.offer import WITHOUT_CALLS, Offer

_BYTES_PER_TOKEN = 4
_JUDGE_ANSWER_TOKENS = 100


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The bill before the meal."""

    model: str
    calls_model: bool
    """Whether there is anything to call: baselines and recorded predictions answer by themselves, for nothing."""
    conversations: int
    tool_conversations: int
    decisions: int
    gold_calls: int
    """Requests for predictions on gold history."""
    replay_calls: int
    """Requests in closed loops, if the model behaves like the recording."""
    horizon_calls: int
    """Requests in the closed loops of `horizon`, likewise; those of equal content are asked once."""
    judge_calls: int
    """Requests to judges that are models; 0 for `rules`."""
    prompt_tokens: int
    """Estimated prompt tokens of the evaluated model."""
    completion_tokens: int
    """Estimated completion tokens of the evaluated model."""
    judge_prompt_tokens: int
    judge_completion_tokens: int
    cost: float | None
    """Of the evaluated model, in the currency of the configured prices; None where no price is known."""
    judge_cost: float | None
    notes: tuple[str, ...] = ()
    """What will be wrong with the figures, and what could not be checked."""


def plan(config: EvalConfig) -> Plan:
    """Read the data and count.

    Raises:
        DataError: the data cannot be read. UsageError: a setting names tools or arguments that the data do not know.
    """
    known, calls = Known(), config.model.provider not in WITHOUT_CALLS
    offered = Offer()
    n = {"conversations": 0, "tool_conversations": 0, "decisions": 0}
    prompt = completion = judge_prompt = 0
    on_gold = any(name in config.protocols for name in ("text", "turn", "strict"))
    closed_loop = any(name in config.protocols for name in ("replay", "workflow"))
    most = config.horizon.max if "horizon" in config.protocols else 0
    horizon_calls = 0
    paid_judges = sum(spec != "rules" for spec in config.judge.specs)
    for conversation in formats.read(config.data, seed=config.seed):
        count = sum(1 for _ in decisions(conversation))
        known.add(conversation)
        offered = offered.and_in(conversation) if calls else offered
        n["conversations"] += 1
        n["tool_conversations"] += requires_tools(conversation)
        n["decisions"] += count
        asked, answered, whole = _sizes(conversation)
        passes = (on_gold + closed_loop) * calls
        prompt += passes * asked
        completion += passes * answered
        if most and calls:
            # Each decision is asked once from itself and once from each start that it is within reach of.
            horizon_calls += sum(min(most, count - place) for place in range(count))
            times = sum(min(most, place + 1) for place in range(count)) / max(count, 1)
            prompt += round(times * asked)
            completion += round(times * answered)
        judge_prompt += paid_judges * (
            ("turn" in config.protocols) * asked + ("workflow" in config.protocols) * 2 * whole
        )
    turn_calls = n["decisions"] if "turn" in config.protocols else 0
    workflow_calls = n["conversations"] if "workflow" in config.protocols else 0
    judge_calls = paid_judges * (turn_calls + workflow_calls)
    judge_completion = judge_calls * _JUDGE_ANSWER_TOKENS
    return Plan(
        model=config.model.spec,
        calls_model=calls,
        notes=tuple(filter(None, (*check(config.match, known), offered.warning))),
        **n,
        gold_calls=n["decisions"] if on_gold and calls else 0,
        replay_calls=n["decisions"] if closed_loop and calls else 0,
        horizon_calls=horizon_calls,
        judge_calls=judge_calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        judge_prompt_tokens=judge_prompt,
        judge_completion_tokens=judge_completion,
        cost=_price(config.model.prices, prompt, completion) if calls else 0.0,
        judge_cost=_price(config.judge.prices, judge_prompt, judge_completion),
    )


def _sizes(conversation: Conversation) -> tuple[int, int, int]:
    """Estimated tokens of all requests on gold history, of all answers, and of the whole conversation."""
    head = len(conversation.policy.encode()) + len(msgspec.json.encode(conversation.tools))
    sizes = [len(msgspec.json.encode(message)) for message in conversation.messages]
    asked = answered = 0
    for decision in decisions(conversation):
        asked += head + sum(sizes[: decision.position])
        answered += sizes[decision.position]
    return asked // _BYTES_PER_TOKEN, answered // _BYTES_PER_TOKEN, (head + sum(sizes)) // _BYTES_PER_TOKEN


def _price(prices: Prices | None, prompt: int, completion: int) -> float | None:
    if prices is None:
        return None
    return (prompt * prices.prompt + completion * prices.completion) / 1_000_000
