"""Sum a rollout up: pass^k, rewards and their components, per scenario; users' faults; costs; floors; the audit.

Reads stored score rows, asks nobody. Which units each figure is over is `turngap.analysis.trial`'s; here they are put
together with what a reader must know beside them: trials that are missing, errored or were tried again, tasks of which
nothing is known, and how far the user is to blame. The same scores give the same document byte for byte.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from turngap.analysis.figure import compute
from turngap.analysis.summary import FORMAT, Ledger
from turngap.analysis.trial import AUDIT, PROTOCOL, REWARD, SCENARIOS, Row, counted, measure_of, rows_of, scorer_of
from turngap.data import Cause, Figure
from turngap.errors import HarnessFault
from turngap.metrics.rounding import decimals
from turngap.protocols.recovering import caveat
from turngap.runs.store import RunStore

_REASONS = 3
_NAMED = 5
FLOORS = ("floor.nothing", "floor.transfer")
"""What agents that understand nothing reach, on the same tasks."""


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One task. Means are over the trials that took place, users' faults included; None without such a trial."""

    task: str
    scenario: str
    trials: int
    """Valid ones: measured, and the user did not fail."""
    successes: int
    errored: int
    """Trials that could not be measured."""
    user_errors: int
    """Trials in which the user failed."""
    reward: float | None
    """Mean over valid trials."""
    steps: float | None
    """Messages of the agent."""
    seconds: float | None
    """Wall time of a trial."""
    answer_seconds: float | None
    """Time that the agent took for one answer; a cached answer took what it took at first."""
    tokens: float | None
    """Of the agent, prompts and answers."""
    user_tokens: float | None
    """Of the user, likewise; 0 for one that is no model."""
    cost: float | None
    """Of the agent; None where no price is known."""
    user_cost: float | None
    """Of the user; None where no price is known."""


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What one side of all trials that took place came to, whether it was asked for or came from a cache."""

    tokens: int | None
    """Prompts and answers; None where none of the trials tells."""
    cost: float | None
    """None where no price is known."""


class Retried(msgspec.Struct, frozen=True, kw_only=True):
    """Trials that failed for reasons outside the agent and were tried again, beside those that went well at once."""

    trials: int
    """Valid trials that were tried more than once."""
    reward: Figure
    """Of those."""
    rest: Figure
    """Of the others."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """How far the score moves when somebody else plays the user: the same trials of the same tasks, paired."""

    user: str
    """Who played it instead."""
    tasks: int
    trials: int
    """Pairs of trials that are valid with both users."""
    reward: Figure
    """With the run's own user."""
    other: Figure
    """With the second one."""
    moved: Figure
    """The share of pairs of which one is a success and the other is not."""
    user_errors: tuple[int, int]
    """Trials of the sample in which the user failed: the run's own, the second one."""


class RolloutSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a rollout says in numbers."""

    model: str
    user: str
    domain: str
    tasks: dict[str, Any]
    """``file``, ``digest`` (of the whole file's content) and ``split``: which tasks these are."""
    protocols: tuple[str, ...]
    judges: dict[str, tuple[str, ...]] = {}
    n: dict[str, int]
    """``tasks``, ``trials`` (wanted), ``valid``, ``errored``, ``user_errors``, ``missing``."""
    metrics: dict[str, Figure]
    """Fractions in [0, 1] by name; see docs/rollout.md."""
    left_out: dict[str, int]
    """``pass^k`` -> tasks with fewer than k valid trials, where there are any."""
    components: dict[str, dict[str, int]]
    """Component -> trials in whose reward it was ``counted``, in which it was only ``observed``, and in which it counts
    and is ``vacuous``: the task has nothing for it, and the figure leaves them out."""
    ledger: dict[str, Ledger]
    """``rollout``, and ``rollout[SCENARIO]`` where there are several."""
    terminations: dict[str, int]
    """How the trials that took place ended."""
    unmeasured: tuple[str, ...]
    """Tasks without any valid trial."""
    missing: dict[str, int]
    """``rollout`` -> trials that there should be and are not; empty for a whole run."""
    absent: dict[str, tuple[int, ...]]
    """Task -> which of its trials those are."""
    tau2_differs: tuple[str, ...]
    """``task/trial`` of the trials to which tau2's own scoring gives another reward."""
    retried: Retried | None
    """None where no trial was tried again."""
    audit: Audit | None
    spending: dict[str, Spent]
    """``agent`` and ``user``: in the trials that took place."""
    per_task: tuple[TaskRow, ...]
    """In the order of the task file."""
    findings: dict[str, tuple[str, ...]]
    """Task -> what was found wrong with it before its first trial, each ``kind: problem``."""
    caveat: str = ""
    """What a reader has to know before the numbers, since they are not those of the model alone; the first of `notes`.
    Empty where they are."""
    notes: tuple[str, ...]
    """What a reader has to know beside the numbers, one sentence each."""


def summarise(store: RunStore, *, seed: int = 0) -> RolloutSummary:
    """Compute every figure of a run of trials.

    Args:
        store: an open run; only read.
        seed: of what is drawn at random.

    Raises:
        HarnessFault: score rows contradict each other.
        StoreError: the run is not one of trials.
    """
    config = store.rollout
    tasks = {task.id: task.scenario.value for task in store.trials.tasks()}
    rows = rows_of(store)
    scorers = set(store.scorers())
    metrics: dict[str, Figure] = {}
    left_out: dict[str, int] = {}
    for name in _names(rows, tasks, config.trials, [name for name in FLOORS if scorer_of(name) in scorers]):
        source = rows if scorer_of(name) == REWARD else rows_of(store, scorer_of(name))
        metrics[name], lacking = _figure(source, name, tasks, seed)
        if lacking:
            left_out[name] = lacking
    absent = _absent(rows, tasks, config.trials)
    lacking = sum(map(len, absent.values()))
    before = {key for key, tries in _tries(store, tasks).items() if tries > 1}
    task_set = store.note("tasks", {})
    summary = RolloutSummary(
        model=config.model.spec,
        user=config.user.spec,
        domain=config.domain,
        tasks={"file": config.tasks.path, "split": config.tasks.split, "digest": task_set.get("digest", "")},
        protocols=(PROTOCOL,) if rows else (),
        n={
            "tasks": len(tasks),
            "trials": len(tasks) * config.trials,
            "valid": sum(one.valid for one in rows),
            "errored": sum(not one.played for one in rows),
            "user_errors": sum(one.cause is Cause.USER for one in rows),
            "missing": lacking,
        },
        metrics=metrics,
        left_out=left_out,
        components=_components(rows),
        ledger=_ledgers(rows),
        terminations=dict(sorted(Counter(one.category for one in rows if one.played).items())),
        unmeasured=_unmeasured(rows, tasks),
        missing={PROTOCOL: lacking} if lacking else {},
        absent=absent,
        tau2_differs=tuple(f"{one.task}/{one.trial}" for one in rows if _tau2_differs(one)),
        retried=_retried(rows, before, tasks, seed),
        audit=_audit(store, rows, tasks, seed),
        spending={
            "agent": Spent(tokens=_whole(_total(rows, "tokens")), cost=_total(rows, "cost")),
            "user": Spent(tokens=_whole(_total(rows, "user_tokens")), cost=_total(rows, "user_cost")),
        },
        per_task=tuple(_task_rows(rows, tasks)),
        findings=_findings(store),
        caveat=caveat(store),
        notes=(),
    )
    return msgspec.structs.replace(summary, notes=tuple(_notes(summary, store)))


def to_document(summary: RolloutSummary) -> dict[str, Any]:
    """The content of `metrics.json`: plain values, strict JSON, keys in a fixed order."""
    document: dict[str, Any] = {"format": FORMAT, **msgspec.to_builtins(summary)}
    return document


def _names(rows: Sequence[Row], tasks: Mapping[str, str], trials: int, floors: Sequence[str]) -> Iterator[str]:
    """Every figure of the run: over all tasks first, then scenario by scenario."""
    most = max([trials, *(one.trial + 1 for one in rows)])
    found = {name for one in rows for name in one.values}
    components = [name for name in sorted(found) if measure_of(name) is not None and "." in name]
    hats = [f"pass^{k}" for k in range(1, most + 1)]
    plain = [*hats, "reward", *components, *(f"tau2.{hat}" for hat in hats if "tau2.reward" in found)]
    with_user_errors = [*(f"{hat}.all" for hat in hats), "reward.all"]
    names = [*plain, *with_user_errors, "user_error", *floors]
    yield from names
    for scenario in SCENARIOS:
        if scenario in tasks.values():
            yield from (f"{name}[{scenario}]" for name in names)


def _figure(rows: Sequence[Row], name: str, tasks: Mapping[str, str], seed: int) -> tuple[Figure, int]:
    measure = measure_of(name)
    if measure is None:
        raise HarnessFault(f"no figure is called {name!r}; please report this")
    found = counted(rows, measure, tasks)
    return compute(measure, found.units, seed=seed), found.left_out


def _absent(rows: Sequence[Row], tasks: Mapping[str, str], trials: int) -> dict[str, tuple[int, ...]]:
    there = {(one.task, one.trial) for one in rows}
    lacking = {task: tuple(trial for trial in range(trials) if (task, trial) not in there) for task in tasks}
    return {task: missing for task, missing in lacking.items() if missing}


def _unmeasured(rows: Sequence[Row], tasks: Mapping[str, str]) -> tuple[str, ...]:
    known = {one.task for one in rows if one.valid}
    return tuple(task for task in tasks if task not in known)


def _components(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}

    def kept(how: str, component: str) -> None:
        found.setdefault(component, dict.fromkeys(("counted", "observed", "vacuous"), 0))[how] += 1

    for one in rows:
        if one.played:
            for name in one.values:
                owner, _, component = name.partition(".")
                if component and owner in ("reward", "observed"):
                    kept("counted" if owner == "reward" else "observed", component)
            for component in one.vacuous:
                kept("vacuous", component)
    return dict(sorted(found.items()))


def _ledgers(rows: Sequence[Row]) -> dict[str, Ledger]:
    scenarios = [name for name in SCENARIOS if any(one.scenario == name for one in rows)]
    found = {PROTOCOL: _ledger(rows)} if rows else {}
    if len(scenarios) > 1:
        for scenario in scenarios:
            found[f"{PROTOCOL}[{scenario}]"] = _ledger([one for one in rows if one.scenario == scenario])
    return found


def _ledger(rows: Sequence[Row]) -> Ledger:
    causes = Counter(one.cause for one in rows)
    return Ledger(
        units=len(rows),
        success=causes[None],
        causes={cause.value: causes[cause] for cause in Cause},
    )


def _tau2_differs(one: Row) -> bool:
    theirs = one.values.get("tau2.reward")
    return one.played and theirs is not None and not math.isclose(theirs, one.values["reward"], abs_tol=1e-6)


def _tries(store: RunStore, tasks: Mapping[str, str]) -> dict[tuple[str, int], int]:
    return {(task, trial): tries for task in tasks for trial, tries in store.trials.tries(task).items()}


def _retried(rows: Sequence[Row], again: set[tuple[str, int]], tasks: Mapping[str, str], seed: int) -> Retried | None:
    repeated = [one for one in rows if (one.task, one.trial) in again]
    if not repeated:
        return None
    others = [one for one in rows if (one.task, one.trial) not in again]
    return Retried(
        trials=sum(one.valid for one in repeated),
        reward=_figure(repeated, "reward", tasks, seed)[0],
        rest=_figure(others, "reward", tasks, seed)[0],
    )


def _audit(store: RunStore, rows: Sequence[Row], tasks: Mapping[str, str], seed: int) -> Audit | None:
    config = store.rollout.audit
    theirs = {(one.task, one.trial): one for one in rows_of(store, AUDIT)}
    if config is None or not theirs:
        return None
    ours = {(one.task, one.trial): one for one in rows if (one.task, one.trial) in theirs}
    both = [key for key in sorted(ours) if ours[key].valid and theirs[key].valid]
    moved = [
        msgspec.structs.replace(ours[key], values={"reward": float(ours[key].passed() != theirs[key].passed())})
        for key in both
    ]
    return Audit(
        user=config.user.spec,
        tasks=len({task for task, _ in theirs}),
        trials=len(both),
        reward=_figure([ours[key] for key in both], "reward", tasks, seed)[0],
        other=_figure([theirs[key] for key in both], "reward", tasks, seed)[0],
        moved=_figure(moved, "reward", tasks, seed)[0],
        user_errors=(
            sum(one.cause is Cause.USER for one in ours.values()),
            sum(one.cause is Cause.USER for one in theirs.values()),
        ),
    )


def _task_rows(rows: Sequence[Row], tasks: Mapping[str, str]) -> Iterator[TaskRow]:
    trials: dict[str, list[Row]] = {task: [] for task in tasks}
    for one in rows:
        trials[one.task].append(one)
    for task, of_task in trials.items():
        valid = [one for one in of_task if one.valid]
        played = [one for one in of_task if one.played]
        yield TaskRow(
            task=task,
            scenario=tasks[task],
            trials=len(valid),
            successes=sum(one.success for one in valid),
            errored=sum(not one.played for one in of_task),
            user_errors=len(played) - len(valid),
            reward=_mean(valid, "reward"),
            **{
                name: _mean(played, name)
                for name in ("steps", "seconds", "answer_seconds", "tokens", "user_tokens", "cost", "user_cost")
            },
        )


def _findings(store: RunStore) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in store.note("vetted", {}).get("findings", ()):
        found[one["task"]] = (*found.get(one["task"], ()), f"{one['flaw']}: {one['problem']}")
    return found


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [one.values[name] for one in rows if name in one.values]
    return math.fsum(values) / len(values) if values else None


def _total(rows: Sequence[Row], name: str) -> float | None:
    values = [one.values[name] for one in rows if one.played and name in one.values]
    return math.fsum(values) if values else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _notes(summary: RolloutSummary, store: RunStore) -> Iterator[str]:
    n = summary.n
    if summary.caveat:
        yield summary.caveat
    if store.state() != "finished":
        yield "the run is not finished: repeat its command to go on"
    if summary.missing:
        parts = [f"{task} ({', '.join(map(str, trials))})" for task, trials in list(summary.absent.items())[:_NAMED]]
        yield f"partial run: {n['missing']} trials are missing: {_some(parts, len(summary.absent))}"
    yield from _set_aside(store)
    if summary.unmeasured:
        named = _some(list(summary.unmeasured[:_NAMED]), len(summary.unmeasured))
        yield f"no valid trial of {_count(len(summary.unmeasured), 'task')}: {named}"
    for name, tasks in summary.left_out.items():
        if name.startswith("pass^") and "[" not in name and not name.endswith(".all"):
            yield f"{name} leaves out {_count(tasks, 'task')} with fewer valid trials"
    if n["user_errors"]:
        yield (
            f"the user failed in {_count(n['user_errors'], 'trial')}, which count neither for nor against the agent; "
            ".all has the figures with them"
        )
    if summary.tau2_differs:
        named = _some(list(summary.tau2_differs[:_NAMED]), len(summary.tau2_differs))
        yield f"tau2's own scoring gives another reward in {_count(len(summary.tau2_differs), 'trial')}: {named}"
    if summary.retried is not None:
        again, rest = _percent(summary.retried.reward), _percent(summary.retried.rest)
        yield f"{_count(summary.retried.trials, 'trial')} had to be tried again: reward {again}, the rest {rest}"
    yield from about_errors(store)
    yield from store.note("remarks", [])


def _set_aside(store: RunStore) -> Iterator[str]:
    """Stored trials that are in no figure, and code in which they did not take place."""
    wanted = store.rollout.trials
    beyond = sum(trial >= wanted for _, trial in (*store.trials.measured(), *store.trials.failures()))
    if beyond:
        verb = "is" if beyond == 1 else "are"
        asked = f"the run was last asked for with {_count(wanted, 'trial')} a task"
        yield f"{_count(beyond, 'stored trial')} {verb} not counted: {asked}"
    if edited := store.note("edited", []):
        yield f"graded in another version of the domain's code than the trials took place in: {', '.join(edited)}"


def about_errors(store: RunStore, *, examples: bool = True) -> Iterator[str]:
    """Sentences on why trials are in no figure, by cause and kind of error.

    Args:
        store: an open run.
        examples: whether to quote one of each; it may hold words of the conversation.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for _, score in store.scores(REWARD):
        if score.errored:
            kind = "" if score.cause is Cause.USER else score.category
            found.setdefault((str(score.cause), kind), []).append(score.detail)
    for (cause, kind), details in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:_REASONS]:
        named = f"{cause} ({kind})" if kind else cause
        example = "" if len(set(details)) == 1 else "e.g. "
        yield f"not counted, {len(details)} x {named}" + (f": {example}{min(details)}" if examples else "")


def _some(parts: Sequence[str], total: int) -> str:
    return ", ".join(parts) + (", ..." if total > len(parts) else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _percent(figure: Figure) -> str:
    return "-" if figure.value is None else f"{decimals(100 * figure.value)}%"
