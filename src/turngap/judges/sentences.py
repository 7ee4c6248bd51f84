"""Have a model say which sentences about a finished live trial hold, such as "The agent offered a refund".

The model sees policy, tools, the conversation with calls and results, and the sentences; no goal of the user, no
reference, nobody's reasoning. All sentences of a task are asked about in one request. As with every judge, the material
is fenced, a reply that cannot be read is asked for once more, and after that there is no answer (`JudgeError`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from turngap.data import ToolSpec, Trajectory
from turngap.judges import prompt, reply
from turngap.judges.llm import LlmJudge, Place


class SentenceCase(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of one trial."""

    task: str
    policy: str
    tools: tuple[ToolSpec, ...]
    trajectory: Trajectory
    sentences: tuple[str, ...]


class Held(msgspec.Struct, frozen=True):
    """What was found of one sentence."""

    holds: bool
    rationale: str = ""


class SentenceJudge(Protocol):
    """Something that says which sentences hold."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change its answers."""
        ...

    async def hold(self, case: SentenceCase) -> tuple[Held, ...]:
        """One answer for each sentence, in order.

        Raises:
            JudgeError: no answer could be read, also after one re-ask. EndpointError: the server failed.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class LlmSentenceJudge:
    """Asks the model of a judge."""

    def __init__(self, judge: LlmJudge) -> None:
        self._judge = judge

    def identity(self) -> dict[str, Any]:
        """The judge's identity with the version of this prompt."""
        return {**self._judge.identity(), "prompts": prompt.SENTENCES_VERSION}

    async def hold(self, case: SentenceCase) -> tuple[Held, ...]:
        """Ask about all sentences at once; raises as `SentenceJudge.hold`."""
        place = Place("sentences", case.task, None)
        messages = prompt.sentences(case.policy, case.tools, case.trajectory.events, case.sentences)
        count = len(case.sentences)
        said = await self._judge.ask(place, messages, lambda text: reply.read_sentences(text, count))
        return tuple(Held(answer.success, answer.rationale) for answer in said.answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._judge.aclose()


class ScriptedSentenceJudge:
    """The double: says what a function of case and sentence says, and keeps the cases it saw."""

    def __init__(self, script: Callable[[SentenceCase, str], bool | Exception]) -> None:
        self.cases: list[SentenceCase] = []
        self._script = script

    def identity(self) -> dict[str, Any]:
        """A script has no identity of its own."""
        return {"judge": "scripted"}

    async def hold(self, case: SentenceCase) -> tuple[Held, ...]:
        """Answer by the script; an exception that it gives is raised."""
        self.cases.append(case)
        return tuple(Held(self._said(case, sentence), "as the script says") for sentence in case.sentences)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _said(self, case: SentenceCase, sentence: str) -> bool:
        answer = self._script(case, sentence)
        if isinstance(answer, Exception):
            raise answer
        return answer
