"""A tokenizer for a new model: byte-level BPE, trained on the texts that the model will see.

Digits stand alone, so that ids can be copied piece by piece; the marks of turns are tokens of their own. It has our
chat template (`turngap.models.turns.CHATML`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation
from turngap.models import hub
from turngap.models.turns import CHATML

MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Tokens that no text contains: padding, the beginning and the end of a turn."""


def texts_of(conversations: Iterable[Conversation]) -> Iterator[str]:
    """What a tokenizer is trained on: what was said, called and returned, and each policy and set of tools once."""
    seen: set[str] = set()
    for one in conversations:
        setting = jsonio.dumps((one.policy, one.tools))
        if setting not in seen:
            seen.add(setting)
            yield one.policy
            yield from map(jsonio.dumps, one.tools)
        for message in one.messages:
            yield message.content
            for call in message.calls if isinstance(message, AssistantMessage) else ():
                yield jsonio.dumps({"name": call.name, "arguments": call.arguments})


def byte_level_tokenizer(texts: Iterable[str], size: int) -> Any:
    """Train a tokenizer of at most `size` tokens; texts may be few, since every byte is a token already."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415 - wanted only to train

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=max(size, 256 + len(MARKS)),
        special_tokens=list(MARKS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    made: Any = hub.library("training").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=MARKS[0],
        eos_token=MARKS[2],
        additional_special_tokens=[MARKS[1]],
        chat_template=CHATML.source(),
    )
    return made
