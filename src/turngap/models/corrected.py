"""A model that is corrected: ``corrected/SPEC``, for live conversations.

The model that SPEC names acts. Once a decision of its own has been another than the advice of the reference agent
(`turngap.models.live_baseline`), that decision stands and its results come, and from then on the advice acts, to the
end. So a run shows where a model errs first, and what it would have taken to recover (`turngap.protocols.recovering`).
Who is to act is read off the history each time: nothing is kept, and a trial can be gone on with or looked at later.

It measures no model: what it reaches is in part the reference's. What a first wrong decision has spoilt for good (the
user has left, the wrong order is cancelled) nobody mends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from turngap import models
from turngap.config import ModelConfig
from turngap.data import Message, Prediction, Task, ToolSpec
from turngap.errors import UsageError
from turngap.models.base import Examined, Model, ModelContext, Request
from turngap.models.live_baseline import advice, departures

PREFIX = "corrected/"
"""What the spec of such a model begins with; the spec of the one that acts follows."""
_RECORDED = "recorded"  # the provider whose predictions belong to recorded history


def acting(spec: str) -> str:
    """The spec of the model that acts: SPEC of ``corrected/SPEC``, any other one as it is."""
    return spec.removeprefix(PREFIX)


def first_difference(task: Task, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> int | None:
    """The first decision that is another than the advice there.

    It is when it is of the other kind (text or calls), when it makes other calls, or when it is empty. Calls are held
    against each other in normal form and, where the reference action says which arguments count, by these alone. Two
    texts never differ.

    Args:
        task: what the user wants.
        tools: the agent's.
        messages: all that the agent knows, `Task.given` included.

    Returns:
        Its index among the agent's messages behind `Task.given`; None where there is no such decision.
    """
    return next((index for index, differs in enumerate(departures(task, tools, messages)) if differs), None)


class Corrected:
    """Lets a model act up to its first difference, and the reference agent from there on."""

    live_only = True
    """Whether it acts on live tasks alone; to have it answer on recorded history is refused."""

    def __init__(self, inner: Model, label: str = "") -> None:
        self.label = label or f"{PREFIX}{inner.label}"
        self.concurrency: int = getattr(inner, "concurrency", sys.maxsize)
        """How many requests the model can use at once; as many as are asked for, where it does not say."""
        self.gold_only: bool = getattr(inner, "gold_only", False)
        """Whether the model answers on recorded history alone, so that it cannot act here."""
        self._inner = inner

    def identity(self) -> dict[str, Any]:
        """That of the model that acts."""
        return {"model": "corrected", "inner": self._inner.identity()}

    async def act(self, request: Request) -> Prediction:
        """The model's decision, or the advice once it has differed; then the model is not asked at all.

        Raises:
            UsageError: this is no live conversation.
        """
        task = request.seat.task
        if task is None:
            raise UsageError(
                f"{self.label} acts in live conversations only, since the reference agent needs the task; "
                "use turngap rollout, or name the model itself"
            )
        if first_difference(task, request.tools, request.messages) is None:
            return await self._inner.act(request)
        return Prediction(message=advice(task, request.tools, request.messages))

    async def preflight(self, request: Request) -> None:
        """Look at the server of the model that acts, where it has one."""
        if isinstance(self._inner, Examined):
            await self._inner.preflight(request)

    async def aclose(self) -> None:
        """Release what the model that acts holds."""
        await self._inner.aclose()


def build(config: ModelConfig, context: ModelContext) -> Corrected:
    """Build ``corrected/SPEC``; everything else of the configuration is for the model of SPEC.

    Raises:
        UsageError: SPEC is missing, names a corrected model itself or recorded predictions, or is unknown.
        MissingExtra: it needs a package.
    """
    spec = config.spec.removeprefix("corrected").removeprefix("/")
    if not spec.strip():
        raise UsageError(f"model {config.spec!r} names no model to correct; {PREFIX}hf/FOLDER does, for one")
    if spec.partition("/")[0] == "corrected":
        raise UsageError(f"model {config.spec!r}: what is corrected already cannot be corrected; name the model once")
    if spec.partition("/")[0] == _RECORDED:
        # From the spec alone: what is wrong with the file is of no interest to whom it cannot help.
        raise UsageError(
            f"model {config.spec!r}: a recorded model holds predictions on recorded history and cannot act live; "
            "name a model that can be asked"
        )
    return Corrected(models.build(msgspec.structs.replace(config, spec=spec), context), config.spec)
