"""Generate with a causal language model of transformers: many conversations at once, each with a memory of its own.

A conversation has a row in which the keys and values of its tokens stay. What a new prompt shares with what a row
holds, token by token, is not computed again: the next turn of a conversation costs its new tokens only, and a new
conversation starts from the policy and tools of another one. Rows never move, so requests join and leave at any token,
and the batch is always exactly what is being generated.

Prompts are read one by one, without padding; only the generation of tokens is batched. What a request gets does not
hang on what else is in the batch, up to the rounding of sums, which hangs on the shape of a batch in every library of
matrices. Models whose memory is more than keys and values (state-space layers, say) are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from turngap.errors import ConfigError
from turngap.models import hub
from turngap.models.asking import Answer, Ask

_PIECE = 512
"""Tokens of a prompt that are read at once."""
_GROWTH = 256
_FULL, _SLIDING = "full_attention", "sliding_attention"


class Generator:
    """A loaded model. Not safe for several threads.

    Args:
        folder: of transformers.
        rows: how many conversations are remembered, and generated at once.
        stops: tokens that end an answer.
        numbers: ``auto`` (as stored on an accelerator, float32 on a processor), or a type of torch.

    Raises:
        ConfigError: the model cannot be loaded, or is of a kind that is refused.
    """

    def __init__(self, folder: Path, *, rows: int, stops: Sequence[int], numbers: str = "auto") -> None:
        library = hub.library()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        wanted = "float32" if numbers == "auto" and self.device.type == "cpu" else numbers
        try:
            self._model = library.AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=wanted, attn_implementation="sdpa"
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            said = " ".join(str(error).split())[:300]
            raise ConfigError(f"{folder}: transformers cannot load it: {said}") from None
        self._model.to(self.device).eval()
        self._layers = self._kinds()
        self._stops = frozenset(stops)
        self._memory = _Memory(rows, self.device)
        self._active: list[_Row] = []

    def _kinds(self) -> tuple[str, ...]:
        """The kinds of attention that masks are needed for; empty where all is full attention."""
        config = self._model.config.get_text_config()
        kinds = tuple(dict.fromkeys(getattr(config, "layer_types", None) or ()))
        if set(kinds) - {_FULL, _SLIDING}:
            raise ConfigError(
                f"models with layers of {', '.join(sorted(set(kinds) - {_FULL, _SLIDING}))} are not generated with "
                "here; serve it, and ask it as openai/NAME"
            )
        return kinds if _SLIDING in kinds else ()

    @property
    def free(self) -> int:
        """How many more can be begun now."""
        return len(self._memory.rows) - len(self._active)

    @property
    def busy(self) -> bool:
        """Whether an answer is under way."""
        return bool(self._active)

    def begin(self, ask: Ask) -> int:
        """Read a prompt; its answer comes out of `step` some time under the number that is returned.

        Raises:
            IndexError: nothing is `free`.
        """
        row = self._memory.take(ask.prompt)
        row.begin(ask, self.device)
        known = row.reused
        logits = None
        while known < len(ask.prompt):
            piece = ask.prompt[known : known + _PIECE]
            logits = self._forward([row], torch.tensor([piece], device=self.device))
            known += len(piece)
        if logits is None:  # the last token is never taken over
            raise IndexError("an empty prompt")
        row.known = list(ask.prompt)
        row.pick(logits[0], self._stops)
        self._active.append(row)
        self._active.sort(key=lambda one: one.place)
        return row.number

    def step(self) -> list[tuple[int, Answer]]:
        """One more token for every answer under way; those that are complete are returned and under way no more."""
        complete = [row for row in self._active if row.complete]
        done = [(row.number, row.answer()) for row in complete]
        self._let_go(complete)
        if not self._active:
            return done
        tokens = torch.tensor([[row.latest] for row in self._active], device=self.device)
        logits = self._forward(self._active, tokens)
        for row, scores in zip(self._active, logits, strict=True):
            row.known.append(row.latest)
            row.pick(scores, self._stops)
        return done

    def drop(self, number: int) -> None:
        """Give an answer up; what is unknown is ignored."""
        self._let_go([row for row in self._active if row.number == number])

    def forget(self) -> None:
        """Know no prompt any more; what is under way goes on."""
        self._memory.forget()

    def _let_go(self, rows: Sequence[_Row]) -> None:
        for row in rows:
            row.free = True
        self._active = [row for row in self._active if not row.free]

    def _forward(self, rows: Sequence[_Row], tokens: torch.Tensor) -> torch.Tensor:
        """Scores of the token behind each row, rows x vocabulary, in float32."""
        starts = [row.filled for row in rows]
        count = tokens.shape[1]
        memory = self._memory
        memory.aim(rows, count)
        places = torch.tensor([[start + offset for offset in range(count)] for start in starts], device=self.device)
        with torch.inference_mode():
            scores = self._model(
                input_ids=tokens,
                position_ids=places,
                attention_mask=self._mask(places, max(starts) + count),
                past_key_values=memory,
                use_cache=True,
                logits_to_keep=1,
            ).logits[:, -1]
        for row in rows:
            row.filled += count
        return scores.float()

    def _mask(self, places: torch.Tensor, width: int) -> Any:
        """Who sees whom: rows x 1 x tokens x remembered tokens."""
        keys = torch.arange(width, device=self.device)
        full = (keys <= places[:, :, None])[:, None]
        if not self._layers:
            return full
        window = self._model.config.get_text_config().sliding_window
        near = full & (keys > places[:, :, None] - window)[:, None]
        return {kind: near if kind == _SLIDING else full for kind in self._layers}


class _Row:
    """One conversation's place."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.number = -1
        """Of the answer that it is, or was, busy with."""
        self.used = 0
        """When it was last taken; a count."""
        self.known: list[int] = []
        """The tokens whose keys and values it holds."""
        self.filled = 0
        """How many these are, also while a prompt is being read."""
        self.reused = self.asked = 0
        """Tokens of its last prompt: those taken over, and all."""
        self.free = True
        self.latest = 0
        self.complete = False
        """Whether the answer is; somebody may still have to fetch it."""
        self._said: list[int] = []
        self._generated = 0
        self._ended = False
        self._ask: Ask | None = None
        self._dice: torch.Generator | None = None

    def begin(self, ask: Ask, device: torch.device) -> None:
        self._ask, self._said, self._generated, self._ended, self.complete = ask, [], 0, False, False
        self._dice = None
        if ask.temperature > 0:
            self._dice = torch.Generator(device)
            self._dice.manual_seed(ask.seed)

    def pick(self, scores: torch.Tensor, stops: frozenset[int]) -> None:
        """Choose the next token."""
        ask = self._ask
        if ask is None:
            raise IndexError("nothing was asked")
        if self._dice is None:
            token = int(scores.argmax())
        else:
            chances = torch.softmax(scores / ask.temperature, dim=-1)
            token = int(torch.multinomial(chances, 1, generator=self._dice))
        self._generated += 1
        self.latest = token
        if token in stops:
            self._ended = self.complete = True
            return
        self._said.append(token)
        self.complete = self._generated >= ask.most

    def answer(self) -> Answer:
        return Answer(tokens=tuple(self._said), ended=self._ended, generated=self._generated, reused=self.reused)


class _Memory:
    """Keys and values of all rows; what transformers calls a cache, as far as models use it."""

    is_compileable = False
    is_sliding = False

    def __init__(self, rows: int, device: torch.device) -> None:
        self.rows = [_Row(place) for place in range(rows)]
        self._device = device
        self._keys: dict[int, torch.Tensor] = {}
        self._values: dict[int, torch.Tensor] = {}
        self._taken = 0
        self._aimed: Sequence[_Row] = ()
        self._count = self._width = self._capacity = 0

    def take(self, prompt: Sequence[int]) -> _Row:
        """A free row for a prompt, with as much of it as any row knows; the last token is never known."""
        free = [row for row in self.rows if row.free]
        if not free:
            raise IndexError("no row is free")
        shared = {row.place: min(_common(row.known, prompt), len(prompt) - 1) for row in self.rows}
        # The row whose conversation goes on: the prompt holds all of what it was asked last.
        going_on = [row for row in free if row.known and shared[row.place] >= row.asked - 1]
        if going_on:
            row = max(going_on, key=lambda one: (shared[one.place], one.used))
        else:
            row = min(free, key=lambda one: (bool(one.known), one.used, one.place))
        best = max(self.rows, key=lambda one: shared[one.place])
        count = shared[best.place]
        if count > shared[row.place]:
            self._copy(best, row, count)
        row.known, row.filled, row.reused, row.asked, row.free = list(prompt[:count]), count, count, len(prompt), False
        self._taken += 1
        row.used = row.number = self._taken
        return row

    def forget(self) -> None:
        """Let free rows hold nothing."""
        for row in self.rows:
            if row.free:
                row.known, row.filled = [], 0

    def aim(self, rows: Sequence[_Row], count: int) -> None:
        """Say which rows the next pass is about, and how many tokens each gets."""
        self._aimed, self._count = rows, count
        self._width = max(row.filled for row in rows) + count
        if self._width > self._capacity:
            self._capacity = -(-self._width // _GROWTH) * _GROWTH + _GROWTH

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_arguments: Any, **_settings: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Remember the keys and values of a layer, and give all that the rows have of it."""
        return self._updated(self._keys, keys, layer), self._updated(self._values, values, layer)

    def get_seq_length(self, _layer: int = 0) -> int:
        """How many tokens the longest row holds."""
        return max((row.filled for row in self._aimed), default=0)

    def _updated(self, held: dict[int, torch.Tensor], new: torch.Tensor, layer: int) -> torch.Tensor:
        """New is rows x heads x tokens x width."""
        found = held.get(layer)
        if found is None or found.shape[2] < self._capacity:
            grown = new.new_zeros((len(self.rows), new.shape[1], self._capacity, new.shape[3]))
            if found is not None:
                grown[:, :, : found.shape[2]] = found
            found = held[layer] = grown
        for at, row in enumerate(self._aimed):
            found[row.place, :, row.filled : row.filled + self._count] = new[at]
        places = [row.place for row in self._aimed]
        if places[-1] - places[0] + 1 == len(places):
            return found[places[0] : places[-1] + 1, :, : self._width]
        return found[places, :, : self._width]

    def _copy(self, source: _Row, target: _Row, count: int) -> None:
        with torch.inference_mode():
            for tensor in (*self._keys.values(), *self._values.values()):
                tensor[target.place, :, :count] = tensor[source.place, :, :count]


def _common(one: Sequence[int], two: Sequence[int]) -> int:
    """How many tokens two begin with alike."""
    most = min(len(one), len(two))
    if list(one[:most]) == list(two[:most]):
        return most
    return next(at for at in range(most) if one[at] != two[at])
