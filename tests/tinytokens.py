"""Tokenizers of a few hundred tokens that have the marks and the chat templates of real families, trained on the spot."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from turngap.models.turns import CHATML

_LINES = (
    "Please move BK-1042 to 2 May. It is for two people on 30 April. Shall I move it to 2 May? Yes.",
    "You work for a boat hire. Look a booking up before you change it. Ask for a yes before you move it.",
    '{"name": "get_booking", "arguments": {"booking_id": "BK-1042"}} {"ok": true} "parameters" "type": "object"',
    "system user assistant tool model ipython Today Date Environment function description properties required",
)
_CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_LLAMA = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
)
_GEMMA = ("<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>")
FAMILIES: dict[str, tuple[tuple[str, ...], str | None, str, str]] = {
    "ours": (_CHATML, None, "<|im_end|>", ""),
    "qwen3": (_CHATML, None, "<|im_end|>", "qwen3.jinja"),
    "gemma3": (_GEMMA, "<bos>", "<end_of_turn>", "gemma3.jinja"),
    "llama3_1": (_LLAMA, "<|begin_of_text|>", "<|eot_id|>", "llama3_1.jinja"),
    "llama3_2": (_LLAMA, "<|begin_of_text|>", "<|eot_id|>", "llama3_2.jinja"),
    "llama3": (_LLAMA, "<|begin_of_text|>", "<|eot_id|>", "llama3.jinja"),
}
"""Family -> its marks, the one that begins a text, the one that ends a turn, and the file of its template in trl."""


def trl_template(name: str) -> str:
    """A chat template that comes with trl; skips the test where trl is not installed."""
    found = find_spec("trl")
    if found is None or found.origin is None:
        pytest.skip("trl, which has the chat templates of the families, is not installed")
    return (Path(found.origin).parent / "chat_templates" / name).read_text(encoding="utf-8")


def family(name: str) -> Any:
    """A tokenizer of a family, with its template; skips the test where transformers or trl are not installed."""
    made = marked(*FAMILIES[name][:3])
    template = FAMILIES[name][3]
    made.chat_template = trl_template(template) if template else CHATML.source()
    return made


def templated_with(template: str) -> Any:
    """A ChatML tokenizer with a template."""
    made = marked(*FAMILIES["ours"][:3])
    made.chat_template = template
    return made


def marked(marks: tuple[str, ...], bos: str | None, eos: str) -> Any:
    """A new tokenizer with these marks."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    pytest.importorskip("transformers")
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415 - may be missing

    return PreTrainedTokenizerFast(
        tokenizer_object=_trained(marks),
        eos_token=eos,
        additional_special_tokens=list(marks),
        **({"bos_token": bos} if bos else {}),
    )


@cache
def _trained(marks: tuple[str, ...]) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = split.Sequence(
        [split.Digits(individual_digits=True), split.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=500, special_tokens=list(marks), initial_alphabet=split.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_LINES, trainer)
    return tokenizer
