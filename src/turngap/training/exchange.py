"""Example sets as files, for us and for others.

A directory holds, for each split that has any: ``train.jsonl`` (examples in TRL's conversational prompt-completion
form: ``prompt`` and ``completion`` are lists of messages), ``train.conversations.jsonl`` (the conversations they come
from, whole), and ``examples.json``, the manifest. A set is written over an earlier one file by file, the manifest
first; whoever reads holds the examples against the digest that it names, so a mixture is noticed, and so is a file that
was cut. Whatever else lies in the directory is nobody's business here.

Tools stand in it as one JSON text, and so do the arguments of each call. A library that puts records into columns would
otherwise make one structure of the arguments of all calls and fill what a call lacks with nulls, which would then be
learnt (``datasets`` does; a test shows it). The text of arguments is spaced as chat templates space it, so that who
puts it into a template as it is gets what a server makes of the same call.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from turngap import formats, jsonio
from turngap.config import DataConfig
from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage
from turngap.errors import DataError, StoreError
from turngap.formats.base import Findings, GivenTools, Place
from turngap.formats.openai import conversation as read_conversation
from turngap.formats.writer import record_of
from turngap.training.example import Example, Setting, Split
from turngap.training.making import ExampleSet, LeftOut, Options

MANIFEST = "examples.json"
SPLITS: tuple[Split, ...] = ("train", "validation", "evaluation")
_FORMAT = "turngap-examples/1"
_AGAIN = "make the set again with turngap examples"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory of examples holds, and how it was made."""

    format: str = _FORMAT
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
    """Write a set, over an earlier one where there is one; other files of the directory stay.

    All files are complete before the first takes its place. A kill in between leaves a directory that `read` refuses
    and that `write` mends.

    Raises:
        StoreError: it cannot be written, or as `require_place`.
    """
    require_place(directory)
    parts = {name: directory / _part(name) for name in FILES}
    digests: list[str] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for split in SPLITS:
            with parts[_examples_of(split)].open("w", encoding="utf-8") as stream:
                for example in made.of(split):
                    digests.append(_as_kept(example).digest())
                    stream.write(jsonio.dumps(record(example)) + "\n")
            formats.write(made.conversations[split], parts[_conversations_of(split)])
        done = msgspec.structs.replace(manifest, digest=jsonio.digest(digests))
        parts[MANIFEST].write_text(jsonio.dumps(done, indent=2) + "\n", encoding="utf-8")
        for name, part in parts.items():
            part.replace(directory / name)
    except OSError as error:
        raise StoreError(f"{directory}: cannot be written: {error.strerror or error}; -o names the directory") from None
    finally:
        _remove(parts.values())
    return done


def require_place(directory: Path) -> None:
    """See to it that a set may be written to a directory: it is not there, empty, or holds an earlier set.

    Raises:
        StoreError: something else lies there.
    """
    try:
        if directory.exists() and not directory.is_dir():
            raise StoreError(f"{directory}: is a file; name a directory with -o")
        if (directory / MANIFEST).exists():
            _manifest(directory)
            return
        strange = sorted({one.name for one in directory.iterdir()} - set(map(_part, FILES)))
    except FileNotFoundError:
        return
    except DataError as error:
        raise StoreError(f"{error}; name another directory with -o, or remove this file") from None
    except OSError as error:
        raise StoreError(f"{directory}: cannot be read: {error.strerror}; name another directory with -o") from None
    if strange:
        raise StoreError(f"{directory}: holds something else, such as {strange[0]}; name another directory with -o")


def _examples_of(split: Split) -> str:
    return f"{split}.jsonl"


def _conversations_of(split: Split) -> str:
    return f"{split}.conversations.jsonl"


FILES = (MANIFEST, *map(_conversations_of, SPLITS), *map(_examples_of, SPLITS))
"""All files of a set, in the order in which they take their places: the manifest first, so that the directory is known
for ours at once; what its digest is of last, so that it is right only when all the others are there."""


def _part(name: str) -> str:
    """What a file is called until it is complete."""
    return f".{name}.part"


def _remove(parts: Iterable[Path]) -> None:
    for part in parts:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


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


def _as_kept(example: Example) -> Example:
    """An example as far as files keep it: of a malformed call in its context the text alone, and that spaced."""
    context = tuple(
        msgspec.structs.replace(message, calls=tuple(map(_text_alone, message.calls)))
        if isinstance(message, AssistantMessage)
        else message
        for message in example.context
    )
    return msgspec.structs.replace(example, context=context)


def _text_alone(call: ToolCall) -> ToolCall:
    return call if call.arguments is not None else ToolCall(name=call.name, arguments=None, raw=_spaced(call.raw or ""))


def _spaced(arguments: str) -> str:
    """Arguments as the filter ``tojson`` of chat templates writes them; malformed ones as they are."""
    try:
        return json.dumps(jsonio.loads(arguments), ensure_ascii=False)
    except jsonio.JsonError:
        return arguments


def read(directory: Path) -> tuple[Manifest, dict[Split, list[Example]]]:
    """Read a set back.

    Raises:
        DataError: there is none, a line is not of the form, or the examples are not those that the manifest is of.
    """
    manifest = _manifest(directory)
    found = {split: list(_examples(directory / _examples_of(split))) for split in SPLITS}
    for split, examples in found.items():
        _require_count(directory / _examples_of(split), "examples", len(examples), manifest, split)
    if jsonio.digest([_as_kept(one).digest() for examples in found.values() for one in examples]) != manifest.digest:
        raise DataError(
            f"does not match its manifest {MANIFEST}: the examples are others; {_AGAIN}", file=str(directory)
        )
    return manifest, found


def conversations(directory: Path, split: Split) -> Iterator[Conversation]:
    """The whole conversations of a split; none where their file is missing.

    Raises:
        DataError: as `read`; that there are fewer or more than the manifest says shows at the end.
    """
    path = directory / _conversations_of(split)
    if not path.is_file():
        return
    count = 0
    # A file without a line would be refused as one without content.
    found = formats.read(DataConfig(paths=(str(path),), format="openai")) if path.stat().st_size else ()
    for one in found:
        count += 1
        yield one
    _require_count(path, "conversations", count, _manifest(directory), split)


def _manifest(directory: Path) -> Manifest:
    path = directory / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except OSError as error:
        hint = "turngap examples writes a directory that has it"
        raise DataError(f"cannot be read: {error.strerror}; {hint}", file=str(path)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise DataError("is no manifest of examples, or a damaged one", file=str(path)) from None
    if manifest.format != _FORMAT:
        raise DataError(f"has the format {manifest.format!r}; this version reads {_FORMAT}", file=str(path))
    return manifest


def _require_count(path: Path, what: str, count: int, manifest: Manifest, split: Split) -> None:
    said = manifest.counts.get(split, {}).get(what, 0)
    if count != said:
        raise DataError(f"does not match its manifest {MANIFEST}: {count} {what}, not {said}; {_AGAIN}", file=str(path))


def _examples(path: Path) -> Iterator[Example]:
    settings: dict[str, Setting] = {}
    try:
        with path.open("rb") as stream:
            for line, text in jsonio.read_lines(stream):
                yield _example(text, str(path), line, settings)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}; {_AGAIN}", file=str(path)) from None


def _example(text: bytes, file: str, line: int, settings: dict[str, Setting]) -> Example:
    place = Place(file=file, line=line)
    try:
        value = jsonio.loads(text)
        tools = jsonio.loads(value["tools"]) if value.get("tools") else []
        messages = [*value["prompt"], *value["completion"]]
    except jsonio.JsonError as error:
        cut = "the line is cut off" if error.cut_off else str(error)
        raise DataError(f"no example: {cut}; {_AGAIN}", file=file, line=line) from None
    except KeyError as error:
        raise DataError(f"no example: {error.args[0]} is missing; {_AGAIN}", file=file, line=line) from None
    except (TypeError, AttributeError):
        hint = "prompt and completion are lists of messages, tools are a text"
        raise DataError(f"no example: {hint}; {_AGAIN}", file=file, line=line) from None
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
