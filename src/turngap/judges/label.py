"""Name the cause of a failure by a label from a list: what a language model may say about what no detector decides.

A labeller never says whether something failed; that is settled before it is asked. It sees what a workflow judge sees,
the place of the first failure, and the labels with their meanings, and chooses one of them or none. The list has a few
labels built in (`LABELS`); a TOML file adds to it, gives a built-in label another meaning, or drops it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from turngap import judges
from turngap.config import JudgeConfig, MatchConfig
from turngap.data import Problem, Verdict
from turngap.errors import DataError, UsageError
from turngap.judges import prompt, reply, suspicion
from turngap.judges.base import WorkflowCase
from turngap.judges.llm import LlmJudge, Place
from turngap.models.base import ModelContext

LABELS: Mapping[str, str] = {
    "misread_result": "took something out of a tool result that the result does not say, or overlooked what it says",
    "misread_user": "acted on something other than what the customer had asked for or confirmed",
    "broke_policy": "did what the policy forbids, or left out a check or consent that it asks for",
    "wrong_plan": "chose an action or an order of actions that cannot reach what the customer wants",
    "claimed_undone": "told the customer that something was done, or would be done, without doing it",
    "stopped_early": "ended, refused or handed over although the matter could have been settled",
    "user_out_of_step": "the recorded customer messages no longer fit the course that the candidate had taken",
    "tool_trouble": "a tool result was erroneous, empty or missing, through no fault of the candidate",
}
"""Label -> what it means, in the words that a model is given."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class LabelCase(msgspec.Struct, frozen=True, kw_only=True):
    """One failed replay."""

    workflow: WorkflowCase
    problem: Problem
    """Its first unresolved error."""


class Labeller(Protocol):
    """Something that names causes."""

    label: str
    """How tables name it."""

    def identity(self) -> dict[str, Any]:
        """Everything that can change its answers: model, prompt, labels."""
        ...

    async def name(self, case: LabelCase) -> Verdict:
        """Name a cause: a verdict without success, its `category` one of the labels, or empty where none fits.

        Raises:
            JudgeError: no answer could be read, also after one re-ask. EndpointError: the server failed.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class LlmLabeller:
    """Asks the model of a judge.

    Args:
        judge: asks the model, and once more where a reply cannot be read.
        labels: name -> meaning.
    """

    def __init__(self, judge: LlmJudge, labels: Mapping[str, str]) -> None:
        self.label = judge.label
        self._judge, self._labels = judge, dict(labels)

    def identity(self) -> dict[str, Any]:
        """The judge's identity, the version of the prompt, and the labels."""
        return {**self._judge.identity(), "prompts": prompt.LABEL_VERSION, "labels": self._labels}

    async def name(self, case: LabelCase) -> Verdict:
        """Name one cause; raises as `Labeller.name`."""
        problem = case.problem
        failed = {"replay_entry": problem.event, "rule_broken": str(problem.category)}
        place = Place("label", case.workflow.conversation.id, None)
        messages = prompt.label(case.workflow, failed, self._labels)
        said = await self._judge.ask(place, messages, lambda text: reply.read_label(text, self._labels))
        return Verdict(
            success=False,
            category=said.answer.label,
            rationale=said.answer.rationale,
            raw=said.text,
            asks=said.asks,
            usage=said.usage,
            flags=suspicion.of_workflow(case.workflow),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._judge.aclose()


class ScriptedLabeller:
    """The double of a labeller: says what a function of the case says, and keeps the cases it saw."""

    def __init__(self, script: Callable[[LabelCase], str | Exception], *, label: str = "scripted") -> None:
        self.label = label
        self.cases: list[LabelCase] = []
        self._script = script

    def identity(self) -> dict[str, Any]:
        """Its label; a script has no other identity."""
        return {"labeller": "scripted", "label": self.label}

    async def name(self, case: LabelCase) -> Verdict:
        """Answer by the script; an exception that it gives is raised."""
        self.cases.append(case)
        answer = self._script(case)
        if isinstance(answer, Exception):
            raise answer
        return Verdict(success=False, category=answer, rationale="as the script says")

    async def aclose(self) -> None:
        """Nothing is held."""


def build(
    spec: str,
    config: JudgeConfig,
    labels: Mapping[str, str],
    context: ModelContext,
    save_prompt: Callable[[dict[str, Any]], None] | None = None,
) -> LlmLabeller:
    """Build the labeller that asks the model of a judge.

    Raises:
        UsageError: no such judge, or one that has no model to ask. ConfigError: as for the judge.
    """
    judge = judges.build(spec, config, MatchConfig(), context, save_prompt)
    if not isinstance(judge, LlmJudge):
        raise UsageError(f"judge {spec!r} cannot name causes; give a language model, e.g. openai/NAME")
    return LlmLabeller(judge, labels)


def read_labels(file: Path) -> dict[str, str]:
    """The built-in labels with those of a TOML file laid over them: ``name = "meaning"``, an empty meaning drops one.

    Raises:
        DataError: the file cannot be read, or an entry is no label; one line with file and field.
    """
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8", file=str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not TOML: {error}", file=str(file)) from None
    for name, meaning in given.items():
        if not isinstance(meaning, str):
            raise DataError('a label is given as name = "meaning"', file=str(file), field=name)
        if not _NAME.fullmatch(name) or name == "none":
            raise DataError(
                "a label is a lower-case word such as lost_thread, and not none", file=str(file), field=name
            )
    labels = {name: meaning for name, meaning in {**LABELS, **given}.items() if meaning.strip()}
    if not labels:
        raise DataError("no label is left", file=str(file))
    return labels
