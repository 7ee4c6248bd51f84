"""Models of a few thousand weights, and conversations at the boat-hire desk to train them on; needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, ToolSpec, UserMessage
from turngap.models import hub
from turngap.training import exchange, making, vocabulary
from turngap.training.base import Base

SPEC = "new:qwen3?hidden=32&layers=2&heads=2&vocabulary=384"

_TOOLS = tuple(
    ToolSpec(
        name=name,
        parameters={"type": "object", "properties": {key: {"type": kind} for key, kind in parameters.items()}},
    )
    for name, parameters in (
        ("get_booking", {"booking_id": "string"}),
        ("move_booking", {"booking_id": "string", "day": "integer"}),
    )
)


def require(*packages: str) -> None:
    """Skip the test where a package for training is missing; import torch quietly where it is there."""
    hub.prepare(purpose="the tests")
    for package in ("torch", "transformers", *packages):
        pytest.importorskip(package, reason=f"training needs {package}: pip install 'turngap[train]'")
    hub.library()


def talk(number: int) -> Conversation:
    """A customer moves a booking: four decisions, two of them calls."""
    booking, day = f"BK-{1000 + 7 * number}", number % 28 + 1
    return Conversation(
        id=f"talk-{number}",
        policy="You work for a boat hire. Ask for a yes.",
        tools=_TOOLS,
        messages=(
            UserMessage(content=f"Please move {booking} to {day} May."),
            AssistantMessage(calls=(ToolCall(name="get_booking", arguments={"booking_id": booking}),)),
            ToolMessage(name="get_booking", content='{"state": "open"}'),
            AssistantMessage(content=f"Shall I move {booking} to {day} May?"),
            UserMessage(content="Yes."),
            AssistantMessage(calls=(ToolCall(name="move_booking", arguments={"booking_id": booking, "day": day}),)),
            ToolMessage(name="move_booking", content='{"ok": true}'),
            AssistantMessage(content="Done."),
        ),
    )


def examples(directory: Path, talks: int = 6, **settings: Any) -> Path:
    """A set of examples from so many conversations, one of them or so to validate."""
    options = making.Options(**{"validation": 0.3, **settings})
    made = making.make(map(talk, range(talks)), options)
    exchange.write(directory, made, exchange.Manifest(options=options, sources=("boats",), counts=made.counts()))
    return directory


def tokenizer() -> Any:
    """A tokenizer that knows the boat-hire desk."""
    return vocabulary.byte_level_tokenizer(vocabulary.texts_of(map(talk, range(6))), 384)


def saved(directory: Path, *, seed: int = 0, layers: int = 2, **settings: Any) -> Path:
    """A random model of Qwen3's architecture in a folder of transformers."""
    library, made = hub.library(), tokenizer()
    pytest.importorskip("torch").manual_seed(seed)
    config = library.Qwen3Config(
        **{
            "vocab_size": len(made),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": layers,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "max_position_embeddings": 2048,
            "tie_word_embeddings": True,
            "initializer_range": 0.3,  # else all tokens are about as likely, and the likeliest is chance
            "bos_token_id": None,
            "eos_token_id": made.eos_token_id,
            "pad_token_id": made.pad_token_id,
            **settings,
        }
    )
    library.Qwen3ForCausalLM(config).save_pretrained(directory)
    made.save_pretrained(directory)
    return directory


def leaky(loaded: Base) -> Base:
    """The base as a model whose sequences see each other in a row: a mask of ones hides where one begins."""
    torch = pytest.importorskip("torch")
    kind: Any = type(loaded.model)

    class Leaky(kind):  # type: ignore[misc]
        def forward(self, input_ids: Any, attention_mask: Any = None, **settings: Any) -> Any:
            del attention_mask
            return super().forward(input_ids, attention_mask=torch.ones_like(input_ids), **settings)

    return msgspec.structs.replace(loaded, model=Leaky(loaded.model.config))
