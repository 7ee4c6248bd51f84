"""What synthesis makes of 1000 explorations, and whether its tasks keep what they promise.

Run: ``python benchmarks/synthesis.py [EXPLORATIONS] [--keep DIR]``. No model and no network: the program explores a
made-up retail database, templates word. Then, of the files as a person gets them:

* tasks of each scenario, and the time: of the whole command, on the clock and of the CPU (one process);
* `synth check` over all of them; what they cover; tasks that say and want the same;
* necessity: of 200 tasks each write is left out in turn, and the final state has to be another;
* sufficiency: `turngap rollout` with ``baseline/reference`` and the scripted user;
* wrong agents: the first intent of changing tasks, what infeasible ones forbid, guessing what ambiguous ones withhold;
* tau2: its own evaluator on its own retail tools over the same database, on references and spoilt trials of 100 tasks;
* overlap: with tasks of a database that was made to avoid this one, and with tasks of the same one by another seed.

Exits 1 when one of these is not as it should be. Other work on the machine adds to the time on the clock only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the wrong agents and the proofs are doubles of the tests

from synthproof import choices, needless, our_verdict, performed, rewards, tau2_twin, trials, writes
from tau2peer import absent
from wrongagents import FirstIntent, Forbidden, NeverAsks

from turngap import domains
from turngap.data import Task
from turngap.data.task import Scenario
from turngap.domains import LiveDomain
from turngap.formats import tasks as task_files
from turngap.synth.pipeline import asked_and_wanted

WANTED_TASKS, WANTED_MINUTES, WANTED_ARROWS = 250, 10.0, 0.8
WANTED_SOLVED, MOST_WRONG = 0.98, 0.02
NECESSITY, PEER, OVERLAP = 200, 100, 60
"""Tasks looked at; explorations of the sets that are held against one another."""


class Report:
    """Prints what was found, and whether it is as it should be."""

    def __init__(self) -> None:
        self.failed = False

    def line(self, what: str, found: str, *, good: bool = True) -> None:
        """One line."""
        self.failed |= not good
        print(f"{what:<52}{found}{'' if good else '   <-- not as it should be'}", flush=True)


def turngap(*arguments: str) -> tuple[str, float, float]:
    """Run a command; its output, seconds on the clock, and of the CPU."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "turngap", *arguments], capture_output=True, text=True, check=False)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    if done.returncode not in (0, 1):
        sys.exit(f"turngap {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout, time.perf_counter() - began, cpu


def made(report: Report, domain: str, folder: Path, explorations: int) -> Path:
    """Make tasks; print what came of it."""
    out, seconds, cpu = turngap(
        "synth", "--domain", domain, "-o", str(folder), "--explorations", str(explorations), "--json"
    )
    account: dict[str, Any] = json.loads(out)
    least = WANTED_TASKS * explorations // 1000
    for scenario, count in account["tasks"].items():
        report.line(f"tasks kept, {scenario}", f"{count} (at least {least})", good=count >= least)
    minutes = f"{seconds / 60:.1f} min on the clock, {cpu / 60:.1f} min of one CPU"
    report.line("time of the command", minutes, good=cpu / 60 < WANTED_MINUTES)
    coverage = account["coverage"]
    for name, share, wanted in (
        ("tools", "tools", 0.0),
        ("writing tools", "writes", 1.0),
        ("edges of the tool graph", "arrows", WANTED_ARROWS),
    ):
        met, of = coverage[share]["met"], coverage[share]["of"]
        report.line(f"covered: {name}", f"{met} of {of}", good=met >= wanted * of)
    lengths = account["lengths"]
    report.line(
        "mean calls of an exploration, steps of a reference",
        f"{lengths['exploration']['mean']:.1f}, {lengths['plan']['mean']:.1f}",
    )
    report.line("different sequences of effects", str(account["diversity"]["chains"]))
    repeated = account["diversity"]["near_duplicates"]
    report.line("repeat an earlier task but for names and ids", f"{repeated:.1%}")
    return folder / "tasks.json"


def holds(report: Report, domain: str, path: Path, tasks: tuple[Task, ...]) -> None:
    """Check them, and look for two that say and want the same."""
    out, _, cpu = turngap("synth", "check", str(path), "--domain", domain, "--json")
    found = json.loads(out)
    good = found["tasks"] - len(found["tasks_with_errors"])
    verdict = f"{good} of {found['tasks']}, {found['warnings']} warnings, {cpu:.0f} s"
    report.line("pass synth check", verdict, good=good == found["tasks"])
    same = len(tasks) - len({asked_and_wanted(task) for task in tasks})
    report.line("tasks with the instruction and reference of another", str(same), good=same == 0)


def necessary(report: Report, domain: LiveDomain, tasks: tuple[Task, ...]) -> None:
    """Leave each write out."""
    chosen = spread([task for task in tasks if writes(domain, task)], NECESSITY)
    count = sum(len(writes(domain, task)) for task in chosen)
    lost = sum(len(needless(domain, task)) for task in chosen)
    report.line(f"writes of {len(chosen)} tasks that make no difference", f"{lost} of {count}", good=lost == 0)


def sufficient(report: Report, spec: str, path: Path, folder: Path) -> None:
    """Let the reference agent serve the scripted user, as a person would."""
    arguments = ("rollout", "--domain", spec, "--tasks", str(path), "--model", "baseline/reference", "-o", str(folder))
    out, _, cpu = turngap(*arguments, "--seed", "1", "--json")
    metrics = json.loads(out)["metrics"]
    share = metrics["pass^1"]["value"]
    report.line("baseline/reference solves", f"{share:.2%}, {cpu:.0f} s", good=share >= WANTED_SOLVED)


def wrong(report: Report, domain: LiveDomain, tasks: tuple[Task, ...]) -> None:
    """Let agents go wrong."""
    for name, agent, scenario in (
        ("does the first intent", FirstIntent(), Scenario.CHANGING),
        ("does what is forbidden", Forbidden(), Scenario.INFEASIBLE),
        ("never asks", NeverAsks(choices(domain)), Scenario.AMBIGUOUS),
    ):
        got = rewards(agent, domain, [task for task in tasks if task.scenario is scenario])
        share = sum(got) / len(got) if got else 1.0
        found = f"{sum(got):.0f} of {len(got)} {scenario.value} tasks, {share:.2%}"
        report.line(f"solved by an agent that {name}", found, good=share <= MOST_WRONG)


def beside_tau2(report: Report, domain: LiveDomain, database: Path, tasks: tuple[Task, ...]) -> None:
    """Hold our verdicts against tau2's."""
    missing = absent()
    if missing:
        report.line("tau2's evaluator", f"left out: {missing}")
        return
    from turngap.domains.tau2.verdict import verdict  # noqa: PLC0415 - needs tau2

    twin = tau2_twin("retail-benchmark", json.loads(database.read_bytes()))
    counts: Counter[str] = Counter()
    other = 0
    for task in spread(list(tasks), PEER):
        for trial in trials(domain, task):
            theirs = verdict(twin, task, performed(twin, task, trial).trajectory)["reward"]
            counts[trial.fault or "reference"] += 1
            other += not theirs == our_verdict(domain, task, trial) == float(not trial.fault)
    what = ", ".join(f"{name} {count}" for name, count in counts.items())
    report.line(
        "verdicts that differ from tau2's, or are wrong", f"{other} of {counts.total()} ({what})", good=other == 0
    )


def apart(report: Report, spec: str, other: str, folder: Path) -> None:
    """Look for leakage where there is none, and where there is."""
    paths = {}
    for name, domain, seed in (("one", spec, "1"), ("other", other, "1"), ("again", spec, "2")):
        settings = ("--explorations", str(OVERLAP), "--seed", seed)
        turngap("synth", "--domain", domain, "-o", str(folder / name), *settings, "--json")
        paths[name] = str(folder / name / "tasks.json")
    for name, what, clean in (("other", "disjoint databases", True), ("again", "one database", False)):
        found = json.loads(turngap("synth", "overlap", paths["one"], paths[name], "--json")[0])
        said = (
            f"{found['flagged']} of {found['tested']} tasks flagged, {len(found['entities'])} ids and addresses shared"
        )
        report.line(
            f"overlap between tasks of {what}", said, good=clean == (not found["flagged"] and not found["entities"])
        )


def spread(items: list[Any], count: int) -> list[Any]:
    """Some of all, evenly."""
    step = max(len(items) / count, 1.0)
    return [items[int(index * step)] for index in range(min(count, len(items)))]


def main(arguments: list[str]) -> int:
    """Print the report; 1 when something is not as it should be."""
    numbers = [int(one) for one in arguments if one.isdigit()]
    explorations = numbers[0] if numbers else 1000
    report = Report()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments[arguments.index("--keep") + 1]) if "--keep" in arguments else Path(temporary)
        folder.mkdir(exist_ok=True)
        first, second = folder / "shop.json", folder / "other.json"
        turngap("domain", "generate", "retail", "--seed", "3", "-o", str(first))
        turngap("domain", "generate", "retail", "--seed", "4", "--avoid", str(first), "-o", str(second))
        spec, other = f"retail?db={first}", f"retail?db={second}"
        path = made(report, spec, folder / "made", explorations)
        tasks, domain = task_files.read(path).tasks, domains.build(spec)
        holds(report, spec, path, tasks)
        necessary(report, domain, tasks)
        sufficient(report, spec, path, folder / "run")
        wrong(report, domain, tasks)
        beside_tau2(report, domain, first, tasks)
        apart(report, spec, other, folder)
    return int(report.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
