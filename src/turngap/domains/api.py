"""What the author of a domain writes with: everything a domain module needs is imported from here.

A domain is a policy, a state type, and functions with type hints and docstrings::

    class Booking(Record):
        date: str
        seats: int = 1

    class Desk(State):
        bookings: Table[Booking]

    @write
    def move_booking(desk: Desk, booking_id: str, date: str) -> Booking:
        '''Move a booking to another day.'''
        if booking_id not in desk.bookings:
            raise ToolError(f"there is no booking {booking_id}")
        return desk.bookings.change(booking_id, date=date)

    DOMAIN = Domain(name="desk", policy=POLICY, state=Desk, database={"bookings": {...}}, tools=[move_booking])

A tool's first parameter is the state where its type is one; the others are what the agent gives. A tool says no by
raising `ToolError`, whose text the agent reads; every other exception is the domain's own fault. Nothing that a failed
call wrote remains. A result is given to the agent as it is when it is text, else as JSON.

docs/your-own-domain.md builds one from nothing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from turngap import jsonio
from turngap.data.task import Side
from turngap.domains import initial
from turngap.domains.blame import Blame
from turngap.domains.difference import Difference
from turngap.domains.frozen import StateError, thaw
from turngap.domains.live import Done, LiveWorld
from turngap.domains.state import Pristine, State
from turngap.domains.table import Record, Table
from turngap.domains.tool import Assertion, Check, Tool, ToolError
from turngap.domains.world import SEALED, Setting, TableWorld
from turngap.errors import DataError, DataFault, DomainFault, UsageError

TIME_LIMIT = 10.0
"""Seconds that one call of a tool may take where a domain says nothing."""


def read(function: Callable[..., Any]) -> Tool:
    """Make a function a tool that looks at the state. A write inside it is a fault; it may be called again."""
    return Tool(function, "read")


def write(function: Callable[..., Any]) -> Tool:
    """Make a function a tool that may change the state. It is never called a second time for one call."""
    return Tool(function, "write")


def generic(function: Callable[..., Any]) -> Tool:
    """Make a function a tool that has nothing to do with the state, such as a calculator or a hand-over."""
    return Tool(function, "generic")


def check(function: Callable[..., str | None]) -> Check:
    """Make a function a policy check: ``(state, call) -> what rule the call would break now, or None``.

    A rule that depends on what the agent did before takes a third parameter, the earlier calls with their results
    (`Done`): ``(state, call, before)``. Where nobody knows what was done before, it is not asked.

    Checks do not stop a call. They tell graders and task makers what the policy forbids although the tools allow it.
    """
    return Check(function)


def assertion(function: Callable[..., bool]) -> Assertion:
    """Make a function an assertion that tasks can name: ``(state, arguments...) -> whether it holds``."""
    return Assertion(function)


class Domain:
    """A policy, tools and a database that worlds are made of. Implements `turngap.domains.live.LiveDomain`.

    Raises:
        UsageError: a function is not decorated, two of one kind bear one name, one asks for another state type, or the
            state type's declaration makes no sense.
    """

    def __init__(
        self,
        *,
        name: str,
        policy: str,
        state: type[State],
        tools: Sequence[Tool],
        database: Mapping[str, Any] | Path | Callable[[], Mapping[str, Any]],
        user_tools: Sequence[Tool] = (),
        rules: Sequence[Check | Assertion] = (),
        time_limit: float = TIME_LIMIT,
    ) -> None:
        """Describe a domain; nothing is loaded before the first world.

        Args:
            name: what tables call it.
            policy: the agent's instructions.
            state: the type that names the tables.
            tools: the agent's, in the order in which it is told of them.
            database: table -> key -> record, as JSON values or records; or a JSON file with that; or a function that
                makes it, called once.
            user_tools: in the user's hands.
            rules: checks and assertions.
            time_limit: seconds that one call of a tool may take.
        """
        self.name = name
        self.policy = policy
        self.state = state
        self.tools = tuple(tools)
        self.user_tools = tuple(user_tools)
        self.time_limit = time_limit
        self._database = database
        self._setting: Setting | None = None
        self._loading = threading.Lock()
        self._examine(rules)
        self.checks = tuple(rule for rule in rules if isinstance(rule, Check))
        self.assertions = {rule.name: rule for rule in rules if isinstance(rule, Assertion)}

    def _examine(self, rules: Sequence[Check | Assertion]) -> None:
        """Refuse what cannot work, before anything is run."""
        try:
            self.state.layout()
        except StateError as error:
            raise self._wrong(str(error)) from None
        if not self.time_limit > 0:
            raise self._wrong(f"the time limit should be above 0 s, not {self.time_limit}")
        tool, rule = (Tool,), (Check, Assertion)
        sides: list[tuple[Any, tuple[type, ...], str]] = [
            (self.tools, tool, "@read, @write or @generic"),
            (self.user_tools, tool, "@read, @write or @generic"),
            (rules, rule, "@check or @assertion"),
        ]
        for side, kinds, decorators in sides:
            stray = [one for one in side if not isinstance(one, kinds)]
            if stray:
                raise self._wrong(f"{getattr(stray[0], '__name__', stray[0])} should be decorated with {decorators}")
            names = Counter(one.name for one in side)
            twice = next((name for name, count in names.items() if count > 1), None)
            if twice is not None:
                raise self._wrong(f"{twice!r} is defined twice")
        functions: list[Tool | Assertion] = [*self.tools, *self.user_tools]
        functions += [one for one in rules if isinstance(one, Assertion)]
        for function in functions:
            asked = function.signature.state
            if asked is not None and not issubclass(self.state, asked):
                raise self._wrong(f"{function.name} asks for {asked.__name__}, not {self.state.__name__}")

    def _wrong(self, problem: str) -> UsageError:
        return UsageError(f"domain {self.name!r}: {problem}")

    def world(self, seed: int = 0, initial_state: dict[str, Any] | None = None) -> TableWorld:
        """A new world, in time that does not depend on the size of the database. See `LiveDomain.world`.

        Data of the initial state is laid over the database: objects are merged key by key, null deletes a record.
        """
        setting = self._setting or self._load()
        start = setting.start.seeded(seed) if seed else setting.start
        if not initial_state:
            return TableWorld(setting, start)
        state = start.fork()
        beginning = initial.read(initial_state, self.name)
        try:
            for patch in beginning.patches():
                state.merge(patch)
        except StateError as error:
            raise DataFault(f"domain {self.name!r}: initial state: {error}") from None
        state.seal(SEALED)
        world = TableWorld(setting, state)
        for call, side, required in beginning.calls():
            result = world.call(call, requestor=side)
            if required and result.error:
                raise DataFault(f"domain {self.name!r}: initial state: {call.name} gave {result.content}")
        return TableWorld(setting, world.state)

    def holds(
        self,
        world: LiveWorld,
        assertion: str,
        arguments: dict[str, Any],
        *,
        requestor: Side = "assistant",  # noqa: ARG002 - here one function serves both sides
    ) -> bool:
        """Whether an assertion holds in a world of this domain. See `LiveDomain.holds`."""
        if assertion not in self.assertions:
            known = ", ".join(self.assertions) or "none"
            raise DataFault(f"domain {self.name!r} has no assertion {assertion!r}; known: {known}")
        if not isinstance(world, TableWorld):
            raise UsageError(f"domain {self.name!r}: the world is of another kind")
        return self.assertions[assertion].holds(world.state, arguments, self.time_limit)

    def identity(self) -> dict[str, Any]:
        """Name and digests of policy, tools and database."""
        specs = [(tool.kind, tool.spec) for tool in (*self.tools, *self.user_tools)]
        return {
            "domain": self.name,
            "policy": jsonio.digest(self.policy),
            "tools": jsonio.digest(specs),
            "database": (self._setting or self._load()).start.digest(),
        }

    def _load(self) -> Setting:
        with self._loading:
            if self._setting is None:
                self._setting = Setting(
                    name=self.name,
                    start=self._first_state(),
                    tools={
                        "assistant": {tool.name: tool for tool in self.tools},
                        "user": {tool.name: tool for tool in self.user_tools},
                    },
                    checks=self.checks,
                    time_limit=self.time_limit,
                )
        return self._setting

    def _first_state(self) -> State:
        source = self._database
        try:
            if isinstance(source, Path):
                data = jsonio.loads(source.read_bytes())
            elif callable(source):
                with Blame(f"the database of domain {self.name}", source, let=(StateError,)):
                    data = source()
            else:
                data = source
            state = self.state(Pristine(self.state, data))
        except (OSError, jsonio.JsonError) as error:
            raise DataError(str(error), file=str(source)) from None
        except StateError as error:
            raise DomainFault(f"the database of domain {self.name}: {error}") from None
        state.seal(SEALED)
        return state


__all__ = [
    "Difference",
    "Domain",
    "Done",
    "Record",
    "State",
    "StateError",
    "Table",
    "Tool",
    "ToolError",
    "assertion",
    "check",
    "generic",
    "read",
    "thaw",
    "write",
]
