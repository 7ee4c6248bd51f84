"""Example sets as files, for us and for others.

A directory holds, for each split that has any: ``train.jsonl`` (examples in TRL's conversational prompt-completion
form: ``prompt`` and ``completion`` are lists of messages), ``train.conversations.jsonl`` (the conversations they come
from, whole), and ``examples.json``, the manifest.

Tools stand in it as one JSON text, and so do the arguments of each call. A library that puts records into columns would
otherwise make one structure of the arguments of all calls and fill what a call lacks with nulls, which would then be
learnt (``datasets`` does; a test shows it). The text of arguments is spaced as chat templates space it, so that who
puts it into a template as it is gets what a server makes of the same call.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from turngap import formats, jsonio
from turngap.config import DataConfig
from turngap.data import AssistantMessage, Conversation, ToolMessage
from turngap.errors import DataError, StoreError
from turngap.formats.base import Findings, GivenTools, Place
from turngap.formats.openai import conversation as read_conversation
from turngap.formats.writer import record_of
from turngap.training.example import Example, Setting, Split
from turngap.training.making import ExampleSet, LeftOut, Options

MANIFEST = "examples.json"
SPLITS: tuple[Split, ...] = ("train", "validation", "evaluation")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory of examples holds, and how it was made."""

    format: str = "turngap-examples/1"
    options: Options
    sources: tuple[str, ...]
    counts: dict[str, dict[str, int]]
    """Split -> conversations, examples, text, tool."""
    left_out: tuple[LeftOut, ...] = ()
    checked_against: dict[str, str] = {}
    """Evaluation sets that it was held against -> what was found, in a sentence."""
    digest: str = ""
    """Of all examples, in order."""


def write(directory: Path, made: ExampleSet, manifest: Manifest) -> Manifest:
    """Write a set; the directory appears when it is complete, and takes the place of an earlier one of the same kind.

    Raises:
        StoreError: it cannot be written, or something else lies there.
    """
    if directory.exists() and any(directory.iterdir()) and not (directory / MANIFEST).is_file():
        raise StoreError(f"{directory}: holds something else; name another directory with -o")
    part = directory.with_name(f".{directory.name}.part")
    digests: list[str] = []
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for split in SPLITS:
            examples = made.of(split)
            with (part / f"{split}.jsonl").open("w", encoding="utf-8") as stream:
                for example in examples:
                    digests.append(example.digest())
                    stream.write(jsonio.dumps(record(example)) + "\n")
            formats.write(made.conversations[split], part / f"{split}.conversations.jsonl")
        done = msgspec.structs.replace(manifest, digest=jsonio.digest(digests))
        (part / MANIFEST).write_text(jsonio.dumps(done, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(directory, ignore_errors=True)
        part.rename(directory)
    except OSError as error:
        raise StoreError(f"{directory}: cannot be written: {error.strerror or error}") from None
    return done


def record(example: Example) -> dict[str, Any]:
    """One example in TRL's form, with what tells where it comes from."""
    setting = example.setting
    whole = record_of(
        Conversation(
            id=example.id,
            policy=setting.policy,
            tools=setting.tools,
            messages=(*example.context, example.target),
        )
    )
    for message in whole["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = _spaced(call["function"]["arguments"])
    return {
        "id": example.id,
        "conversation": example.conversation,
        "decision": example.decision,
        "task": example.task,
        "source": example.source,
        "kind": example.kind,
        "prompt": whole["messages"][:-1],
        "completion": whole["messages"][-1:],
        "tools": jsonio.dumps(whole["tools"]) if setting.tools else "",
    }


def _spaced(arguments: str) -> str:
    """Arguments as the filter ``tojson`` of chat templates writes them; malformed ones as they are."""
    try:
        return json.dumps(jsonio.loads(arguments), ensure_ascii=False)
    except jsonio.JsonError:
        return arguments


def read(directory: Path) -> tuple[Manifest, dict[Split, list[Example]]]:
    """Read a set back.

    Raises:
        DataError: there is none, or a line is not of the form.
    """
    path = directory / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except OSError as error:
        hint = "turngap examples writes a directory that has it"
        raise DataError(f"cannot be read: {error.strerror}; {hint}", file=str(path)) from None
    except msgspec.MsgspecError as error:
        raise DataError(f"no manifest of examples: {error}", file=str(path)) from None
    return manifest, {split: list(_examples(directory / f"{split}.jsonl")) for split in SPLITS}


def conversations(directory: Path, split: Split) -> Iterator[Conversation]:
    """The whole conversations of a split."""
    path = directory / f"{split}.conversations.jsonl"
    if not path.is_file() or not path.stat().st_size:
        return iter(())
    return iter(formats.read(DataConfig(paths=(str(path),), format="openai")))


def _examples(path: Path) -> Iterator[Example]:
    settings: dict[str, Setting] = {}
    try:
        with path.open("rb") as stream:
            for line, text in jsonio.read_lines(stream):
                yield _example(text, str(path), line, settings)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(path)) from None


def _example(text: bytes, file: str, line: int, settings: dict[str, Setting]) -> Example:
    place = Place(file=file, line=line)
    try:
        value = jsonio.loads(text)
        tools = jsonio.loads(value["tools"]) if value.get("tools") else []
        messages = [*value["prompt"], *value["completion"]]
    except (jsonio.JsonError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"no example: {error!r:.200}", file=file, line=line) from None
    found = read_conversation({"messages": messages, "tools": tools}, GivenTools(), Findings(place))
    at = [index for index, message in enumerate(found.messages) if isinstance(message, AssistantMessage)]
    # A call at the end has no result yet, for which the reader puts a stand-in.
    if not at or any(not isinstance(message, ToolMessage) for message in found.messages[at[-1] + 1 :]):
        raise DataError("the completion is no message of the assistant", file=file, line=line, field="completion")
    target = found.messages[at[-1]]
    name = str(value.get("id") or f"{Path(file).stem}:{line}")
    return Example(
        id=name,
        conversation=str(value.get("conversation") or name),
        decision=decision if isinstance(decision := value.get("decision"), int) else len(at) - 1,
        setting=settings.setdefault(
            jsonio.digest((found.policy, found.tools)), Setting(policy=found.policy, tools=found.tools)
        ),
        context=found.messages[: at[-1]],
        target=cast(AssistantMessage, target),
        task=str(value.get("task") or ""),
        source=str(value.get("source") or ""),
    )
