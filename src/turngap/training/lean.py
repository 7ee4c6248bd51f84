"""The training loop of ours: one sequence at a time, logits of learnt tokens only, exact to resume.

Made for a processor or one small GPU. A step is `Recipe.batch` sequences, each run by itself (no padding), and its loss
is the mean over all learnt tokens of the step, as in TRL, each counted as often as it is learnt: a conversation with
counts has the gradient of its examples, each as often. The output layer sees the positions before learnt tokens only,
which is most of what makes this quicker than the general way. For many or large GPUs there is `turngap.training.sft`;
both train on the same tokens (`turngap.training.rendering`).

Checkpoints hold the trained weights, the optimiser, and where in the data the loop is; after a kill the same call goes
on from the last one and ends where an undisturbed run ends. Non-goals: distribution, mixed objectives.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import torch

from turngap.errors import UsageError
from turngap.training.adapter import wrapped
from turngap.training.base import Base
from turngap.training.checkpoint import Checkpoint, Log, State, identity
from turngap.training.device import device, in_bf16
from turngap.training.moment import Halt, Halted, Moment, Trained, Watch, never, nobody
from turngap.training.packing import require_independent
from turngap.training.recipe import Recipe
from turngap.training.rendering import Rendered
from turngap.training.schedule import Schedule


def train(
    base: Base,
    recipe: Recipe,
    learnt: Sequence[Rendered],
    validation: Sequence[Rendered],
    directory: Path,
    *,
    watch: Watch = nobody,
    halt: Halt = never,
) -> Trained:
    """Fine-tune a base, or go on with that.

    Args:
        base: weights and tokenizer; the weights are changed.
        recipe: how.
        learnt: the training set, rendered.
        validation: another set, to stop by; may be empty.
        directory: where checkpoints and the log lie.
        watch: see `turngap.training.moment`.
        halt: the same; asked before every sequence.

    Raises:
        UsageError: there is nothing to learn; or the recipe packs sequences, and on this model they see each other.
            ConfigError: the directory holds checkpoints of another training. StoreError: a checkpoint cannot be
            written or read. Halted: `halt` said so; a checkpoint is written.
    """
    learnt = [one for one in learnt if one.targets]
    if not learnt:
        raise UsageError("there is nothing to learn: no sequence has a learnt token")
    return _Loop(base, recipe, learnt, [one for one in validation if one.targets], directory).run(watch, halt)


class _Loop:
    def __init__(
        self,
        base: Base,
        recipe: Recipe,
        learnt: Sequence[Rendered],
        validation: Sequence[Rendered],
        directory: Path,
    ) -> None:
        self._recipe, self._learnt, self._validation = recipe, learnt, validation
        self._checkpoint = Checkpoint(directory, identity("lean", base, recipe, (learnt, validation)))
        self._log = Log(directory / "log.jsonl")
        self._schedule = Schedule(recipe, len(learnt))
        self._device = device()
        torch.manual_seed(recipe.seed)
        self._model = base.model if recipe.lora is None else wrapped(base.model, recipe.lora, recipe.seed)
        self._model.to(self._device)
        if recipe.checkpointing:
            self._model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if recipe.packing:
            with self._precision():
                require_independent(self._model, self._device)
        self._weights = {name: one for name, one in self._model.named_parameters() if one.requires_grad}
        self._optimiser = torch.optim.AdamW(
            self._weights.values(),
            lr=recipe.learning_rate,
            betas=(recipe.beta1, recipe.beta2),
            eps=recipe.epsilon,
            weight_decay=recipe.weight_decay,
        )

    def run(self, watch: Watch, halt: Halt) -> Trained:
        schedule, recipe = self._schedule, self._recipe
        state = begun = saved = self._checkpoint.load(self._weights, self._optimiser)
        self._log.cut(state.step - state.looking)
        began = time.monotonic()
        while (state.step < schedule.steps or state.looking) and not state.stopped:
            try:
                if not state.looking:
                    state = self._stepped(state, halt)
                    state = msgspec.structs.replace(state, seconds=begun.seconds + time.monotonic() - began)
                validated = self._validate(halt) if state.looking else None
            except _AskedToStop:
                # The weights are those of `state`, also where a step is done and the look after it is not.
                if state is not saved:
                    self._checkpoint.save(self._weights, self._optimiser, state)
                raise Halted(state.step, schedule.steps) from None
            seconds = time.monotonic() - began
            state = self._looked(state, validated, begun.seconds + seconds)
            step = state.step
            moment = Moment(
                step=step,
                steps=schedule.steps,
                epoch=schedule.epoch(step),
                loss=state.loss,
                validation=state.validated,
                learning_rate=schedule.rate(step),
                tokens_per_second=(state.tokens - begun.tokens) / max(seconds, 1e-9),
                seconds=seconds,
            )
            self._log.add(moment)
            watch(moment)
            if step % recipe.save == 0 or step == schedule.steps or state.stopped:
                self._checkpoint.save(self._weights, self._optimiser, state)
                saved = state
        if state.best is not None:
            self._checkpoint.load_best(self._weights)
        return Trained(
            model=self._model,
            steps=state.step,
            loss=state.loss if state.step > begun.step or begun.looking else None,
            validation=state.best,
            tokens=state.tokens,
            seconds=state.seconds,
            stopped=state.stopped,
        )

    def _stepped(self, state: State, halt: Halt) -> State:
        """Where the training is after the next step, before the look at the validation set that may be due."""
        step = state.step + 1
        sequences = [self._learnt[index] for index in self._schedule.batch(step)]
        return msgspec.structs.replace(
            state,
            loss=self._step(step, sequences, halt),
            step=step,
            tokens=state.tokens + sum(len(one.tokens) for one in sequences),
            looking=bool(self._validation) and self._schedule.looks(step),
        )

    def _looked(self, state: State, validated: float | None, seconds: float) -> State:
        """Where the training is after a step and its look, if there was one; a best model is kept."""
        best, bad = state.best, state.bad
        if validated is not None:
            better = best is None or validated < best
            best, bad = (validated, 0) if better else (best, bad + 1)
            if better:
                self._checkpoint.save_best(self._weights)
        tired = bool(self._recipe.patience) and bad >= self._recipe.patience
        return msgspec.structs.replace(
            state,
            looking=False,
            seconds=seconds,
            best=best,
            bad=bad,
            validated=state.validated if validated is None else validated,
            stopped=f"no better validation loss in {bad} looks" if tired and state.step < self._schedule.steps else "",
        )

    def _step(self, step: int, sequences: Sequence[Rendered], halt: Halt) -> float:
        """One change of the weights; the mean loss before it. Where it is halted, the weights are as they were."""
        self._model.train()
        self._optimiser.zero_grad(set_to_none=True)
        torch.manual_seed((self._recipe.seed << 20) + step)  # dropout is the same after a resume
        targets = sum(one.targets for one in sequences)
        total = 0.0
        for row in self._rows(sequences):
            _heed(halt)
            loss = self._loss(row) / targets
            torch.autograd.backward(loss)
            total += loss.item()
        if self._recipe.clip:
            torch.nn.utils.clip_grad_norm_(list(self._weights.values()), self._recipe.clip)
        for group in self._optimiser.param_groups:
            group["lr"] = self._schedule.rate(step)
        self._optimiser.step()
        return total

    def _validate(self, halt: Halt) -> float:
        self._model.eval()
        total = 0.0
        with torch.no_grad():
            for row in self._rows(self._validation):
                _heed(halt)
                total += self._loss(row).item()
        return total / sum(one.targets for one in self._validation)

    def _rows(self, sequences: Sequence[Rendered]) -> Iterator[list[Rendered]]:
        """What is computed at once: one sequence, or with packing as many in a row as the limit allows."""
        row: list[Rendered] = []
        for one in sequences:
            full = sum(len(other.tokens) for other in row) + len(one.tokens) > self._recipe.limit
            if row and (full or not self._recipe.packing):
                yield row
                row = []
            row.append(one)
        if row:
            yield row

    def _loss(self, row: Sequence[Rendered]) -> torch.Tensor:
        """The sum over the learnt tokens of a row, each as often as it is learnt."""
        tokens = torch.tensor([[token for one in row for token in one.tokens]], device=self._device)
        counts = torch.tensor([count for one in row for count in one.learnt], device=self._device)
        starts = [0, *accumulate(len(one.tokens) for one in row)][:-1]
        counts[starts] = 0  # the first token of a sequence follows from nothing
        before = torch.nonzero(counts[1:]).squeeze(1)
        # Positions that begin anew tell the model where sequences meet; none sees another.
        places = [place for one in row for place in range(len(one.tokens))]
        settings = {"position_ids": torch.tensor([places], device=self._device)} if len(row) > 1 else {}
        with self._precision():
            logits = self._model(input_ids=tokens, logits_to_keep=before, use_cache=False, **settings).logits[0]
        losses = torch.nn.functional.cross_entropy(logits.float(), tokens[0, 1:][before], reduction="none")
        return (losses * counts[1:][before]).sum()

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        if not in_bf16(self._recipe, self._device):
            return contextlib.nullcontext()
        found: contextlib.AbstractContextManager[Any] = torch.autocast(self._device.type, dtype=torch.bfloat16)
        return found


class _AskedToStop(Exception):
    pass


def _heed(halt: Halt) -> None:
    if halt():
        raise _AskedToStop
