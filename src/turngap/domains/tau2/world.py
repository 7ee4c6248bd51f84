"""A live world that is an environment of tau2.

Results are tau2's to the letter: what a tool raises is an error for whoever called it, and what it did before stays
done. Two things differ, both for the sake of the run: an expression with a power is refused before tau2's calculator
evaluates it (``9**9**9`` would hold the process for ever), and ids that tau2 draws at random are counted, so that the
same calls give the same world.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from turngap import jsonio
from turngap.data import Category, ToolCall, ToolMessage
from turngap.data.task import Side
from turngap.domains.blame import TIME_LIMIT, UNKNOWN_OUTCOME, Blame, fault
from turngap.domains.difference import Difference, content, differences
from turngap.domains.limit import TimeUp, within
from turngap.domains.live import Kind, LiveWorld, Reply
from turngap.domains.state import State
from turngap.domains.tau2 import database
from turngap.domains.tau2.database import Layout
from turngap.domains.tau2.package import MINT, package
from turngap.errors import DomainFault, UsageError

_SECONDS = 10.0  # that one call may take
_KINDS: dict[str, Kind] = {"read": "read", "write": "write"}
_POWER = "Error: Invalid characters in expression"


def kind_of(kit: Any, name: str) -> Kind:
    """What a tool of a tool kit does to the state."""
    return _KINDS.get(kit.tool_type(name).value, "generic")


class Tau2World(LiveWorld):
    """One environment, and how it began. It is another world's too until the first call, for which it is forked."""

    def __init__(self, layout: Layout, environment: Any, start: State, minted: int = 0) -> None:
        """Begin with an environment that nobody changes any more.

        Args:
            layout: of the domain.
            environment: prepared by `database.share`.
            start: its content.
            minted: how many ids its tools have made.
        """
        self._layout = layout
        self._environment = environment
        self._own = False
        self._start = start
        self._state: State | None = None
        self._minted = minted
        self._broken: str | None = None

    @property
    def environment(self) -> Any:
        """tau2's environment, to look at and to fork."""
        return self._environment

    @property
    def state(self) -> State:
        """The content, as it is now."""
        if self._state is None:
            self._state = self._layout.state(self._environment)
        return self._state

    def reply(self, call: ToolCall, *, requestor: Side = "assistant") -> Reply:
        """Run one call. See `LiveWorld.reply`."""
        if self._broken is not None:
            raise fault(self._broken, UNKNOWN_OUTCOME)
        if call.arguments is None:
            problem = call.error or "the arguments are not a JSON object"
            return _refused(call, f"Error: {problem}", Category.MALFORMED_CALL)
        if call.name == "calculate" and "**" in str(call.arguments.get("expression")):
            return _refused(call, _POWER, None)
        category = self._misfit(call.name, call.arguments, requestor)
        answer = self._answer(call, call.arguments, requestor)
        message = ToolMessage(name=call.name, content=jsonio.clean(answer.content), error=answer.error)
        return Reply(message=message, category=category, detail=message.content if category else "")

    @property
    def minted(self) -> int:
        """How many ids its tools have made."""
        return self._minted

    @contextmanager
    def minting(self) -> Iterator[None]:
        """A block in which ids that tau2 draws at random are this world's next ones."""
        token = MINT.set(self._mint)
        try:
            yield
        finally:
            MINT.reset(token)

    def digest(self) -> str:
        """64 hex digits that are equal for equal content."""
        return self.state.digest()

    def diff(self, other: LiveWorld) -> tuple[Difference, ...]:
        """What is different in `other`, which has to be a world of tau2 too."""
        if not isinstance(other, Tau2World):
            raise UsageError("worlds of different kinds of domains cannot be compared")
        return differences(self.state, other.state)

    def changes(self) -> tuple[Difference, ...]:
        """What is different now from when the world was made."""
        return differences(self._start, self.state)

    def content(self) -> dict[str, dict[str, Any]]:
        """All that it holds now, as JSON values. See `LiveWorld.content`."""
        return content(self.state)

    def fork(self) -> Tau2World:
        """Another world with the same content and the same beginning."""
        self._own = False
        twin = Tau2World(self._layout, self._environment, self._start, self._minted)
        twin._broken = self._broken
        return twin

    def snapshot(self) -> Tau2World:
        """A note of the content."""
        return self.fork()

    def restore(self, snapshot: Tau2World) -> None:
        """Go back to what a snapshot noted."""
        self._environment, self._own = snapshot._environment, False
        self._minted = snapshot._minted
        self._state = snapshot._state

    def _kit(self, requestor: Side) -> Any:
        return self._environment.tools if requestor == "assistant" else self._environment.user_tools

    def _misfit(self, name: str, arguments: dict[str, Any], requestor: Side) -> Category | None:
        """Whether the call can be no call of a tool, whatever the database holds."""
        kit = self._kit(requestor)
        if kit is None or not kit.has_tool(name):
            return Category.WRONG_TOOL
        try:
            inspect.signature(kit.tools[name]).bind(**arguments)
        except TypeError:
            return Category.WRONG_ARGUMENTS
        return None

    def _answer(self, call: ToolCall, arguments: dict[str, Any], requestor: Side) -> Any:
        if not self._own:
            self._environment, self._own = database.fork(self._environment), True
        kit = self._kit(requestor)
        known = kit is not None and kit.has_tool(call.name)
        kind = kind_of(kit, call.name) if known else "generic"
        # The database may keep what it is given, and the call belongs to the trajectory.
        asked = package().call(name=call.name, arguments=copy.deepcopy(arguments), requestor=requestor)
        database.look(self._environment, only=kind != "write")
        self._state = None
        try:
            with self.minting(), Blame(f"tau2's tool {call.name}"):
                return within(_SECONDS, lambda: self._respond(asked))
        except TimeUp:
            raise self._out_of_time(call.name, kind) from None

    def _respond(self, asked: Any) -> Any:
        with warnings.catch_warnings():
            # tau2's calculator hands text such as 1(2) to Python, and some tools store values of the wrong type, of
            # which pydantic tells when the record is shown: warnings on standard error that nobody can act on.
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
            return self._environment.get_response(asked)

    def _out_of_time(self, name: str, kind: Kind) -> DomainFault:
        problem = f"tau2's tool {name} took longer than {_SECONDS:g} s"
        if kind != "write":
            return fault(problem, TIME_LIMIT)
        self._broken = f"{problem}: whether what it does was done is unknown"
        return fault(self._broken, UNKNOWN_OUTCOME)

    def _mint(self) -> str:
        self._minted += 1
        return hashlib.md5(f"{self._minted}".encode(), usedforsecurity=False).hexdigest()


def _refused(call: ToolCall, text: str, category: Category | None) -> Reply:
    message = ToolMessage(name=call.name, content=jsonio.clean(text), error=True)
    return Reply(message=message, category=category, detail=message.content if category else "")
