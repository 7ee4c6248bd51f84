"""The figures of live trials: which there are, and which units of a run's score rows each is over.

========================  =========================================================================================
``pass^k``                per task, the share of all choices of k valid trials that hold successes only; mean over the
                          tasks that have at least k of them, the others are left out and counted
``reward``                mean over valid trials; partial rewards count as what they are
``reward.db`` ...         a component, over the trials in whose reward it counts and whose task has something for it
``observed.action`` ...   a component, over the trials in which it was looked at but does not count
``tau2.reward`` ...       `reward` and `pass^k` by tau2's own scoring, over all trials that took place, as tau2 has it
``user_error``            share of the trials that took place in which the simulated user failed
========================  =========================================================================================

A valid trial is one that was measured and in which the user did not fail. ``.all`` behind `pass^k` and `reward` takes
in those in which the user failed, with the reward that came of it; ``[ambiguous]`` behind any name keeps the tasks of
one scenario. Intervals weigh whole tasks.

A task may count a component and have nothing for it: no fact to tell, no sentence to judge. Every trial passes that,
as the reward has it; in a figure of the component it would be praise for nothing, so such trials are counted apart.

Non-goals: summing a run up (`turngap.analysis.rollout`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from turngap.analysis.figure import Kind, Measure, Unit
from turngap.data import Cause, Score
from turngap.data.task import Component, Scenario, Task
from turngap.errors import HarnessFault
from turngap.metrics.passk import pass_hat_k, succeeded
from turngap.runs.store import RunStore

PROTOCOL = "rollout"
REWARD, AUDIT = "reward", "audit"
"""Scorers: of the run's own trials, and of those with the second user of an audit."""
SCENARIOS = tuple(scenario.value for scenario in Scenario)

_MOST_HATS = 5
_COMPONENTS = {component.value.lower(): component for component in Component}
_NAME = re.compile(
    r"(?P<base>(?:tau2\.)?pass\^(?P<k>[1-9]\d{0,3})|(?:tau2\.)?reward|user_error|floor\.(?:nothing|transfer)"
    rf"|(?:reward|observed)\.(?:{'|'.join(_COMPONENTS)}))"
    rf"(?P<all>\.all)?(?:\[(?P<scenario>{'|'.join(SCENARIOS)})\])?"
)
_MEANING = {
    "reward": "mean reward",
    "user_error": "trials spoiled by the user",
    "floor.nothing": "an agent that does nothing",
    "floor.transfer": "an agent that transfers all",
}
_OF_COMPONENT = {
    Component.DB: "final database as wanted",
    Component.COMMUNICATE: "facts told to the user",
    Component.ACTION: "reference actions done",
    Component.ENV_ASSERTION: "state checks hold",
    Component.NL_ASSERTION: "sentences hold, judged",
    Component.CONSTRAINT: "required done, none forbidden",
}


class Row(msgspec.Struct, frozen=True, gc=False):
    """What is kept of one trial's score."""

    task: str
    trial: int
    scenario: str
    success: bool
    cause: Cause | None
    values: dict[str, float]
    category: str = ""
    vacuous: tuple[str, ...] = ()
    """Components that the reward counts and the task has nothing for, by name (``communicate``); not in `values`."""

    @property
    def valid(self) -> bool:
        """Whether it was measured, and the user did not fail."""
        return self.cause is None or not self.cause.errored

    @property
    def played(self) -> bool:
        """Whether it took place to its end, whoever failed in it."""
        return self.valid or self.cause is Cause.USER

    def passed(self, reward: str = "reward") -> bool:
        """Whether a reward is 1, whoever failed in it."""
        return succeeded(self.values.get(reward, 0.0))


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The units of one figure."""

    units: list[Unit]
    trials: int
    """Trials of the scenarios, whether they count or not."""
    errored: int
    """Those that could not be measured."""
    spoiled: int
    """Those in which the user failed, where that keeps them out."""
    left_out: int = 0
    """For `pass^k`: tasks with fewer than k trials that count."""


def measure_of(metric: str) -> Measure | None:
    """The definition of a figure of trials; None for a name that none has."""
    found = _NAME.fullmatch(metric)
    if found is None:
        return None
    base, number, scenario = found["base"], found["k"], found["scenario"]
    if found["all"] and not re.fullmatch(r"reward|pass\^\d+", base):
        return None
    meaning = _meaning(base, number)
    if found["all"]:
        meaning += ", user errors in"
    over = SCENARIOS if scenario is None else (scenario,)
    return Measure(name=metric, protocol=PROTOCOL, value=base, over=over, kind=Kind.TASKS, meaning=meaning)


def shown_hats(most: int) -> list[int]:
    """Which k of pass^1 to pass^`most` a table has: all of a few, of more the powers of two and the last."""
    if most <= _MOST_HATS:
        return list(range(1, max(most, 1) + 1))
    return [*(2**at for at in range(most.bit_length()) if 2**at < most), most]


def scorer_of(metric: str) -> str:
    """Whose score rows a figure of trials is over."""
    base = metric.partition("[")[0]
    return base.replace(".", ":") if base.startswith("floor.") else REWARD


def rows_of(store: RunStore, scorer: str = REWARD) -> list[Row]:
    """The trials that a scorer scored, in the order of tasks and trials.

    Raises:
        HarnessFault: see `grid`.
    """
    asked = {task.id: asked_for(task) for task in store.trials.tasks()}
    return grid((score for _, score in store.scores(scorer)), asked)


def asked_for(task: Task) -> frozenset[str]:
    """The components that a task has something for, by name; a wanted database it always has."""
    criteria = task.criteria
    held = {
        Component.COMMUNICATE: criteria.communicate,
        Component.ACTION: criteria.actions,
        Component.ENV_ASSERTION: criteria.env_assertions,
        Component.NL_ASSERTION: criteria.nl_assertions,
        Component.CONSTRAINT: criteria.required or criteria.forbidden,
    }
    return frozenset(name for name, component in _COMPONENTS.items() if held.get(component, True))


def row(score: Score, asked: frozenset[str] = frozenset(_COMPONENTS)) -> Row:
    """What is kept of a score.

    Args:
        score: of a trial.
        asked: see `asked_for`.

    Raises:
        HarnessFault: it is not the score of a trial, or contradicts itself.
    """
    where = f"score of task {score.conversation!r}, trial {score.decision}"
    if score.decision is None or score.kind not in SCENARIOS:
        raise HarnessFault(f"{where}: is not that of a trial; please report this")
    if score.success == (score.cause is not None):
        raise HarnessFault(f"{where}: a success has no cause, anything else exactly one; please report this")
    if score.success and not succeeded(score.values.get("reward", 0.0)):
        raise HarnessFault(f"{where}: a success with a reward of {score.values.get('reward')}; please report this")
    values, vacuous = {}, []
    for name, value in score.values.items():
        owner, _, component = name.partition(".")
        if owner in ("reward", "observed") and component in _COMPONENTS and component not in asked:
            vacuous.append(component)
        else:
            values[name] = value
    return Row(
        score.conversation,
        score.decision,
        score.kind,
        score.success,
        score.cause,
        values,
        score.category,
        tuple(vacuous),
    )


def grid(scores: Iterable[Score], asked: Mapping[str, frozenset[str]] | None = None) -> list[Row]:
    """Rows in the order of tasks and trials, whatever the order of the scores.

    Args:
        scores: of trials.
        asked: task -> the components that it has something for; None: all of them, whatever the task.

    Raises:
        HarnessFault: a trial is there twice, or see `row`.
    """
    places: dict[tuple[str, int], int] = {}
    rows: list[Row] = []
    for number, score in enumerate(scores, start=1):
        one = row(score) if asked is None else row(score, asked[score.conversation])
        earlier = places.setdefault((one.task, one.trial), number)
        if earlier != number:
            raise HarnessFault(f"trial {one.trial} of task {one.task!r} is there twice: rows {earlier} and {number}")
        rows.append(one)
    return sorted(rows, key=lambda one: (one.task, one.trial))


def counted(rows: Sequence[Row], measure: Measure, tasks: Mapping[str, str]) -> Counted:
    """Pick the units of a figure: a task each for `pass^k`, a trial each for the others.

    Args:
        rows: see `grid`.
        measure: see `measure_of`.
        tasks: id -> scenario of every task of the run, those without any row too.
    """
    among = [one for one in rows if one.scenario in measure.over]
    theirs = measure.value.startswith("tau2.")
    with_user_errors = theirs or ".all" in measure.name or measure.value == "user_error"
    chosen = [one for one in among if (one.played if with_user_errors else one.valid)]
    lost = sum(not one.played for one in among)
    found = Counted(units=[], trials=len(among), errored=lost, spoiled=len(among) - lost - len(chosen))
    if theirs:
        chosen = [one for one in chosen if "tau2.reward" in one.values]
    if "pass^" in measure.value:
        return _pass_hat(chosen, [task for task in tasks if tasks[task] in measure.over], measure, found)
    if measure.value == "user_error":
        units = [_unit(one, measure.value, float(one.cause is Cause.USER)) for one in chosen]
    elif measure.value.startswith("floor."):
        units = [_unit(one, measure.value, float(one.passed())) for one in chosen]
    else:
        known = (one for one in chosen if measure.value in one.values)
        units = [_unit(one, measure.value, one.values[measure.value]) for one in known]
    return msgspec.structs.replace(found, units=units)


def _pass_hat(chosen: Sequence[Row], tasks: Sequence[str], measure: Measure, found: Counted) -> Counted:
    k = int(measure.value.partition("^")[2])
    reward = "tau2.reward" if measure.value.startswith("tau2.") else "reward"
    trials: dict[str, list[Row]] = {task: [] for task in sorted(tasks)}
    for one in chosen:
        trials[one.task].append(one)
    units: list[Unit] = []
    for task, of_task in trials.items():
        value = pass_hat_k(len(of_task), sum(one.passed(reward) for one in of_task), k)
        if value is not None:
            units.append(Unit(task, -1, of_task[0].scenario, {measure.value: value}))
    return msgspec.structs.replace(found, units=units, left_out=len(trials) - len(units))


def _unit(one: Row, name: str, value: float) -> Unit:
    return Unit(one.task, one.trial, one.scenario, {name: value})


def _meaning(base: str, number: str | None) -> str:
    if base.startswith("tau2."):
        return f"{_meaning(base.partition('.')[2], number)}, by tau2"
    if number is not None:
        return "a trial succeeds" if number == "1" else f"{number} of {number} trials succeed"
    if base in _MEANING:
        return _MEANING[base]
    owner, _, component = base.partition(".")
    meaning = _OF_COMPONENT[_COMPONENTS[component]]
    return meaning if owner == "reward" else f"{meaning} (not counted)"
