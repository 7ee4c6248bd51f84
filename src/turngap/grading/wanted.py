"""The world that a task wants: one of its own in which the reference actions were done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turngap import jsonio
from turngap.data import Action, Task
from turngap.data.reward import Mismatch
from turngap.domains import LiveDomain, LiveWorld
from turngap.domains.difference import Difference
from turngap.domains.frozen import thaw
from turngap.domains.live import Reply
from turngap.domains.state import State
from turngap.domains.tau2.world import Tau2World

_MOST = 6  # differences that a detail names
_MOST_SHOWN = 120
_MOST_KEPT = 40  # differences that a reward keeps
_LONGEST_VALUE = 400


class Refused(msgspec.Struct, frozen=True):
    """A reference action that the domain refuses: the task's fault, and nobody's in the trial."""

    index: int
    """In the order of the reference."""
    action: Action
    reply: str

    def __str__(self) -> str:
        return f"the domain refuses reference action {self.index + 1}, {self.action.name}: {cut(self.reply)}"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial is held against."""

    world: LiveWorld
    refused: tuple[Refused, ...] = ()
    replies: tuple[Reply, ...] = ()
    """What each reference action came to, in order."""

    @classmethod
    def of(cls, task: Task, domain: LiveDomain, seed: int) -> Wanted:
        """Do the reference actions of a task, the user's own ones too, in a new world.

        Raises:
            DataFault: the initial state does not fit the domain. DomainFault: the domain's code failed.
        """
        world = domain.world(seed, task.initial_state)
        actions = task.criteria.actions
        replies = tuple(world.reply(action.call(), requestor=action.requestor) for action in actions)
        refused = (
            Refused(index, action, reply.message.content)
            for index, (action, reply) in enumerate(zip(actions, replies, strict=True))
            if reply.message.error
        )
        return cls(world=world, refused=tuple(refused), replies=replies)

    def differences(self, world: LiveWorld) -> tuple[Difference, ...]:
        """How another world differs from the one wanted, on the way from this one to that; empty where it does not.

        In worlds of tau2 the order of lists means nothing: its tools keep lists as they were given, so that passengers
        named in another order would be another booking.
        """
        if world.digest() == self.world.digest():
            return ()
        if isinstance(world, Tau2World) and isinstance(self.world, Tau2World) and _alike(self.world.state, world.state):
            return ()
        return self.world.diff(world)


def told(found: Sequence[Difference]) -> str:
    """Differences from the world wanted, in one line; empty where there is none."""
    if not found:
        return ""
    more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"wanted -> found: {'; '.join(cut(str(one)) for one in found[:_MOST])}{more}"


def mismatches(found: Sequence[Difference]) -> tuple[Mismatch, ...]:
    """Differences from the world wanted as a reward keeps them: the first ones, long values shortened."""
    return tuple(
        Mismatch(
            record=f"{one.table}[{one.key}]" if one.table else one.key,
            field=one.path,
            wanted=None if one.kind == "added" else cut(jsonio.dumps(one.before), _LONGEST_VALUE),
            found=None if one.kind == "removed" else cut(jsonio.dumps(one.after), _LONGEST_VALUE),
        )
        for one in found[:_MOST_KEPT]
    )


def cut(text: str, length: int = _MOST_SHOWN) -> str:
    """A text in one line that is not too long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else f"{flat[:length].rstrip()}..."


def _alike(one: State, other: State) -> bool:
    """Whether two states are equal but for the order of lists."""
    ours, theirs = one.contents(), other.contents()
    empty: dict[str, Any] = {}
    return all(
        _unordered(old.get(key)) == _unordered(new.get(key))
        for name in {*ours, *theirs}
        for old, new in ((ours.get(name, empty), theirs.get(name, empty)),)
        for key in {*old, *new}
        if old.get(key) is not new.get(key)
    )


def _unordered(value: Any) -> str:
    return jsonio.canonical(_sorted(thaw(value)))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return sorted(map(_sorted, value), key=jsonio.canonical)
    return value
