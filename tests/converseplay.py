"""Short conversations at the boat-hire desk, made from a script of the agent, for the tests of their judges."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import boats

from turngap import users
from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Failure, Task, ToolCall, Trajectory
from turngap.domains import LiveDomain
from turngap.models.scripted import Answer, ScriptedModel
from turngap.synth.converse.desk import Desk
from turngap.synth.converse.review import Case, Opinion, Reviewer
from turngap.synth.converse.situation import of_task
from turngap.synth.converse.talk import Parties, recording

PROPOSAL = "I would move BK-1 to 2031-05-02. Shall I go ahead (yes or no)?"
DONE = "It is on 2031-05-02 now. Is there anything else that I can do for you?"


def call(name: str, **arguments: Any) -> ToolCall:
    """A call."""
    return ToolCall(name=name, arguments=arguments)


LOOK, MOVE = call("get_booking", booking_id="BK-1"), call("move_booking", booking_id="BK-1", date="2031-05-02")
GOOD: tuple[Answer, ...] = (LOOK, PROPOSAL, MOVE, DONE)
"""What a good agent says and does."""


def played(
    answers: Sequence[Answer], task: Task | None = None, domain: LiveDomain = boats.DOMAIN, **limits: int
) -> Case:
    """Let a scripted agent serve the scripted user; where its script ends it repeats its last words."""
    script = list(answers)

    def answer(request: Any) -> Answer:
        made = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return script[min(made, len(script) - 1)]

    situation = of_task(task or boats.task(1), domain)
    desk = Desk.of(domain)
    parties = Parties(
        desk=desk,
        agent=ScriptedModel(answer),
        users=users.build(ModelConfig(spec="scripted")),
        tools=None,
        seed=0,
        **{"max_steps": 12, "max_errors": 5, **limits},
    )
    talk = asyncio.run(parties.talk(situation))
    assert not isinstance(talk, Failure), talk
    return case(situation, desk, talk)


def case(situation: Any, desk: Desk, talk: Trajectory) -> Case:
    """What judges see."""
    return Case(situation=situation, desk=desk, trajectory=talk, conversation=recording(situation, desk, talk))


def opinion(reviewer: Reviewer, one: Case) -> Opinion:
    """What a judge says."""
    return asyncio.run(reviewer.review(one))


def kinds(found: Opinion) -> list[str]:
    """Why it rejects, in short."""
    return list(dict.fromkeys(reason.kind for reason in found.reasons))
