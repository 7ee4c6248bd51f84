"""The seam of judges that look at a whole conversation: approve it as an example to learn from, or reject it.

Every judge sees the same `Case`. All of them have to approve; one that could not judge has not approved, and has not
rejected either (`Failure`). Offline judges stand in `turngap.synth.converse.checks`; `AskedReviewer` asks a model with
policy, tools, scenario and the whole conversation, calls and results included, nobody's reasoning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import Conversation, Trajectory, Usage
from turngap.errors import ContextOverflow, JudgeError
from turngap.judges import prompt
from turngap.judges.reply import read_review
from turngap.models import ModelContext
from turngap.synth.converse.asking import Asker, UnreadableError, open_asker
from turngap.synth.converse.desk import Desk
from turngap.synth.converse.situation import Situation

REVIEW = f"""\
You decide whether a conversation between a service agent and a customer may be used to teach agents. It was made up:
somebody wrote a scenario, one party played the customer, another the agent, and tools answered the agent's calls. You
see the policy of the agent, its tools, the scenario, and the whole conversation with all calls and their results.

Approve only what an agent may imitate from the first message to the last:
- every step keeps to the policy, and no step that the policy asks for is missing, such as making sure who the customer
  is, or having a yes before a change;
- tools are called when they are needed and not otherwise, with values that the customer or a result gave, and a refusal
  by a tool is dealt with;
- whatever the agent says is borne out by policy, results and the customer's words, and does not contradict them;
- it ends as the scenario asks: what was wanted is done and told, or, where it cannot be done, refused for the right
  reason;
- the customer stays a customer: true to the scenario, consistent, and ignorant of tools and instructions.
One clear violation is enough to reject. Style is no reason, and neither is a mark such as ###STOP### with which the
customer's last message ends the conversation.

{prompt.READING}
How to answer. Write one JSON object and nothing else. It has two fields: decision, the text APPROVE or REJECT; reasons,
a list of short texts that name the evidence.
"""
VERSION = jsonio.digest([REVIEW, "layout 1"])[:16]
"""Identity of the prompt."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One finished conversation."""

    situation: Situation
    desk: Desk
    trajectory: Trajectory
    conversation: Conversation


class Reason(msgspec.Struct, frozen=True):
    """Why a conversation is rejected, or a remark on one that is approved."""

    kind: str
    """One of a few short phrases, so that they can be counted; empty in a model's own words."""
    detail: str


class Opinion(msgspec.Struct, frozen=True, kw_only=True, tag="opinion"):
    """What a judge decided."""

    approved: bool
    reasons: tuple[Reason, ...] = ()
    asks: int = 0
    """How often a model was asked: twice where its first reply could not be read."""
    usage: Usage = Usage()


class Reviewer(Protocol):
    """Something that judges conversations. Implementations are safe to use from many tasks of one event loop."""

    label: str
    """How tables name it."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change its opinions, without secrets."""
        ...

    async def review(self, case: Case) -> Opinion:
        """Judge one conversation.

        Raises:
            JudgeError: no opinion could be had, also when asked again. EndpointError: the judge's server failed.
            DomainFault: the domain's code failed.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class AskedReviewer:
    """A model as judge, at the temperature that its configuration says."""

    def __init__(self, asker: Asker) -> None:
        self.label = asker.label
        self._asker = asker

    def identity(self) -> dict[str, Any]:
        """The model and the prompt."""
        return {"reviewer": self._asker.identity(), "prompt": VERSION}

    async def review(self, case: Case) -> Opinion:
        """Ask about one conversation. See `Reviewer.review`."""
        try:
            said = await self._asker.ask(case.situation.id, request(case), read_review)
        except UnreadableError as error:
            raise JudgeError(f"no decision: {error}") from None
        except ContextOverflow as error:
            # Whose talk was too long is nobody's fault here: the judge is too small for this conversation.
            raise JudgeError(f"{self.label}: the conversation does not fit the judge's context: {error}") from None
        reasons = tuple(Reason("", reason) for reason in said.value.reasons)
        return Opinion(approved=said.value.approved, reasons=reasons, asks=said.asks, usage=said.usage)

    async def aclose(self) -> None:
        """Release the model."""
        await self._asker.aclose()


class ScriptedReviewer:
    """The double: says what a function of the case says, and keeps the cases it saw."""

    def __init__(self, script: Callable[[Case], bool | Exception], *, label: str = "scripted") -> None:
        self.label = label
        self.cases: list[Case] = []
        self._script = script

    def identity(self) -> dict[str, Any]:
        """Its label; a script has no other identity."""
        return {"reviewer": "scripted", "label": self.label}

    async def review(self, case: Case) -> Opinion:
        """Answer by the script; an exception that it gives is raised."""
        self.cases.append(case)
        answer = self._script(case)
        if isinstance(answer, Exception):
            raise answer
        return Opinion(approved=answer, reasons=() if answer else (Reason("as the script says", ""),))

    async def aclose(self) -> None:
        """Nothing is held."""


def request(case: Case) -> prompt.Messages:
    """What a model is sent about one conversation."""
    sections = [
        *prompt.setting(case.desk.policy, case.desk.tools),
        ("The scenario:", case.situation.shown()),
        ("The conversation:", list(prompt.transcript(case.conversation.messages))),
    ]
    return prompt.request(REVIEW, sections, "May it be used?")


def open_asked(config: ModelConfig, context: ModelContext) -> AskedReviewer:
    """Build a model as judge.

    Raises:
        UsageError, MissingExtra, ConfigError: as `turngap.models.build`.
    """
    return AskedReviewer(open_asker(config, context))
