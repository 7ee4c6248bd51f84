"""Looking things up in the course of an exploration: on trial first, as steps once something came of it.

An explorer that searches for something that can be done looks at more than it needs. What it looks at on trial becomes
part of the exploration only when it is kept; otherwise it is forgotten, as if it had never been seen. Looking changes
nothing, so that what was seen in one state of the world is never asked for twice.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from turngap import jsonio
from turngap.data import ToolCall
from turngap.domains.live import Done, Kind, LiveWorld
from turngap.synth.explore import done, perform
from turngap.synth.knowhow import Outline
from turngap.synth.known import Known
from turngap.synth.memory import CUSTOMER, Memory, Page
from turngap.synth.naming import key_name
from turngap.synth.offer import parsed
from turngap.synth.plan import Customer, Step

_MOST_PAGES = 20_000


class Sight:
    """The result of one look."""

    __slots__ = ("call", "number", "page", "refused", "value")

    def __init__(self, call: ToolCall, number: int, value: Any, page: Page | None) -> None:
        self.call = call
        self.number = number
        """Under which the memory knows what it holds."""
        self.value = value
        """The result as JSON values."""
        self.page = page
        self.refused = page is None

    def shows(self, value: Any) -> bool:
        """Whether a text stands in the result."""
        return self.page is not None and value in self.page.texts


class Library:
    """Pages of results that were read before, in whichever exploration: the same text is read once."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        """Begin with none; `keys` as for `Page`."""
        self._keys = keys
        self._pages: OrderedDict[tuple[str, str], tuple[Any, Page]] = OrderedDict()

    def page(self, value: Any, name: str = "") -> Page:
        """The page of a record that no call gave."""
        return Page(value, self._keys, name)

    def read(self, key: str, text: str, asked: Mapping[str, Any]) -> tuple[Any, Page]:
        """A result as JSON values, and its page.

        Args:
            key: of the call.
            text: what it led to.
            asked: its arguments.
        """
        found = self._pages.get((key, text))
        if found is None:
            value = parsed(text)
            found = self._pages[key, text] = (value, Page(value, self._keys, asked=asked))
            if len(self._pages) > _MOST_PAGES:
                self._pages.popitem(last=False)
        return found


class Looking:
    """All that was looked at, and the steps so far."""

    def __init__(self, world: LiveWorld, memory: Memory, library: Library) -> None:
        self.steps: list[Step] = []
        self.memory = memory
        self.calling = ""
        """The tool that was called last."""
        self._world = world
        self._library = library
        self._done: list[Done] = []
        self._digests: dict[bool, str] = {}
        self._fresh = world.fork()
        self._seen: dict[str, Sight] = {}
        self._sights: list[Sight] = []
        self._at: dict[int, int] = {}
        self._trial: list[Sight] = []
        self._mark = memory.mark()

    def remember(self, customer: Customer) -> None:
        """Take in what the customer can say from the beginning; before the first look."""
        known, name = Known(customer), key_name(customer.table)
        for value, called in ((customer.record, ""), (customer.key, name), (list(customer.linked), name)):
            page = self._library.page(value, called)
            page.by_name = {
                field: said
                for field, leaves in page.by_name.items()
                if (said := [x for x in leaves if x.value in known])
            }
            self.memory.learn(page, CUSTOMER)
        self._mark = self.memory.mark()

    @property
    def trial(self) -> tuple[Sight, ...]:
        """What was looked at on trial."""
        return tuple(self._trial)

    @property
    def kept(self) -> list[tuple[int, Sight]]:
        """What was looked at in steps, each with the number of its step."""
        return [(self._at[sight.number], sight) for sight in self._sights if sight.number in self._at]

    def now(self, sight: Sight) -> dict[str, Any]:
        """The values that the same look would show now, by where they stand."""
        self.calling = sight.call.name
        message = self._world.call(sight.call)
        page = None if message.error else self._library.page(parsed(message.content))
        return {} if page is None else {leaf.path: leaf.value for leaf in page.leaves}

    def was_seen(self, tool: Outline, arguments: dict[str, Any]) -> bool:
        """Whether this look was made in a step, or in vain."""
        sight = self._seen.get(_key(tool, arguments))
        return sight is not None and (sight.refused or sight.number in self._at)

    def look(self, tool: Outline, arguments: dict[str, Any]) -> Sight:
        """Make a call of a read tool on trial, if it was not made before."""
        key = _key(tool, arguments)
        sight = self._seen.get(key)
        if sight is None:
            call = ToolCall(name=tool.name, arguments=arguments)
            self.calling = tool.name
            message = self._world.call(call)
            value, page = (None, None) if message.error else self._library.read(key, message.content, arguments)
            sight = self._seen[key] = Sight(call, len(self._sights), value, page)
            self._sights.append(sight)
        if sight.page is not None and sight.number not in self._at and sight not in self._trial:
            self._trial.append(sight)
            self.memory.learn(sight.page, sight.number)
        return sight

    def forget(self) -> None:
        """Drop what was looked at on trial."""
        self.memory.forget(self._mark)
        self._trial.clear()

    async def keep(self, *sights: Sight) -> bool:
        """Make sights steps, and forget the others that are on trial; end with False at one that a rule forbids."""
        self.forget()
        for sight in sights:
            if sight.page is None or sight.number in self._at:
                continue
            if (await self.do(sight.call, "read")).breaches:
                self.steps.pop()
                self._done.pop()
                return False
            self._at[sight.number] = len(self.steps) - 1
            self.memory.learn(sight.page, sight.number)
            self._mark = self.memory.mark()
        return True

    async def do(self, call: ToolCall, kind: Kind) -> Step:
        """Make a call that is a step, whatever comes of it."""
        self.calling = call.name
        step = await perform(self._world, call, kind, self._done)
        self.steps.append(step)
        self._done.append(done(step))
        if step.changed:
            # What was seen before stays known, but to look at something else may show it otherwise now.
            self._seen = {key: sight for key, sight in self._seen.items() if sight.number in self._at}
            self._digests.pop(False, None)
        return step

    def probe(self, call: ToolCall, *, before_all: bool = False) -> Step:
        """What a call of a tool that is no read tool would lead to, rules aside; nothing of it remains.

        Args:
            call: which.
            before_all: as if nothing had been changed yet, instead of now.
        """
        world = self._fresh if before_all else self._world
        was = self._digests.get(before_all)
        if was is None:
            was = self._digests[before_all] = world.digest()
        note = world.snapshot()
        self.calling = call.name
        reply = world.reply(call)
        changed = not reply.message.error and world.digest() != was
        world.restore(note)
        # A call that no tool can take is a mistake of the explorer, and no refusal to be told of.
        result = reply.message.content if reply.category is None else ""
        return Step(call=call, result=result, error=reply.message.error, kind="write", changed=changed)

    def breaches(self, call: ToolCall, *, before_all: bool = False) -> tuple[str, ...]:
        """The rules that a call would break; `before_all` as for `probe`."""
        self.calling = call.name
        return (self._fresh if before_all else self._world).breaches(call, self._done)


def _key(tool: Outline, arguments: dict[str, Any]) -> str:
    return f"{tool.name} {jsonio.canonical(arguments)}"
