"""Looking at a server before a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chatserver import ChatServer, text

from turngap.config import ModelConfig
from turngap.data import ToolSpec, UserMessage
from turngap.models.base import ModelContext, Request, Seat
from turngap.models.chat import ChatModel, build
from turngap.models.preflight import Findings

Start = Callable[..., ChatServer]
_REQUEST = Request(
    policy="Be kind.",
    tools=(ToolSpec(name="get_booking"),),
    messages=(UserMessage(content="Hi"),),
    seat=Seat(conversation="c", protocol="gold", decision=0),
)


async def _look(server: ChatServer) -> tuple[Findings, list[str]]:
    notes: list[str] = []
    config = ModelConfig(spec="openai/m", base_url=server.url, api_key_env="NO_SUCH_KEY")
    model: ChatModel = build(config, ModelContext(notify=notes.append))
    findings = await model.preflight(_REQUEST)
    await model.preflight(_REQUEST)
    await model.aclose()
    return findings, notes


async def test_a_server_that_tells_nothing_is_fine(chat_server: Start) -> None:
    """No side door answers: nothing is known, nothing is said, nothing raises."""
    assert await _look(chat_server([text("Hi.")])) == (Findings(), [])


async def test_the_context_length_is_read_where_it_is_told(chat_server: Start) -> None:
    """Some servers tell it per model, llama.cpp in its properties."""
    server = chat_server([text("Hi.")])
    server.pages["/v1/models"] = {"data": [{"id": "m", "max_model_len": 4096}, {"id": "o", "max_model_len": 1}]}
    assert (await _look(server))[0].context_length == 4096
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 2048}}
    assert (await _look(server))[0].context_length == 2048


async def test_a_template_that_drops_tools_is_told_once(chat_server: Start) -> None:
    """A rendered prompt without the tools' names is a warning with the remedy; one with them is none."""
    server = chat_server([text("Hi.")])
    server.pages["/props"] = {}
    server.pages["/apply-template"] = {"prompt": "Be kind. Hi"}
    findings, notes = await _look(server)
    assert findings.renders_tools is False
    assert len(notes) == 1
    assert "--fold-roles" in notes[0]

    def whole(body: dict[str, Any]) -> dict[str, str]:
        return {"prompt": str(body)}

    server.pages["/apply-template"] = whole
    findings, notes = await _look(server)
    assert findings.renders_tools is True
    assert notes == []


async def test_a_model_that_the_server_does_not_list_is_told(chat_server: Start) -> None:
    """A typo in the name shows before the run."""
    server = chat_server([text("Hi.")])
    server.pages["/v1/models"] = {"data": [{"id": "another"}]}
    assert "another" in (await _look(server))[1][0]


async def test_rubbish_from_side_doors_is_ignored(chat_server: Start) -> None:
    """Documents of other shapes say nothing."""
    server = chat_server([text("Hi.")])
    server.pages.update({"/v1/models": ["x"], "/props": {"n_ctx": "many"}, "/apply-template": [1]})
    assert await _look(server) == (Findings(), [])
