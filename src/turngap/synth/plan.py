"""The nouns of synthesis: what one stage hands to the next.

A customer is sampled, an explorer acts in a world (`Exploration`), what is not necessary is taken out and what remains
is traced (`Plan`, a verified backbone), a scenario makes one or two plans into a `Draft`, and a summariser puts the
draft into words (`turngap.data.Task`). Whatever a stage gives up, it gives up as a `Loss` with the reason.

Values only: nothing here calls a model or a world.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec

from turngap.data import ToolCall, Trajectory
from turngap.data.task import Scenario, Task, hands_over
from turngap.domains.live import Kind

Stage = Literal["explore", "filter", "ablate", "trace", "scenario", "summarise", "validate", "play", "repeat"]
"""Where a candidate can be lost."""


class Customer(msgspec.Struct, frozen=True, kw_only=True):
    """The person a task is about: one record of the database."""

    table: str
    """The table of people; another one where a domain has no people."""
    key: str
    """The record's key, such as a user id."""
    record: dict[str, Any]
    """The record as JSON values, as it is before anything happens."""
    linked: tuple[str, ...] = ()
    """Keys of records of other tables that say that they are this person's, where the record itself does not list
    them; the person has them in hand, as order numbers are."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One call and what it led to."""

    call: ToolCall
    result: str
    """What the agent would read."""
    error: bool = False
    """The tool, or the check of the arguments, said no."""
    kind: Kind = "read"
    """What the tool may do to the state."""
    changed: bool = False
    """The call changed the state."""
    breaches: tuple[str, ...] = ()
    """The rules of the policy that the call broke, as far as the domain can check them. No plan keeps such a step as
    something that should be done; for infeasible tasks it is the material."""

    def has_effect(self) -> bool:
        """Whether it changed the state or handed the user over."""
        return self.changed or (hands_over(self.call.name) and not self.error)


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the agent has to tell the user, since the user asks for it."""

    step: int
    """Index of the step that finds it out."""
    path: str
    """Where in its result; empty for the whole result."""
    value: str
    """What has to be said, as `COMMUNICATE` looks for it."""
    about: str = ""
    """What it is, in a few words for the summary: ``the difference in price``."""


class Exploration(msgspec.Struct, frozen=True, kw_only=True, tag="exploration"):
    """What an explorer did in one world, from a pristine database."""

    id: str
    """Unique in its run, such as ``x00017``; sorts in the order of making."""
    seed: int
    """Of this exploration alone: derived from the run's seed and the id."""
    explorer: str
    """``program``, or the spec of the model."""
    customer: Customer
    offered: tuple[str, ...]
    """The tools that the walk picked."""
    inspired_by: str = ""
    """Id of the bank's trajectory that it began from."""
    steps: tuple[Step, ...] = ()
    facts: tuple[Fact, ...] = ()
    """What the customer asked about; the indices are those of the steps here."""
    mishaps: dict[str, int] = {}
    """What the explorer got wrong on the way and what is no step, counted: ``malformed call``, ``tool not offered``;
    and what of the domain's code failed, and was done without (`turngap.synth.explore.FAULT`)."""


class Origin(StrEnum):
    """Where the value of an argument comes from."""

    USER = "user"
    """Only the user can know it: it stands in no earlier result."""
    CHOICE = "choice"
    """An earlier result offers it among others of its kind, so that only the user can say which is meant."""
    OUTPUT = "output"
    """An earlier result gives it, without a choice."""
    CONSTANT = "constant"
    """The tool's specification gives it: its only allowed value, or its default."""
    COMPUTED = "computed"
    """It follows from values that are known, such as an expression of prices."""
    AGENT = "agent"
    """The agent words it, such as the summary of a hand-over; any wording will do."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """How one value was traced."""

    origin: Origin
    step: int | None = None
    """Index of the step of the plan whose result holds it, for ``choice`` and ``output``."""
    path: str = ""
    """Where in that result, such as ``orders[2]`` or ``items[0].item_id``."""
    among: int = 1
    """How many values of its kind the result offers."""
    note: str = ""
    """For ``computed``: from what. For readers."""


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf of the arguments of one step, traced."""

    step: int
    """Index in the plan."""
    path: str
    """Such as ``order_id`` or ``item_ids[0]``; the name of the parameter stands first."""
    value: Any
    source: Source


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """A step that the plan can do without."""

    call: ToolCall
    reason: str
    """Such as ``the final state and every later argument are the same without it``."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A verified backbone: steps of which each one is needed, from a pristine world."""

    id: str
    """Of the exploration it comes from; with a suffix where one exploration gives several."""
    customer: Customer
    steps: tuple[Step, ...]
    arguments: tuple[Argument, ...] = ()
    """Every leaf of every step's arguments, in order."""
    facts: tuple[Fact, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    digest: str = ""
    """Of the world after the last step."""

    def writes(self) -> tuple[int, ...]:
        """Indices of the steps that change the state or hand the user over."""
        return tuple(index for index, step in enumerate(self.steps) if step.has_effect())


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the user wants and that cannot be, verified by executing it."""

    kind: Literal["tool", "policy"]
    """``tool``: the world rejects the call; ``policy``: it would go through, and a rule of the policy forbids it."""
    call: ToolCall
    """What must not even be attempted."""
    compare_args: tuple[str, ...] | None = None
    """The arguments by which an attempt is recognised; None: all."""
    reason: str = ""
    """The rule, in words for readers."""
    evidence: str = ""
    """The tool's error, or the broken rule as the domain words it."""
    diagnosis: tuple[int, ...] = ()
    """Indices of the steps of the plan that find out that it cannot be: the required actions."""
    arguments: tuple[Argument, ...] = ()
    """Every leaf of the call's arguments, traced; their step is the number of steps of the plan."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is not yet in words."""

    id: str
    scenario: Scenario
    seed: int
    plan: Plan
    """What the agent should have done in the end; its digest is that of the wanted state. For infeasible tasks the
    diagnosis, after which the state is unchanged."""
    abandoned: Plan | None = None
    """Changing, drift: what the user wanted first, and takes back."""
    added_from: int | None = None
    """Changing, addition: index of the first step of the plan that belongs to the second issue."""
    refusal: Refusal | None = None
    """Infeasible: what cannot be."""
    withheld: tuple[int, ...] = ()
    """Ambiguous: indices into the plan's arguments that the user tells only when asked."""


class Loss(msgspec.Struct, frozen=True, kw_only=True, tag="loss"):
    """A candidate that was given up."""

    stage: Stage
    reason: str
    """One of a few short phrases, so that they can be counted: ``no effect``, ``too few choices``."""
    detail: str = ""
    """This case, for readers."""
    fault: bool = False
    """Code failed, the domain's or turngap's own; nobody decided that the candidate is of no use."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What one exploration came to in one scenario: a task with how it was made, or why there is none."""

    scenario: Scenario
    draft: Draft | None = None
    task: Task | None = None
    played: Trajectory | None = None
    """The reference agent at the task, with the scripted user: it succeeded."""
    loss: Loss | None = None
    """Why it was given up; None exactly when it is kept."""


class LostError(Exception):
    """Raised inside a stage to give a candidate up; the pipeline stores the loss and goes on."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(f"{loss.stage}: {loss.reason}")
        self.loss = loss

    def __reduce__(self) -> tuple[type[LostError], tuple[Loss]]:
        return (type(self), (self.loss,))
