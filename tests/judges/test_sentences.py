"""A model that says which sentences about a trial hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from turngap.data import Acted, AssistantMessage, Trajectory
from turngap.errors import JudgeError
from turngap.judges import reply
from turngap.judges.llm import LlmJudge
from turngap.judges.sentences import Held, LlmSentenceJudge, SentenceCase
from turngap.models.client import Completion

CASE = SentenceCase(
    task="t-1",
    policy="Be kind.",
    tools=(),
    trajectory=Trajectory(conversation="t-1", events=(Acted(message=AssistantMessage(content="All is well.")),)),
    sentences=("The agent is kind.", "The agent cancels."),
)
GOOD = '{"statements": [{"holds": true, "rationale": "yes"}, {"holds": false, "rationale": "no call"}]}'


class Script:
    """A server that gives its replies in order, and keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), list[Sequence[dict[str, Any]]]()

    async def complete(
        self, messages: Sequence[dict[str, Any]], *, max_tokens: int | None, temperature: float | None
    ) -> Completion:
        assert (max_tokens, temperature) == (99, 0.0)
        self.asked.append(messages)
        text = self.replies.pop(0)
        return Completion(message={"content": text}, finish_reason="stop", raw=text)

    async def aclose(self) -> None:
        return


def _ask(script: Script) -> tuple[Held, ...]:
    judge = LlmSentenceJudge(LlmJudge("j", script, server={}, max_tokens=99))
    return asyncio.run(judge.hold(CASE))


def test_all_sentences_are_asked_about_in_one_fenced_request() -> None:
    """The request holds policy, conversation and sentences between markers; the answers come back in order."""
    script = Script(GOOD)
    assert _ask(script) == (Held(True, "yes"), Held(False, "no call"))
    (messages,) = script.asked
    sent = messages[-1]["content"]
    assert all(text in sent for text in ("Be kind.", "All is well.", "The agent cancels.", "BEGIN DATA"))


def test_an_unreadable_reply_is_asked_for_once_more_and_then_there_is_none() -> None:
    """One re-ask; after that the judge has failed, and nobody else."""
    assert _ask(Script("no idea", GOOD))[0].holds
    with pytest.raises(JudgeError, match="no verdict in 2 replies"):
        _ask(Script("no idea", '{"statements": [{"holds": true}]}'))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<think>hm</think>",
        '{"statements": [{"holds": true}',
        '{"success": true}',
        '{"statements": [{"holds": true}]}',
        '{"statements": [{"holds": "true"}, {"holds": true}]}',
        '{"statements": true}',
        f'{GOOD} {{"statements": []}}',
    ],
)
def test_half_an_answer_is_none(text: str) -> None:
    """Empty, cut off, too short, not boolean or contradictory: unreadable."""
    assert isinstance(reply.read_sentences(text, 2), reply.Unreadable)
