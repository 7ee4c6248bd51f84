"""Dialogues of the Schema-Guided Dialogue data: a list of ``{dialogue_id, services, turns}``.

A SYSTEM turn that holds service calls becomes a tool decision with the calls of all its frames, their results, and
then a text decision with the turn's utterance. The tools are the methods of the dialogue's services, from a
``*schema.json`` in the same folder or from ``--tools``. The data has no policy; ours names the services as the schema
describes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turngap import jsonio
from turngap.data import Conversation
from turngap.errors import DataError
from turngap.formats import sgd_schema
from turngap.formats.assemble import WireCall, WireMessage, assemble
from turngap.formats.base import Findings, GivenTools, Record, convert_each
from turngap.formats.openai import content_id
from turngap.formats.records import load_document, read_records, top_keys

_SCHEMAS = "*schema.json"
_SPEAKERS = {"USER": "user", "SYSTEM": "assistant"}


class Sgd:
    """Reader of Schema-Guided Dialogue files."""

    name = "sgd"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first record has turns and a dialogue id or services."""
        del path
        keys = top_keys(head)[1]
        return "turns" in keys and bool({"dialogue_id", "services"} & keys)

    def members(self, path: Path) -> Iterable[Path]:
        """The schemas in the same folder."""
        return sorted(path.parent.glob(_SCHEMAS))

    def read(self, path: Path, given: GivenTools) -> Iterator[Record | DataError]:
        """Yield the dialogues of a file."""
        services = given.services or _services_beside(path)
        return convert_each(read_records(path), lambda value, findings: _dialogue(value, services, given, findings))


def _services_beside(path: Path) -> dict[str, dict[str, Any]]:
    """The services of all schema files in the folder of `path`."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(path.parent.glob(_SCHEMAS)):
        value = load_document(file)
        if sgd_schema.is_schema(value):
            found |= sgd_schema.index_services(value)
    return found


def _dialogue(value: Any, services: dict[str, dict[str, Any]], given: GivenTools, findings: Findings) -> Conversation:
    place = findings.place
    turns = value.get("turns") if isinstance(value, dict) else None
    if not isinstance(turns, list) or not turns:
        raise place.error("a dialogue should be an object with a list of turns", "turns")
    names = [str(name) for name in value.get("services") or ()]
    known = [services[name] for name in names if name in services]
    tools = sgd_schema.tool_specs(known) if known else given.specs
    wires: list[WireMessage] = []
    tool_names = sgd_schema.tool_names(known)
    for index, turn in enumerate(turns):
        wires += _turn(turn, f"turns[{index}]", tool_names, findings)
    assembled = assemble(wires, tools, findings)
    if not tools and any(wire.calls for wire in wires):
        findings.note("no_tools", "service calls without a schema")
    return Conversation(
        id=str(value.get("dialogue_id") or content_id(turns)),
        policy=_policy(known),
        tools=tools,
        messages=assembled.messages,
        metadata={"services": names} if names else {},
        source=place.source(),
    )


def _policy(services: list[dict[str, Any]]) -> str:
    lines = [f"{service['service_name']}: {service.get('description', '')}".rstrip(": ") for service in services]
    return "\n".join(["You help the user with these services.", *lines]) if lines else ""


def _turn(turn: Any, at: str, names: dict[tuple[str, str], str], findings: Findings) -> list[WireMessage]:
    speaker = turn.get("speaker") if isinstance(turn, dict) else None
    if speaker not in _SPEAKERS:
        raise findings.place.error(f"unknown speaker {speaker!r}; known: {', '.join(_SPEAKERS)}", f"{at}.speaker")
    said = WireMessage(role=_SPEAKERS[speaker], content=str(turn.get("utterance") or ""), at=f"{at}.utterance")
    calls: list[WireCall] = []
    results: list[WireMessage] = []
    for index, frame in enumerate(turn.get("frames") or ()):
        call = frame.get("service_call") if isinstance(frame, dict) else None
        if not isinstance(call, dict):
            continue
        service, method = str(frame.get("service", "")), str(call.get("method", ""))
        # Ids exist only here, so that each frame's results find their call.
        call_id = str(index)
        name = names.get((service, method), method)
        calls.append(WireCall(name=name, arguments=call.get("parameters"), id=call_id, at=f"{at}.frames[{index}]"))
        if frame.get("service_results") is not None:
            content = jsonio.dumps(frame["service_results"])
            results.append(WireMessage(role="tool", content=content, call_id=call_id, at=f"{at}.frames[{index}]"))
    if not calls or speaker == "USER":
        return [said]
    return [WireMessage(role="assistant", calls=tuple(calls), at=at), *results, said]
