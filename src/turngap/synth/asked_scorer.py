"""What a model thinks of a task: scores from 0 to 10, of which none may be below seven.

Realism (would a real customer ask for this, with these details), necessity (is the reference all that is needed, and
nothing else), correctness (do words and reference fit together), and for the scenarios whose point it is, relevance (is
there a real change of course, are the right values held back) or soundness (is the reason right why it cannot be). The
model sees the task's words, its criteria, the reference with its results, and the policy.
"""

from __future__ import annotations

from typing import Any

import msgspec

from turngap import jsonio
from turngap.data.task import Scenario, Task
from turngap.domains import LiveDomain
from turngap.models import Model
from turngap.synth.consult import READING, Flaw, consult
from turngap.synth.plan import Draft, Loss, LostError
from turngap.synth.validity import LEAST

_ASPECTS = {
    "realism": "would a real customer ask for this in these words, with a plain motive and the details they have?",
    "necessity": "is every action of the reference needed, and is nothing missing of what is asked for?",
    "correctness": "do the words and the reference say the same, and does every value come from where it should?",
}
_FURTHER = {
    Scenario.AMBIGUOUS: {"relevance": "are the details that the agent has to ask for really absent from the opening?"},
    Scenario.CHANGING: {
        "relevance": "is there a real change of mind or a second issue, and not one request said twice?"
    },
    Scenario.INFEASIBLE: {
        "soundness": "is the reason right, do the required actions show it, and is what is forbidden what it forbids?"
    },
}
_TASK = """\
You look over a task that was made for testing service agents. A simulated customer will play it; an agent is held
against the reference actions. Score it from 0 to 10 in each aspect, where 7 is good enough to be used, and be strict:
{aspects}

Answer with one JSON object: {{"scores": {{{fields}}}, "rationale": "one or two sentences"}}.
"""


class AskedScorer:
    """Scores the tasks of one domain by asking a model. Implements `turngap.synth.validity.Scorer`."""

    def __init__(self, model: Model, domain: LiveDomain) -> None:
        """Ask a model, which is closed with the scorer."""
        self._model = model
        self._domain = domain

    def identity(self) -> dict[str, Any]:
        """The prompt by its digest, and the model."""
        wording = jsonio.digest([_TASK, _ASPECTS, {str(k): v for k, v in _FURTHER.items()}, READING, LEAST])[:16]
        return {"scorer": "llm", "prompt": wording, "model": self._model.identity()}

    async def score(self, task: Task, draft: Draft) -> Task:
        """Ask for the scores. See `Scorer.score`."""
        aspects = _ASPECTS | _FURTHER.get(task.scenario, {})

        def read(answer: dict[str, Any]) -> dict[str, Any] | Flaw:
            scores = answer.get("scores")
            if not isinstance(scores, dict) or any(not _is_score(scores.get(aspect)) for aspect in aspects):
                return Flaw("no scores", f"scores should have a number from 0 to 10 for each of {', '.join(aspects)}")
            return {**{aspect: scores[aspect] for aspect in aspects}, "rationale": str(answer.get("rationale") or "")}

        said = await consult(
            self._model, ("validate", task.id), instructions(aspects), self._material(task, draft), read
        )
        low = [f"{aspect} {said.answer[aspect]}" for aspect in aspects if said.answer[aspect] < LEAST]
        if low:
            detail = f"{', '.join(low)}: {said.answer['rationale']}"
            raise LostError(Loss(stage="validate", reason="a score is too low", detail=detail))
        scores = {**said.answer, "asks": said.asks}
        if said.mishaps:
            scores["mishaps"] = said.mishaps
        return msgspec.structs.replace(task, made={**task.made, "scores": scores})

    async def aclose(self) -> None:
        """Release the model."""
        await self._model.aclose()

    def _material(self, task: Task, draft: Draft) -> list[tuple[str, Any]]:
        plan, intent = draft.plan, task.intent
        return [
            ("The policy of the desk", self._domain.policy),
            ("The task", {"scenario": task.scenario.value, "purpose": task.purpose}),
            ("What the one who plays the customer is told", task.instructions.text()),
            ("What the customer says", msgspec.to_builtins(intent)),
            ("The customer's record", {"key": plan.customer.key, **plan.customer.record}),
            (
                "The reference, with what each call leads to",
                [
                    {"call": step.call.name, "arguments": step.call.arguments, "result": step.result}
                    for step in plan.steps
                ],
            ),
            (
                "What a trial is held against",
                {
                    "told": task.criteria.communicate,
                    "required": [[one.name, one.arguments] for one in task.criteria.required],
                    "forbidden": [[one.name, one.arguments, one.compare_args] for one in task.criteria.forbidden],
                    "reason": task.criteria.reason,
                    "wanted_first": task.made.get("first"),
                    "withheld": task.made.get("withheld"),
                },
            ),
        ]


def instructions(aspects: dict[str, str]) -> str:
    """What a model is told before the material."""
    listed = "\n".join(f"- {aspect}: {question}" for aspect, question in aspects.items())
    return _TASK.format(aspects=listed, fields=", ".join(f'"{aspect}": 0' for aspect in aspects))


def _is_score(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 10
