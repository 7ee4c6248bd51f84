"""The same training in TRL's trainer, for one large device or many (``accelerate launch -m turngap train ...``).

TRL gets tokens and labels, never messages: its data sets put records into columns, where the arguments of all calls
become one structure and what a call lacks becomes a null that would be learnt. It sees the sequences in the order of
`turngap.training.schedule`, with the same learning rates, and divides by the learnt tokens of the step, so its losses
are those of `turngap.training.lean` within rounding.

Each device holds all weights (DistributedDataParallel): sharded weights (FSDP, DeepSpeed) are refused, since what is
written in the end would be a part of the model. Checkpoints are TRL's own; the last one that is complete is gone on
from. Non-goals: other losses than cross entropy, streaming data.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from turngap.errors import ConfigError, UsageError
from turngap.training.adapter import wrapped
from turngap.training.base import Base
from turngap.training.checkpoint import Checkpoint, Log, identity
from turngap.training.device import device, in_bf16
from turngap.training.moment import Halt, Halted, Moment, Trained, Watch, never, nobody
from turngap.training.packing import require_independent
from turngap.training.recipe import Recipe
from turngap.training.rendering import Rendered
from turngap.training.schedule import Schedule

IGNORED = -100
"""The label of a token that is not learnt."""
_NEVER = 10**9
"""Steps between what the callback decides instead."""


def columns(sequences: Sequence[Rendered]) -> datasets.Dataset:
    """Sequences as the data set that TRL takes as it is: ``input_ids`` and ``labels``.

    Raises:
        UsageError: a token is to be learnt several times, which a label cannot say.
    """
    more = next((one.id for one in sequences if max(one.learnt, default=0) > 1), None)
    if more is not None:
        raise UsageError(f"{more}: TRL's labels cannot say that a token is learnt several times; choose --engine lean")
    labels = [
        [token if mark else IGNORED for token, mark in zip(one.tokens, one.learnt, strict=True)] for one in sequences
    ]
    return datasets.Dataset.from_dict({"input_ids": [list(one.tokens) for one in sequences], "labels": labels})


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
    """Fine-tune a base, or go on with that; arguments and errors as `turngap.training.lean.train`.

    Raises:
        UsageError: `Recipe.batch` is no multiple of what the devices compute at once, or as `columns`. ConfigError:
            sharded weights.
    """
    learnt = [one for one in learnt if one.targets]
    validation = [one for one in validation if one.targets]
    if not learnt:
        raise UsageError("there is nothing to learn: no sequence has a learnt token")
    Checkpoint(directory, identity("trl", base, recipe, (learnt, validation)))
    schedule = Schedule(recipe, len(learnt))
    resumed = _last_complete(directory)
    log = Log(directory / "log.jsonl")
    story = _Story(schedule, learnt, recipe, log, watch, halt)
    model = base.model if recipe.lora is None else wrapped(base.model, recipe.lora, recipe.seed)
    trainer = _Trainer(
        schedule=schedule,
        validated=validation,
        model=model,
        args=_settings(recipe, directory, with_validation=bool(validation)),
        train_dataset=_rows(learnt, schedule, recipe.micro * _world()),
        eval_dataset=columns(validation) if validation else None,
        processing_class=base.tokenizer,
        callbacks=[story, *([EarlyStoppingCallback(recipe.patience)] if recipe.patience and validation else [])],
    )
    if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        raise ConfigError(
            "sharded weights (FSDP, DeepSpeed) are not written by turngap; use accelerate's multi-GPU mode"
        )
    trainer.remove_callback(PrinterCallback)  # standard output is ours
    if recipe.packing:
        with trainer.compute_loss_context_manager():
            require_independent(trainer.model, trainer.accelerator.device)
    story.agree = trainer.agree
    if trainer.is_world_process_zero():
        log.cut(0 if resumed is None else _step_of(resumed))
    trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
    state = trainer.state
    if story.halted:
        raise Halted(state.global_step, schedule.steps)
    early = state.global_step < schedule.steps
    return Trained(
        model=trainer.accelerator.unwrap_model(trainer.model),
        steps=state.global_step,
        loss=story.loss,
        validation=state.best_metric,
        tokens=story.tokens(state.global_step),
        seconds=log.seconds(),
        stopped=f"no better validation loss in {recipe.patience} looks" if early else "",
    )


def _rows(learnt: Sequence[Rendered], schedule: Schedule, at_once: int) -> datasets.Dataset:
    """The sequences of all steps in order, and behind them as many without a target as give every device its share.

    What a device lacks in the last step would else be filled up with the first sequences, to be learnt once more.
    """
    order = list(schedule.row())
    few = learnt[0].tokens[:2]
    blank = Rendered(id="", tokens=few, learnt=(0,) * len(few))
    return columns([*learnt, blank]).select([*order, *[len(learnt)] * (-len(order) % at_once)])


def _settings(recipe: Recipe, directory: Path, *, with_validation: bool) -> SFTConfig:
    world = _world()
    at_once = recipe.micro * world
    if recipe.batch % at_once:
        raise UsageError(
            f"a batch of {recipe.batch} sequences cannot be dealt to {world} devices of {recipe.micro} each; "
            f"choose a multiple of {at_once} with --set batch=N, or another micro"
        )
    return SFTConfig(
        output_dir=str(directory / "trl"),
        num_train_epochs=1,  # the rows of all epochs stand in the data set, in order
        train_sampling_strategy="sequential",
        per_device_train_batch_size=recipe.micro,
        gradient_accumulation_steps=recipe.batch // at_once,
        learning_rate=recipe.learning_rate,
        max_grad_norm=recipe.clip,
        bf16=in_bf16(recipe, device()),
        use_cpu=device().type == "cpu",
        gradient_checkpointing=recipe.checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False} if recipe.checkpointing else None,
        max_length=None,
        shuffle_dataset=False,
        padding_free=recipe.packing,
        dataset_kwargs={"skip_prepare_dataset": True},
        eval_strategy="steps" if with_validation else "no",
        eval_steps=_NEVER if with_validation else None,
        save_strategy="steps",
        save_steps=_NEVER,
        save_total_limit=2,
        load_best_model_at_end=with_validation,
        metric_for_best_model="loss" if with_validation else None,
        greater_is_better=False if with_validation else None,
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to=[],
        disable_tqdm=True,
        seed=recipe.seed,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


class _Trainer(SFTTrainer):  # type: ignore[misc]
    """TRL's trainer with our optimiser, our learning rates, and a validation loss that is a mean over tokens."""

    def __init__(self, *, schedule: Schedule, validated: Sequence[Rendered], **settings: Any) -> None:
        self._plan, self._validated = schedule, validated
        super().__init__(**settings)

    def agree(self, *, asked: bool) -> bool:
        """Whether any of the processes was asked to stop; all of them get the same answer."""
        if self.accelerator.num_processes == 1:
            return asked
        told = self.accelerator.reduce(torch.tensor(float(asked), device=self.accelerator.device), reduction="sum")
        return bool(told.item() > 0)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        recipe = self._plan.recipe
        weights = [one for one in (model or self.model).parameters() if one.requires_grad]
        self.optimizer = torch.optim.AdamW(
            weights,
            lr=recipe.learning_rate,
            betas=(recipe.beta1, recipe.beta2),
            eps=recipe.epsilon,
            weight_decay=recipe.weight_decay,
        )
        return self.optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        del num_training_steps
        top = self._plan.recipe.learning_rate
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer or self.optimizer, lambda done: self._plan.rate(min(done + 1, self._plan.steps)) / top
        )
        return self.lr_scheduler

    def evaluate(self, *_arguments: Any, **_settings: Any) -> dict[str, float]:
        """Every process takes its share; those that have fewer repeat one for nothing, as collectives want it."""
        self.model.eval()
        count, world, rank = len(self._validated), self.accelerator.num_processes, self.accelerator.process_index
        total = torch.zeros((), device=self.accelerator.device)
        with torch.no_grad(), self.compute_loss_context_manager():
            for place in range(rank, -(-count // world) * world, world):
                one = self.data_collator([self.eval_dataset[place % count]])
                found = self.model(**self._prepare_inputs(dict(one)), use_cache=False, fused_lm_head=True)
                total -= found.log_probs.sum() * (place < count)
        if world > 1:
            total = self.accelerator.reduce(total, reduction="sum")
        found = {"eval_loss": total.item() / sum(one.targets for one in self._validated)}
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, found)
        self.model.train()
        return found

    def create_model_card(self, *_arguments: Any, **_settings: Any) -> None:
        """None: turngap writes one."""


class _Story(TrainerCallback):  # type: ignore[misc]
    """Decides when to look, to save and to stop, and tells of every step."""

    def __init__(
        self,
        schedule: Schedule,
        learnt: Sequence[Rendered],
        recipe: Recipe,
        log: Log,
        watch: Watch,
        halt: Halt,
    ) -> None:
        self._schedule, self._learnt, self._recipe = schedule, learnt, recipe
        self._log, self._watch, self._halt = log, watch, halt
        self._began, self._begun_at = time.monotonic(), 0
        self._validation: float | None = None
        self._pending: int | None = None
        self.agree: Callable[..., bool] = lambda *, asked: asked
        self.loss: float | None = None
        self.halted = False

    def tokens(self, step: int) -> int:
        """Tokens of all sequences up to a step."""
        row = self._schedule.row()
        return sum(
            len(self._learnt[next(row)].tokens) for _ in range(min(step * self._recipe.batch, self._schedule.total))
        )

    def on_train_begin(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        del args, control
        self._began, self._begun_at = time.monotonic(), state.global_step
        looked = [one["eval_loss"] for one in state.log_history if "eval_loss" in one]
        self._validation = looked[-1] if looked else None

    def on_step_begin(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        del args, control
        self._tell(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        step = state.global_step
        if args.eval_strategy != "no" and self._schedule.looks(step):
            control.should_evaluate = control.should_save = True
        if step % self._recipe.save == 0 or step >= self._schedule.steps:
            control.should_save = True
        if step < self._schedule.steps and self.agree(asked=self._halt()):
            self.halted = control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_kwargs: Any) -> None:
        del args, control
        if logs is not None and "loss" in logs:
            self.loss, self._pending = logs["loss"], state.global_step

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, float] | None = None, **_kwargs: Any
    ) -> None:
        del args, state, control
        self._validation = (metrics or {}).get("eval_loss", self._validation)

    def on_save(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        del args, control
        self._tell(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        del args, control
        self._tell(state)

    def _tell(self, state: Any) -> None:
        """Tell of the last step, when its validation loss is known."""
        step, self._pending = self._pending, None
        if step is None or self.loss is None or not state.is_world_process_zero:
            return
        seconds = time.monotonic() - self._began
        moment = Moment(
            step=step,
            steps=self._schedule.steps,
            epoch=self._schedule.epoch(step),
            loss=self.loss,
            validation=self._validation,
            learning_rate=self._schedule.rate(step),
            tokens_per_second=(self.tokens(step) - self.tokens(self._begun_at)) / max(seconds, 1e-9),
            seconds=seconds,
        )
        self._log.add(moment)
        self._watch(moment)


def _world() -> int:
    from accelerate import PartialState  # noqa: PLC0415 - starts the process group when it is called

    # Processes without accelerators have to be told so, or each takes itself for the only one.
    return int(PartialState(cpu=device().type == "cpu").num_processes)


def _last_complete(directory: Path) -> Path | None:
    """The last checkpoint whose writing was not cut short; what is incomplete is removed."""
    found = sorted((directory / "trl").glob("checkpoint-*"), key=_step_of)
    for one in reversed(found):
        # Written last.
        if (one / "trainer_state.json").is_file():
            return one
        shutil.rmtree(one, ignore_errors=True)
    return None


def _step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])
