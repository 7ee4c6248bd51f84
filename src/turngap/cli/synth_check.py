"""`turngap synth check`: verify the tasks of a file in a domain, whoever made them.

Findings go to standard output, a line each, or as one JSON document; the count goes to standard error. Exit code 1
means that a task has an error; warnings are for a person to look at and fail nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from turngap import domains, jsonio
from turngap.cli.guard import guarded
from turngap.cli.say import say
from turngap.formats import tasks as task_files
from turngap.synth.check import check_all
from turngap.synth.finding import Finding


def check(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="Task file, tau2's or turngap's.")],
    domain: Annotated[
        str, typer.Option(help="retail, tau2:NAME, FILE.py, module:attribute: see turngap list domains.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Verify tasks by executing them; the exit code is 1 when a task has an error."""
    file = task_files.read(tasks)
    with guarded():
        found = check_all(file.tasks, domains.build(domain))
    if as_json:
        sys.stdout.write(jsonio.dumps(document(len(file.tasks), found), indent=2) + "\n")
    else:
        for finding in found:
            say(str(finding))
    say(f"turngap: {_count(len(file.tasks), found)}", err=True)
    return 1 if any(finding.severity == "error" for finding in found) else 0


def document(tasks: int, found: Sequence[Finding]) -> dict[str, Any]:
    """The outcome as plain values."""
    severe = [finding.task for finding in found if finding.severity == "error"]
    return {
        "tasks": tasks,
        "errors": len(severe),
        "warnings": len(found) - len(severe),
        "tasks_with_errors": list(dict.fromkeys(severe)),
        "flaws": dict(sorted(Counter(finding.flaw.value for finding in found).items())),
        "findings": [msgspec.to_builtins(finding) for finding in found],
    }


def _count(tasks: int, found: Sequence[Finding]) -> str:
    severe = {finding.task for finding in found if finding.severity == "error"}
    errors = sum(finding.severity == "error" for finding in found)
    warnings = len(found) - errors
    in_tasks = f" in {_number(len(severe), 'task')}" if severe else ""
    return f"{_number(tasks, 'task')} checked: {_number(errors, 'error')}{in_tasks}, {_number(warnings, 'warning')}"


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
