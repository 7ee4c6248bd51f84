"""What is wrong with the changes that an agent made.

Each change that does no reference action is held against the reference action it resembles most, so that a wrong value
is told from a change too many.

Which tools change something, the domain says. The record that a call is about is named by the first argument of its
tool that is an id (``order_id``); the other arguments say what to do with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from turngap.data import Action, ToolCall, ToolSpec
from turngap.data.reward import SymptomKind
from turngap.domains import LiveDomain
from turngap.grading.doing import Deeds, Made


class Slip(msgspec.Struct, frozen=True, kw_only=True):
    """One change that is not as the reference has it."""

    kind: SymptomKind
    one: Made | None = None
    """The agent's change; None where it made none."""
    action: Action | None = None
    """The reference action; None where there is none like it."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments in which the two differ; all of the action's where no change was made."""
        if self.action is None:
            return ()
        given = (self.one.call.arguments or {}) if self.one is not None else {}
        names = dict.fromkeys((*self.action.arguments, *given))
        return tuple(name for name in names if given.get(name) != self.action.arguments.get(name))


def slips(domain: LiveDomain, deeds: Deeds, actions: Sequence[Action], calls: Sequence[Made]) -> Iterator[Slip]:
    """The changes that went wrong: those made in their order, then those that were never made.

    Args:
        domain: says which tools change something.
        deeds: holds its calls against actions.
        actions: of the reference, without those that the domain refuses.
        calls: of the trial.
    """
    specs = {tool.name: tool.spec for tool in domain.tools if tool.kind == "write"}
    wanted = [action for action in actions if action.requestor == "assistant" and action.name in specs]
    made = [one for one in calls if one.side == "assistant" and one.call.name in specs and not one.failed]
    done = deeds.pairs(wanted, made)
    open_actions = [action for index, action in enumerate(wanted) if index not in done]
    for one in (one for index, one in enumerate(made) if index not in done.values()):
        action = _most_alike(specs[one.call.name], one.call, open_actions)
        if action is None:
            yield Slip(kind=SymptomKind.EXTRA_WRITE, one=one)
            continue
        open_actions.remove(action)
        same = entity(specs[one.call.name], one.call.arguments) == entity(specs[action.name], action.arguments)
        yield Slip(kind=SymptomKind.WRONG_ARGUMENT if same else SymptomKind.WRONG_ENTITY, one=one, action=action)
    for action in open_actions:
        yield Slip(kind=SymptomKind.MISSING_WRITE, action=action)


def entity(spec: ToolSpec, arguments: dict[str, Any] | None) -> Any:
    """The value that names the record which a call is about; None where the tool has no id among its arguments."""
    names = [name for name in spec.parameters.get("properties", {}) if name == "id" or name.endswith("_id")]
    return (arguments or {}).get(names[0]) if names else None


def _most_alike(spec: ToolSpec, call: ToolCall, actions: Sequence[Action]) -> Action | None:
    """Of the actions of the same tool the one about the same record, else the one with most values in common."""
    given = call.arguments or {}

    def alike(action: Action) -> tuple[bool, int]:
        same = sum(given.get(name) == value for name, value in action.arguments.items())
        return entity(spec, given) == entity(spec, action.arguments), same

    return max((action for action in actions if action.name == call.name), key=alike, default=None)
