"""Conversations of ToolTalk: one JSON object a file, with calls that stand BEFORE the text of their turn.

Each call of a turn is a decision of its own, followed by its result, because later calls use what earlier ones returned
(the token of a login); then the turn's text is a text decision. What the agent knows beforehand (place, time, the
session) is the policy. The catalogue ``tools.json`` is found beside the conversations or one folder up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from turngap import jsonio
from turngap.data import Conversation
from turngap.errors import DataError
from turngap.formats.assemble import WireCall, WireMessage, assemble
from turngap.formats.base import Findings, GivenTools, Record, convert_each
from turngap.formats.openai import content_id
from turngap.formats.records import json_document, load_document, top_keys
from turngap.formats.toolfile import is_catalogue, tools_of

_CATALOGUE = "tools.json"
_ROLES = ("user", "assistant")


class ToolTalk:
    """Reader of ToolTalk conversations."""

    name = "tooltalk"

    def __init__(self) -> None:
        self._catalogues: dict[Path, GivenTools] = {}

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the object has a conversation and ToolTalk's lists of tools or metadata."""
        del path
        is_list, keys = top_keys(head)
        return not is_list and "conversation" in keys and bool({"apis_used", "suites_used", "metadata"} & keys)

    def members(self, path: Path) -> Iterable[Path]:
        """The catalogue that the file is read with."""
        return [folder / _CATALOGUE for folder in (path.parent, path.parent.parent)]

    def read(self, path: Path, given: GivenTools) -> Iterator[Record | DataError]:
        """Yield the one conversation of a file."""
        tools = given if given.specs else self._catalogue_near(path)
        return convert_each(json_document(path), partial(_conversation, given=tools))

    def _catalogue_near(self, path: Path) -> GivenTools:
        """The catalogue for a file; read once a place, since every conversation is a file of its own."""
        for folder in (path.parent, path.parent.parent):
            if folder not in self._catalogues:
                file = folder / _CATALOGUE
                value = load_document(file) if file.is_file() else None
                self._catalogues[folder] = tools_of(value, file) if is_catalogue(value) else GivenTools()
            if self._catalogues[folder].specs:
                return self._catalogues[folder]
        return GivenTools()


def _conversation(value: Any, findings: Findings, given: GivenTools) -> Conversation:
    place = findings.place
    turns = value.get("conversation") if isinstance(value, dict) else None
    if not isinstance(turns, list) or not turns:
        raise place.error("a ToolTalk file should be an object with a list of turns", "conversation")
    wires: list[WireMessage] = []
    for index, turn in enumerate(turns):
        wires += _turn(turn, f"conversation[{index}]", findings)
    assembled = assemble(wires, given.specs, findings)
    if not given.specs and any(wire.calls for wire in wires):
        findings.note("no_tools", "calls without tool specifications")
    goal = value.get("scenario")
    conversation_id = value.get("conversation_id")
    return Conversation(
        id=str(value.get("name") or conversation_id or content_id(turns)),
        policy=_policy(value.get("metadata")),
        tools=given.specs,
        messages=assembled.messages,
        goal=goal if isinstance(goal, str) and goal else None,
        metadata={"conversation_id": conversation_id} if isinstance(conversation_id, str) else {},
        source=place.source(),
    )


def _policy(metadata: Any) -> str:
    if not isinstance(metadata, dict) or not metadata:
        return ""
    known = [f"{key}: {item if isinstance(item, str) else jsonio.dumps(item)}" for key, item in metadata.items()]
    return "\n".join(["You help the user with the given tools. Known at the start:", *known])


def _turn(turn: Any, at: str, findings: Findings) -> list[WireMessage]:
    role = turn.get("role") if isinstance(turn, dict) else None
    if role not in _ROLES:
        raise findings.place.error(f"unknown role {role!r}; known: {', '.join(_ROLES)}", f"{at}.role")
    calls: list[WireMessage] = []
    for index, api in enumerate(turn.get("apis") or ()):
        calls += _call(api, f"{at}.apis[{index}]", findings)
    return [*calls, WireMessage(role=role, content=str(turn.get("text") or ""), at=at)]


def _call(api: Any, at: str, findings: Findings) -> list[WireMessage]:
    request = api.get("request") if isinstance(api, dict) else None
    if not isinstance(request, dict):
        raise findings.place.error("a call should be an object with a request", at)
    call = WireCall(name=str(request.get("api_name") or ""), arguments=request.get("parameters"), at=at)
    made = WireMessage(role="assistant", calls=(call,), at=at)
    exception, response = api.get("exception"), api.get("response")
    if exception:
        text = exception if isinstance(exception, str) else jsonio.dumps(exception)
        return [made, WireMessage(role="tool", content=jsonio.dumps({"error": text}), error=True, at=at)]
    if response is None:
        return [made]
    return [made, WireMessage(role="tool", content=jsonio.dumps(response), at=at)]
