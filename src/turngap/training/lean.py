"""The training loop of ours: one sequence at a time, logits of learnt tokens only, exact to resume.

Made for a processor or one small GPU. A step is `Recipe.batch` sequences, each run by itself (no padding), and its loss
is the mean over all learnt tokens of the step, as in TRL. The output layer sees the positions before learnt tokens
only, which is most of what makes this quicker than the general way. For many or large GPUs there is
`turngap.training.sft`; both train on the same tokens (`turngap.training.rendering`).

Checkpoints hold the trained weights, the optimiser, and where in the data the loop is; after a kill the same call goes
on from the last one and ends where an undisturbed run ends. Non-goals: distribution, mixed objectives.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch

from turngap.errors import UsageError
from turngap.training.adapter import wrapped
from turngap.training.base import Base
from turngap.training.checkpoint import Checkpoint, Log
from turngap.training.recipe import Recipe
from turngap.training.rendering import Rendered


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """How far a training is, for whoever watches."""

    step: int
    steps: int
    epoch: float
    loss: float
    """Mean negative log-likelihood of the step's learnt tokens, in nats."""
    validation: float | None
    """The latest, on the validation set."""
    learning_rate: float
    tokens_per_second: float
    """Tokens of sequences, learnt or not, since this process began."""
    seconds: float
    """Since this process began."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    model: Any
    """With its adapters, if there are any."""
    steps: int
    loss: float | None
    """Of the last step."""
    validation: float | None
    """The best."""
    tokens: int
    """Tokens of all sequences that were run, validation not counted."""
    seconds: float
    """Of training, over all processes that worked on it."""
    stopped: str = ""
    """Why it ended before its last step; empty where it did not."""


def steps_of(recipe: Recipe, sequences: int) -> int:
    """How many steps a training has."""
    return max(1, math.ceil(recipe.epochs * sequences / recipe.batch))


def train(
    base: Base,
    recipe: Recipe,
    learnt: Sequence[Rendered],
    validation: Sequence[Rendered],
    directory: Path,
    watch: Callable[[Moment], None] = lambda _moment: None,
) -> Trained:
    """Fine-tune a base, or go on with that.

    Args:
        base: weights and tokenizer; the weights are changed.
        recipe: how.
        learnt: the training set, rendered.
        validation: another set, to stop by; may be empty.
        directory: where checkpoints and the log lie.
        watch: is told of every step.

    Raises:
        UsageError: there is nothing to learn. ConfigError: the directory holds checkpoints of another training.
    """
    if not any(one.targets for one in learnt):
        raise UsageError("there is nothing to learn: no sequence has a learnt token")
    return _Loop(base, recipe, learnt, validation, directory, watch).run()


class _Loop:
    def __init__(
        self,
        base: Base,
        recipe: Recipe,
        learnt: Sequence[Rendered],
        validation: Sequence[Rendered],
        directory: Path,
        watch: Callable[[Moment], None],
    ) -> None:
        self._recipe = recipe
        self._learnt = [one for one in learnt if one.targets]
        self._validation = [one for one in validation if one.targets]
        self._watch = watch
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(recipe.seed)
        self._model = base.model if recipe.lora is None else wrapped(base.model, recipe.lora, recipe.seed)
        self._model.to(self._device)
        if recipe.checkpointing:
            self._model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            self._model.enable_input_require_grads()
        self._weights = {name: one for name, one in self._model.named_parameters() if one.requires_grad}
        self._optimiser = torch.optim.AdamW(
            self._weights.values(),
            lr=recipe.learning_rate,
            betas=(recipe.beta1, recipe.beta2),
            eps=recipe.epsilon,
            weight_decay=recipe.weight_decay,
        )
        self._steps = steps_of(recipe, len(self._learnt))
        self._per_epoch = max(1, math.ceil(len(self._learnt) / recipe.batch))
        identity = {
            "base": base.spec,
            "recipe": msgspec.to_builtins(recipe),
            "data": [[one.id, len(one.tokens), one.targets] for one in self._learnt],
        }
        self._checkpoint = Checkpoint(directory, identity)
        self._log = Log(directory / "log.jsonl")

    def run(self) -> Trained:
        found = self._checkpoint.load(self._weights, self._optimiser)
        done, tokens, spent, best, bad, validated = found
        self._log.cut(done)
        began, first_tokens = time.monotonic(), tokens
        loss: float | None = None
        stopped = ""
        step = done
        for step in range(done + 1, self._steps + 1):
            sequences = self._batch(step)
            loss = self._step(step, sequences)
            tokens += sum(len(one.tokens) for one in sequences)
            if self._validation and self._looks(step):
                validated = self._validate()
                better = best is None or validated < best
                best, bad = (validated, 0) if better else (best, bad + 1)
                if better:
                    self._checkpoint.save_best(self._weights)
            seconds = time.monotonic() - began
            self._tell(step, loss, validated, (tokens - first_tokens) / max(seconds, 1e-9), seconds)
            if self._recipe.patience and bad >= self._recipe.patience:
                stopped = f"no better validation loss in {bad} looks"
            if step % self._recipe.save == 0 or step == self._steps or stopped:
                self._checkpoint.save(
                    self._weights, self._optimiser, (step, tokens, spent + seconds, best, bad, validated)
                )
            if stopped:
                break
        if best is not None:
            self._checkpoint.load_best(self._weights)
        return Trained(
            model=self._model,
            steps=step,
            loss=loss,
            validation=best,
            tokens=tokens,
            seconds=spent + time.monotonic() - began,
            stopped=stopped,
        )

    def _batch(self, step: int) -> list[Rendered]:
        """The sequences of a step: each epoch in an order of its own, which hangs on the seed alone."""
        size, count = self._recipe.batch, len(self._learnt)
        wanted = range((step - 1) * size, min(step * size, math.ceil(self._recipe.epochs * count)))
        return [self._learnt[self._order(at // count)[at % count]] for at in wanted]

    def _order(self, epoch: int) -> list[int]:
        if getattr(self, "_ordered", (None,))[0] != epoch:
            order = list(range(len(self._learnt)))
            random.Random(f"{self._recipe.seed}/epoch/{epoch}").shuffle(order)
            self._ordered = (epoch, order)
        return self._ordered[1]

    def _step(self, step: int, sequences: Sequence[Rendered]) -> float:
        self._model.train()
        torch.manual_seed((self._recipe.seed << 20) + step)  # dropout is the same after a resume
        targets = sum(one.targets for one in sequences)
        total = 0.0
        for one in sequences:
            loss = self._loss(one) / targets
            torch.autograd.backward(loss)
            total += loss.item()
        if self._recipe.clip:
            torch.nn.utils.clip_grad_norm_(list(self._weights.values()), self._recipe.clip)
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate(step)
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        return total

    def _loss(self, one: Rendered) -> torch.Tensor:
        """The sum over the learnt tokens of a sequence."""
        tokens = torch.tensor([one.tokens], device=self._device)
        learnt = torch.tensor(one.learnt, device=self._device)
        before = torch.nonzero(learnt[1:]).squeeze(1)
        with self._precision():
            logits = self._model(input_ids=tokens, logits_to_keep=before, use_cache=False).logits[0]
        wanted = tokens[0, 1:][before]
        return torch.nn.functional.cross_entropy(logits.float(), wanted, reduction="sum")

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        wanted = self._recipe.precision
        if wanted == "fp32" or (wanted == "auto" and not bf16_pays(self._device)):
            return contextlib.nullcontext()
        return torch.autocast(self._device.type, dtype=torch.bfloat16)

    def _rate(self, step: int) -> float:
        recipe = self._recipe
        warm = max(1, round(recipe.warmup * self._steps))
        if step <= warm and recipe.warmup > 0:
            return recipe.learning_rate * step / warm
        done = (step - warm) / max(1, self._steps - warm)
        if recipe.schedule == "cosine":
            return recipe.learning_rate * (1 + math.cos(math.pi * done)) / 2
        return recipe.learning_rate * (1 - done if recipe.schedule == "linear" else 1)

    def _looks(self, step: int) -> bool:
        return step % (self._recipe.validate or self._per_epoch) == 0 or step == self._steps

    def _validate(self) -> float:
        self._model.eval()
        with torch.no_grad():
            total = sum(self._loss(one).item() for one in self._validation)
        return total / sum(one.targets for one in self._validation)

    def _tell(self, step: int, loss: float, validated: float | None, speed: float, seconds: float) -> None:
        moment = Moment(
            step=step,
            steps=self._steps,
            epoch=min(step * self._recipe.batch / len(self._learnt), self._recipe.epochs),
            loss=loss,
            validation=validated,
            learning_rate=self._rate(step),
            tokens_per_second=speed,
            seconds=seconds,
        )
        self._log.add(moment)
        self._watch(moment)


def bf16_pays(device: torch.device) -> bool:
    """Whether the device computes in bfloat16 natively."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return "avx512_bf16" in _processor_flags() or "amx_bf16" in _processor_flags()


def _processor_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    return frozenset(next((line.split(":")[1].split() for line in text.splitlines() if line.startswith("flags")), ()))
