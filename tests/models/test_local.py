"""Models served here by llama.cpp."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, UserMessage
from turngap.errors import ConfigError, UsageError
from turngap.models import build
from turngap.models.base import ModelContext, Request, Seat, workers
from turngap.models.local import UNTUNED_TOKENS, LocalModel
from turngap.models.packaged import PACKAGED
from turngap.models.turns import CHATML, GEMMA, Turns

pytestmark = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the extra 'local'")


def _needs(name: str) -> pytest.MarkDecorator:
    one = PACKAGED[name]
    return pytest.mark.skipif(find_spec(one.module) is None, reason=f"needs the weights in {one.package}")


def _request(conversation: Conversation, *messages: Any, policy: str | None = None) -> Request:
    return Request(
        policy=conversation.policy if policy is None else policy,
        tools=conversation.tools[:2],
        messages=messages or conversation.messages[:1],
        seat=Seat(conversation=conversation.id, protocol="gold", decision=0),
    )


@_needs("smollm2")
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


@_needs("smollm2")
@pytest.mark.slow
def test_a_file_whose_own_template_drops_tools_gets_ours(boat_conversation: Conversation) -> None:
    """The same weights as a plain GGUF file: the drop is noticed, told and cured."""
    notes: list[str] = []
    model = build(
        ModelConfig(spec=f"local/{PACKAGED['smollm2'].file()}", max_tokens=4), ModelContext(notify=notes.append)
    )

    async def once() -> Any:
        assert isinstance(model, LocalModel)
        try:
            return await model.preflight(_request(boat_conversation))
        finally:
            await model.aclose()

    assert asyncio.run(once()).renders_tools is True
    assert len(notes) == 1
    assert "drops tools" in notes[0]


@_needs("gemma3-270m")
@pytest.mark.slow
@pytest.mark.parametrize("by_name", [True, False])
def test_gemma_is_asked_in_its_own_turns(
    by_name: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boat_conversation: Conversation
) -> None:
    """By its name it has our template at once; as a file, which has none, when it is found to drop tools."""
    monkeypatch.setenv("TURNGAP_CACHE", str(tmp_path))
    notes: list[str] = []
    spec = "local/gemma3-270m" if by_name else f"local/{PACKAGED['gemma3-270m'].file()}"
    model = build(ModelConfig(spec=spec, max_tokens=4), ModelContext(notify=notes.append))
    assert isinstance(model, LocalModel)

    async def once() -> Any:
        try:
            request = _request(boat_conversation)
            return await model.preflight(request), await model.act(request)
        finally:
            await model.aclose()

    findings, answer = asyncio.run(once())
    assert findings.renders_tools is True
    # In turns that it does not know, each mark would be several tokens.
    assert answer.usage.prompt_tokens == 244
    assert len(notes) == (0 if by_name else 1)


def test_a_packaged_model_is_built_from_what_its_package_puts_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`local/gemma3-270m` has the file in the cache, Gemma's template and few tokens; its identity says so."""
    one = PACKAGED["gemma3-270m"]
    (tmp_path / one.module).mkdir()
    code = "def assemble(path):\n    path.write_bytes(b'GGUF')\n    return path\n"
    (tmp_path / one.module / "__init__.py").write_text(code, encoding="utf-8")
    about = tmp_path / f"{one.module}-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {one.package}\nVersion: 9\n", encoding="utf-8")
    monkeypatch.setenv("TURNGAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, one.module, raising=False)
    identity = build(ModelConfig(spec="local/gemma3-270m", max_tokens=4096)).identity()
    del sys.modules[one.module]
    assert (identity["file"], identity["max_tokens"]) == ("gemma3-270m-9.gguf", UNTUNED_TOKENS)
    assert identity["template"] == jsonio.digest(GEMMA.source())


@pytest.mark.parametrize(
    ("vocabulary", "turns"),
    [(b"<bos><start_of_turn>", GEMMA), (b"<|im_start|>", CHATML), (b"", CHATML)],
)
def test_the_template_of_ours_is_the_one_whose_marks_a_file_knows(
    vocabulary: bytes, turns: Turns, tmp_path: Path
) -> None:
    """Where the template of a file drops tools, the one that takes its place has marks of the file's vocabulary."""
    file = tmp_path / "some.gguf"
    file.write_bytes(b"GGUF" + vocabulary)
    identity = build(ModelConfig(spec=f"local/{file}")).identity()
    assert identity["fallback_template"] == jsonio.digest(turns.source())


@_needs("smollm2")
def test_building_loads_nothing_and_caps_tokens() -> None:
    """A model is built in no time, and its identity says what decides its answers."""
    started = time.monotonic()
    model = build(ModelConfig(spec="local/smollm2", max_tokens=4096))
    assert time.monotonic() - started < 1
    identity = model.identity()
    assert identity["max_tokens"] == UNTUNED_TOKENS
    assert identity["file"].endswith(".gguf")
    assert identity == build(ModelConfig(spec="local/smollm2", max_tokens=4096)).identity()


@pytest.mark.parametrize(
    "spec", ["local/no-such-file.gguf", "local/smollm3", "local/", "local/smollm2?x=1", "local/gemma3-270m?x=1"]
)
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


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core gets one engine")
def test_two_conversations_are_served_side_by_side_as_they_are_alone(boat_conversation: Conversation) -> None:
    """Requests under way at once go to engines of their own, and get what they get one after the other."""
    requests = [_request(boat_conversation, UserMessage(content=f"Is boat {number} free?")) for number in range(4)]
    asked = [
        msgspec.structs.replace(one, seat=msgspec.structs.replace(one.seat, conversation=f"c{number % 2}"))
        for number, one in enumerate(requests)
    ]

    async def answers(concurrency: int, *, at_once: bool) -> list[AssistantMessage]:
        model = build(ModelConfig(spec="local/smollm2", max_tokens=12, concurrency=concurrency), ModelContext())
        assert workers(model, 8) == min(concurrency, os.cpu_count() or 1, 2)
        try:
            if at_once:
                return [found.message for found in await asyncio.gather(*map(model.act, asked))]
            return [(await model.act(one)).message for one in asked]
        finally:
            await model.aclose()

    assert asyncio.run(answers(2, at_once=True)) == asyncio.run(answers(1, at_once=False))
