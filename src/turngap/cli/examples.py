"""`turngap examples`: recordings, trials and synthesised trajectories as a set of next-action examples to train on.

This module finds out what each source is, has the set made, and says what is in it and what is not. Evaluation sets
that are named are held against the sources first: nothing is written that trains on what is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import msgspec
import typer

from turngap import domains, formats, jsonio
from turngap.cli.say import say
from turngap.cli.synth_overlap import text as text_of_task
from turngap.config import DataConfig
from turngap.data import Conversation, Source
from turngap.errors import DataError, UsageError
from turngap.formats import tasks as task_files
from turngap.protocols.keeping import keep
from turngap.report.examples_table import examples_table
from turngap.report.harmless import one_line
from turngap.report.table import console
from turngap.runs import store as runs
from turngap.synth import export as synth_files
from turngap.synth import store as synth_store
from turngap.training import exchange
from turngap.training.leak import Checked, Evaluated, Item, Leak, check, of_conversations
from turngap.training.making import MIXES, LeftOut, Mix, Options, make

_MOST_NAMED = 5


def examples(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help="Recordings, a run of trials, or a synthesis; several may be.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where the set goes.")],
    tools: Annotated[
        str | None, typer.Option(metavar="FILE", help="Tool schemas for recordings that have none.")
    ] = None,
    only_successful: Annotated[
        bool, typer.Option("--only-successful", help="Of recordings that mark rewards, only the rewarded ones.")
    ] = False,
    validation: Annotated[float, typer.Option(help="Share of the tasks, or conversations, that validate.")] = 0.1,
    evaluation: Annotated[float, typer.Option(help="Share that is set aside to evaluate on.")] = 0.0,
    mix: Annotated[
        str, typer.Option(metavar="|".join(MIXES), help="Text and tool decisions as they come, 1 to 1, or 1 to 3.")
    ] = "natural",
    count: Annotated[int | None, typer.Option(help="Examples to train on, drawn; all if not given.")] = None,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="Keep recorded reasoning, to be learnt.")] = False,
    split_calls: Annotated[
        bool, typer.Option("--split-calls", help="One call a decision, for templates that cannot say several.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of splits and draws.")] = 0,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Evaluation set, tasks or recordings, that must not be trained on; repeat."),
    ] = None,
    drop_contaminated: Annotated[
        bool, typer.Option("--drop-contaminated", help="Leave out what evaluation sets hold, instead of refusing.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Go on past unreadable records, and count them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts and what was left out as JSON.")] = False,
) -> None:
    """Make a set of next-action examples; turngap train learns from it, and TRL reads it as it is.

    Of a run of trials only verified successes are taken. Trials of one task stand in one split.
    """
    if mix not in MIXES:
        raise UsageError(f"--mix is one of {', '.join(MIXES)}, not {mix!r}")
    exchange.require_place(output)
    wanted: Mix = next(known for known in MIXES if known == mix)
    options = Options(
        validation=validation,
        evaluation=evaluation,
        mix=wanted,
        count=count,
        reasoning=reasoning,
        split_calls=split_calls,
        seed=seed,
    )
    notes: list[str] = []
    config = DataConfig(paths=(), tools=tools, only_successful=only_successful, skip_bad=skip_bad)
    found = _distinct(_gathered(sources, config, notes), notes)
    kept, checks = _clean(found, against or (), drop=drop_contaminated)
    made = make(kept, options)
    if not made.train:
        raise DataError("no decision is left to train on", file=", ".join(sources))
    contaminated = tuple(
        LeftOut(id=leak.conversation, reason="contaminated", detail=leak.sentence())
        for leak in {leak.conversation: leak for one in checks for leak in one.leaks}.values()
    )
    manifest = exchange.write(
        output,
        made,
        exchange.Manifest(
            options=options,
            sources=tuple(sources),
            counts=made.counts(),
            left_out=(*contaminated, *made.left_out),
            checked_against={one.name: one.sentence() for one in checks},
        ),
    )
    if validation and not made.validation:
        notes.append("nothing fell into the validation split: there are few tasks; raise --validation or try a --seed")
    _show(output, manifest, notes, as_json=as_json)


def _gathered(sources: Iterable[str], config: DataConfig, notes: list[str]) -> Iterator[Conversation]:
    for source in sources:
        path = Path(source)
        if (path / runs.DATABASE).is_file():
            yield from _trials(path, notes)
            continue
        if (path / synth_store.DATABASE).is_file():
            path /= synth_files.TRAJECTORIES
            if not path.is_file():
                raise DataError("has no trajectories yet: finish the synthesis", file=source)
        reading = formats.read(msgspec.structs.replace(config, paths=(str(path),)))
        yield from reading
        notes += reading.notes
        if reading.n_unsuccessful:
            notes.append(f"{source}: {reading.n_unsuccessful} not successful left out")
        if reading.n_skipped:
            notes.append(f"{source}: {reading.n_skipped} unreadable records left out")
        if reading.n_read and "no_tools" in reading.oddity_counts:
            notes.append(f"{source}: calls without tool specifications; --tools FILE gives them")


def _trials(directory: Path, notes: list[str]) -> list[Conversation]:
    """The verified successes of a run of live trials."""
    with TemporaryDirectory() as folder, runs.RunStore.open(directory) as store:
        path = Path(folder) / "successes.jsonl"
        counts = keep(store, domains.build(store.rollout.domain), path)
        # A file without a line would be refused as one without content.
        found = list(formats.read(DataConfig(paths=(str(path),), format="openai"))) if path.stat().st_size else []
    valid = sum(one.valid for one in counts)
    notes.append(f"{directory}: {len(found)} of {valid} trials are verified successes, the others are left out")
    # Without the temporary file's name, which nobody could open.
    return [msgspec.structs.replace(one, source=Source(file=str(directory))) for one in found]


def _distinct(conversations: Iterable[Conversation], notes: list[str]) -> list[Conversation]:
    """Conversations with distinct ids: where two sources use one, the later gets a number."""
    taken: Counter[str] = Counter()
    found: list[Conversation] = []
    renamed = 0
    for one in conversations:
        name, number = one.id, 1
        while name in taken:
            number += 1
            name = f"{one.id}@{number}"
        taken[name] += 1
        renamed += name != one.id
        found.append(one if name == one.id else msgspec.structs.replace(one, id=name))
    if renamed:
        notes.append(f"{renamed} conversations have an id that an earlier source uses; they got a number behind an @")
    return found


def _clean(
    conversations: list[Conversation], against: Sequence[Path], *, drop: bool
) -> tuple[list[Conversation], list[Checked]]:
    """What may be learnt from.

    Raises:
        DataError: an evaluation set is in it, and it is not to be left out.
    """
    checks = [check(conversations, _evaluated(path)) for path in against]
    leaks = {leak.conversation: leak for one in checks for leak in one.leaks}
    if leaks and not drop:
        raise DataError(f"{len(leaks)} of {len(conversations)} conversations hold what is evaluated: {_named(leaks)}")
    return [one for one in conversations if one.id not in leaks], checks


def _named(leaks: dict[str, Leak]) -> str:
    named = "; ".join(f"{name} {leak.sentence()}" for name, leak in list(leaks.items())[:_MOST_NAMED])
    more = f"; and {len(leaks) - _MOST_NAMED} more" if len(leaks) > _MOST_NAMED else ""
    return f"{named}{more} (--drop-contaminated leaves them out)"


def _evaluated(path: Path) -> Evaluated:
    if path.is_file() and _holds_tasks(path):
        items = []
        for task in task_files.read(path).tasks:
            criteria = task.criteria
            actions = (*criteria.actions, *criteria.required, *criteria.forbidden)
            tools = frozenset(action.name for action in actions)
            items.append(Item(ids=frozenset({task.id}), name=task.id, text=text_of_task(task), tools=tools))
        return Evaluated(name=str(path), items=tuple(items))
    return of_conversations(str(path), formats.read(DataConfig(paths=(str(path),))))


def _holds_tasks(path: Path) -> bool:
    """Whether a file holds tasks and not recordings: its first record says how a task is graded, or what is wanted."""
    try:
        with path.open("rb") as stream:
            _, line = next(jsonio.read_lines(stream))
        value = jsonio.loads(line) if line.endswith(b"}") else jsonio.loads(path.read_bytes())
    except (OSError, StopIteration, jsonio.JsonError):
        return False
    if isinstance(value, dict) and "simulations" not in value and isinstance(value.get("tasks"), list):
        value = value["tasks"]
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and bool({"evaluation_criteria", "user_scenario"} & first.keys())


def _show(output: Path, manifest: exchange.Manifest, notes: Sequence[str], *, as_json: bool) -> None:
    for note in notes:
        say(one_line(note), err=True)
    if as_json:
        document: dict[str, Any] = {"examples": str(output), **msgspec.to_builtins(manifest)}
        typer.echo(jsonio.dumps(document, indent=2))
        return
    console().print(examples_table(manifest.counts))
    for reason, count in Counter(one.reason for one in manifest.left_out).items():
        named = [one for one in manifest.left_out if one.reason == reason]
        shown = ", ".join(one_line(one.id) for one in named[:_MOST_NAMED])
        say(f"left out as {reason}: {count} ({shown}{', ...' if count > _MOST_NAMED else ''})", err=True)
    for name, sentence in manifest.checked_against.items():
        say(f"held against {name}: {sentence}", err=True)
    say(f"written: {output}; what was left out and why: {output / exchange.MANIFEST}", err=True)
