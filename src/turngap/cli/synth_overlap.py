"""`turngap synth overlap`: what two task files share, so that nobody trains on what is tested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from turngap import jsonio
from turngap.cli.say import say
from turngap.data import Task
from turngap.data.asking import spell
from turngap.data.task import Action
from turngap.formats import tasks as task_files
from turngap.metrics.contamination import Contamination, Document, contamination, entities

_MOST_SHOWN = 20
_CALLED = ("id", "ids", "number", "ref", "reference")
"""Last words of the names of arguments that stand for somebody or something."""
_WHERE = ("zip", "postal", "postcode")
_ID = re.compile(r"#?(?!\d{5}$)(?:\d{3,}|(?=[\w#.-]*\d)(?=[\w#.-]*[^\W\d])[\w.-]+)")


def overlap(
    learnt: Annotated[Path, typer.Argument(metavar="TRAINING", help="Task file that is trained on.")],
    tested: Annotated[Path, typer.Argument(metavar="EVALUATION", help="Task file that is tested on.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Look for tasks of one file in another: the same ids, people, orders and e-mails, copied or nearly copied words.

    Exit code 1 means that something is shared. What counts as nearly copied is explained in docs/synthesis.md.
    """
    found = contamination(documents(learnt), documents(tested))
    if as_json:
        typer.echo(jsonio.dumps({**msgspec.to_builtins(found), "flagged": found.flagged}, indent=2))
    else:
        for line in _lines(found):
            say(line)
    if not found.clean:
        raise typer.Exit(1)


def documents(path: Path) -> list[Document]:
    """The tasks of a file as texts, with the values that stand for people and things."""
    return [
        Document(id=task.id, text=text(task), values=tuple(sorted(values(task))))
        for task in task_files.read(path).tasks
    ]


def text(task: Task) -> str:
    """What tells a task from others: why the user makes contact, how to go about it, and the values of the reference.

    What the user knows and does not know is said in the same sentences of everybody; who it is, `values` tells.
    """
    spoken = task.instructions
    return "\n".join([spoken.reason, spoken.further, *(spell(action.arguments) for action in _actions(task))])


def values(task: Task) -> set[str]:
    """What the reference and the user name: addresses and ids, as short as they may be.

    A value is an id when its argument is called one, or when it is one word of letters and digits, or of three digits
    and more that are no number to reckon with; but for postal codes, and for dates.
    """
    spoken, intent = task.instructions, task.intent
    found = entities(f"{spoken.known}\n{spoken.unknown}")
    told: list[tuple[str, Any]] = []
    if intent is not None:
        told += [(fact.slot, fact.value) for fact in (*intent.facts, *(one for c in intent.changes for one in c.facts))]
    told += [pair for action in _actions(task) for pair in (action.arguments or {}).items()]
    return found | {value for name, inner in told for value in _ids(name, inner)}


def _actions(task: Task) -> tuple[Action, ...]:
    criteria = task.criteria
    return (*criteria.actions, *criteria.required, *criteria.forbidden)


def _ids(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _ids(key, inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _ids(name, inner)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        said, words = str(value), re.split(r"[\W_]+", name.lower())
        if not said.strip() or any(word in _WHERE for word in words):
            return
        # A number that is called one may count something; as text it names something.
        named = words[-1] in _CALLED and (isinstance(value, str) or words[-1] != "number")
        if named or (isinstance(value, str) and _ID.fullmatch(said)):
            yield said.lower()


def _lines(found: Contamination) -> list[str]:
    lines = [f"{found.tested} tasks held against {found.learnt}: {found.flagged} flagged"]
    for match in found.matches[:_MOST_SHOWN]:
        what = {"id": "has the id of", "copy": "is a copy of", "near": f"is {match.share:.0%} in"}[match.kind]
        lines.append(f"{match.tested}: {what} {match.learnt}: {match.shown}")
    if len(found.matches) > _MOST_SHOWN:
        lines.append(f"... and {len(found.matches) - _MOST_SHOWN} more (--json has all)")
    if found.entities:
        named = ", ".join(list(found.entities)[:_MOST_SHOWN])
        lines.append(f"{len(found.entities)} ids and addresses stand on both sides: {named}")
    return lines
