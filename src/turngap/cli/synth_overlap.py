"""`turngap synth overlap`: what two task files share, so that nobody trains on what is tested."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from turngap import jsonio
from turngap.cli.say import say
from turngap.data import Task
from turngap.data.asking import spell
from turngap.formats import tasks as task_files
from turngap.metrics.contamination import Contamination, Document, contamination

_MOST_SHOWN = 20


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
    """The tasks of a file as texts: what the user is told, and the values of the reference."""
    return [Document(id=task.id, text=text(task)) for task in task_files.read(path).tasks]


def text(task: Task) -> str:
    """What tells a task from others."""
    criteria = task.criteria
    actions = (*criteria.actions, *criteria.required, *criteria.forbidden)
    return "\n".join([task.instructions.text(), *(spell(action.arguments) for action in actions)])


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
