"""The seam of live domains: what a rollout, a grader and a synthesiser may ask of one.

A `LiveDomain` makes worlds; a `LiveWorld` runs calls, tells what it holds and where it differs from another, and can be
forked, noted and put back. It also is the `turngap.domains.base.World` of an episode: the agent's turn is over when it
speaks. Worlds never share anything that can change.

What a call comes to:

* the tool says no (an error of the domain), or the call is malformed, unknown or against the schema: a result with
  ``error=True``, for the agent to read;
* the domain's own code crashes, hangs or returns what is no JSON: `DomainFault`, which makes the trial errored.

Implementations: `turngap.domains.world.TableWorld` for domains written with `turngap.domains.api`, and adapters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from turngap.data import (
    AssistantMessage,
    CallVerdict,
    Category,
    Finish,
    Message,
    Repaired,
    ToolCall,
    ToolMessage,
    ToolSpec,
)
from turngap.data.task import Side
from turngap.domains.base import Expectation, Outcome
from turngap.domains.difference import Difference

Kind = Literal["read", "write", "generic"]
"""What a tool does to the state: looks at it, may change it, has nothing to do with it."""


class LiveTool(Protocol):
    """What is known of a tool."""

    @property
    def name(self) -> str:
        """The function name that calls use."""
        ...

    @property
    def kind(self) -> Kind:
        """What it does to the state."""
        ...

    @property
    def spec(self) -> ToolSpec:
        """What the agent is told of it."""
        ...


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What one call led to."""

    message: ToolMessage
    """The result, for whoever called."""
    category: Category | None = None
    """Why the call could not be run (malformed, unknown tool, arguments against the schema); None when it was run."""
    detail: str = ""
    """One line for readers."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the agent made earlier in a conversation, for rules that depend on it."""

    call: ToolCall
    result: ToolMessage


class Unscripted(ABC):
    """A world without a recording behind it, whatever answers the calls: nothing is due, and a turn ends with words."""

    _spoke = False

    @abstractmethod
    async def answered(self, call: ToolCall) -> tuple[ToolMessage, CallVerdict]:
        """The result of one call of the agent, and what it was taken for.

        Raises:
            DomainFault: whatever answers calls failed.
        """
        ...

    def turn_begins(self) -> None:
        """The user has spoken, or the agent is to open."""
        self._spoke = False

    def turn_is_over(self) -> bool:
        """Whether the agent has spoken."""
        return self._spoke

    def expected(self) -> Expectation:
        """Nothing in particular: only a recording knows what comes next."""
        return Expectation()

    async def answer(self, message: AssistantMessage, finish: Finish) -> Outcome:  # noqa: ARG002 - the seam's signature
        """Run the calls of a message in order, or note that the agent spoke; raises as `answered` does."""
        if not message.calls:
            self._spoke = True
            return Outcome()
        pairs = [await self.answered(call) for call in message.calls]
        return Outcome(results=tuple(result for result, _ in pairs), verdicts=tuple(verdict for _, verdict in pairs))

    def repair(self) -> Repaired | None:
        """Nothing can be put right: no one knows what would have been."""
        return None

    def outgrown(self, history: Sequence[Message]) -> bool:  # noqa: ARG002 - the seam's signature
        """Always: all that is said in a live conversation comes after the agent took over."""
        return True

    def close(self) -> tuple[Category, int | None, str] | None:
        """Nothing is ever due."""
        return None


class LiveWorld(Unscripted):
    """One live instance of what the tools act on, used by one trial."""

    @abstractmethod
    def reply(self, call: ToolCall, *, requestor: Side = "assistant") -> Reply:
        """Run one call to its end, and wait for it where the tool is asynchronous.

        Raises:
            DomainFault: the domain's own code failed; with `kind` ``unknown_outcome`` a write may have happened or not,
                and the world refuses every further call.
        """
        ...

    async def reply_soon(self, call: ToolCall, *, requestor: Side = "assistant") -> Reply:
        """Like `reply`, but other trials go on while an asynchronous tool waits."""
        return self.reply(call, requestor=requestor)

    def call(self, call: ToolCall, *, requestor: Side = "assistant") -> ToolMessage:
        """The result of one call; raises as `reply` does."""
        return self.reply(call, requestor=requestor).message

    def breaches(self, call: ToolCall, before: Sequence[Done] | None = None) -> tuple[str, ...]:  # noqa: ARG002 - the seam's signature
        """The rules of the policy that the call would break now, as far as the domain can check them itself.

        Args:
            call: what the agent would do.
            before: what it did so far, in order; None where that is not known, and then the rules that depend on it
                are not asked.

        Raises:
            DomainFault: a check failed.
        """
        return ()

    @abstractmethod
    def digest(self) -> str:
        """A text that is equal for worlds with equal content, however they came to it."""
        ...

    @abstractmethod
    def diff(self, other: LiveWorld) -> tuple[Difference, ...]:
        """What is different in `other`; empty exactly when the digests are equal."""
        ...

    @abstractmethod
    def changes(self) -> tuple[Difference, ...]:
        """What is different now from when the world was made."""
        ...

    @abstractmethod
    def content(self) -> dict[str, dict[str, Any]]:
        """All that it holds now, as JSON values: table -> key -> record, a copy that the caller may change.

        What a domain keeps outside of tables, such as today's date, stands under the empty name. The copy costs as
        much as the database is large: whoever makes many worlds of one domain takes it once.
        """
        ...

    @abstractmethod
    def fork(self) -> LiveWorld:
        """Another world with the same content; neither sees what happens in the other from now on."""
        ...

    @abstractmethod
    def snapshot(self) -> Any:
        """A note of the content, for `restore`; later calls do not change it."""
        ...

    @abstractmethod
    def restore(self, snapshot: Any) -> None:
        """Go back to what a snapshot of this world, or of one of the same domain, noted."""
        ...

    async def answered(self, call: ToolCall) -> tuple[ToolMessage, CallVerdict]:
        """See `Unscripted.answered`; raises as `reply` does."""
        reply = await self.reply_soon(call)
        verdict = CallVerdict(accepted=reply.category is None, category=reply.category, detail=reply.detail)
        return reply.message, verdict


class LiveDomain(Protocol):
    """Something that worlds can be made of."""

    @property
    def name(self) -> str:
        """What a spec calls it."""
        ...

    @property
    def policy(self) -> str:
        """The agent's instructions."""
        ...

    @property
    def tools(self) -> Sequence[LiveTool]:
        """The agent's tools, in the order in which it is told of them."""
        ...

    @property
    def user_tools(self) -> Sequence[LiveTool]:
        """The tools in the user's hands; often none."""
        ...

    def world(self, seed: int = 0, initial_state: dict[str, Any] | None = None) -> LiveWorld:
        """A new world.

        Args:
            seed: for a domain that leaves something to chance.
            initial_state: what a task changes before the conversation begins (`turngap.data.Task.initial_state`).

        Raises:
            DataFault: the initial state does not fit the domain.
            DomainFault: the database cannot be loaded.
        """
        ...

    def holds(
        self, world: LiveWorld, assertion: str, arguments: dict[str, Any], *, requestor: Side = "assistant"
    ) -> bool:
        """Whether an assertion of the domain holds in a world.

        Args:
            world: one of this domain.
            assertion: its name.
            arguments: what it is told.
            requestor: on whose side it is defined, where the domain has two.

        Raises:
            DataFault: there is no such assertion, or the arguments do not fit it.
            DomainFault: its code failed.
        """
        ...

    def identity(self) -> dict[str, Any]:
        """Everything of the domain that can change a trial, as plain values."""
        ...
