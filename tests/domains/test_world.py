"""Worlds over tables: what a call does, whose fault a failure is, and that no world sees another."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from boatdomain import Booking, Desk, call, database, domain
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.data import Category, Cause, Failure, ToolCall, ToolMessage
from turngap.domains.api import Domain, Done, Record, State, Table, assertion, check, generic, read, write
from turngap.domains.live import LiveWorld
from turngap.engines.capture import capture
from turngap.errors import DataFault, DomainFault, HarnessFault, UsageError


def _desk(*tools: Any, **changed: Any) -> Domain:
    """The desk with other tools."""
    return domain(tools=list(tools), rules=(), user_tools=(), **changed)


# --- results -------------------------------------------------------------------------------------------------------


def test_a_write_reaches_its_world_only() -> None:
    """The result, the digest and the diff tell of a write; a world made before and one made after know nothing."""
    boats = domain()
    before, world = boats.world(), boats.world()
    result = world.call(call("move_booking", booking_id="BK-1042", date="2031-06-01", seats=2))
    assert json.loads(result.content) == {
        "date": "2031-06-01",
        "seats": 2,
        "deposit": 30,
        "contact": {"name": "Ines", "postcode": "02134"},
        "tags": ["dog", "late", "pier 4"],
        "notes": ["window seat"],
    }
    assert (result.name, result.error) == ("move_booking", False)
    told = ['bookings[BK-1042].date: "2031-05-02" -> "2031-06-01"', "tally.moves.all: 0 -> 1"]
    assert list(map(str, before.diff(world))) == list(map(str, world.changes())) == told
    assert world.digest() != before.digest() == boats.world().digest()
    assert before.changes() == ()


def test_bad_calls_are_results_with_a_category() -> None:
    """ING-01: what is wrong with a call, the agent reads; the world is as it was."""
    world = domain().world()
    cases = {
        Category.WRONG_TOOL: (call("sell"), "unknown tool 'sell'; known: get_booking, list_tags, move_booking"),
        Category.WRONG_ARGUMENTS: (call("pay", booking_id="BK-7"), "missing required argument 'amount'"),
        Category.MALFORMED_CALL: (
            ToolCall(name="pay", arguments=None, raw="{", error="Expecting property name at column 2"),
            "Expecting property name at column 2",
        ),
    }
    for category, (bad, problem) in cases.items():
        reply = world.reply(bad)
        assert (reply.message.error, reply.category) == (True, category)
        assert json.loads(reply.message.content)["error"].startswith(problem)
        assert reply.detail.startswith(problem)
    assert world.changes() == ()


def test_a_refusal_of_the_domain_changes_nothing() -> None:
    """What a tool wrote before it said no is gone; the call itself was in order."""
    world = domain().world()
    reply = world.reply(call("move_booking", booking_id="BK-7", date="2031-06-01"))
    assert reply.message == ToolMessage(
        name="move_booking", content='{"error":"a past booking cannot be moved"}', error=True
    )
    assert reply.category is None
    assert world.changes() == ()


def test_the_user_s_tools_are_the_user_s() -> None:
    """Each side has its own tools."""
    world = domain().world()
    assert world.call(call("look_at_ticket"), requestor="user").content == "2 bookings"
    assert world.call(call("look_at_ticket")).error
    assert world.call(call("cancel", booking_id="BK-7"), requestor="user").error


def test_results_are_text_or_stable_json() -> None:
    """Text stays as it is; all else is JSON: sets and keys sorted, fields in their order, decimals as numbers."""

    class Pair(Record):
        b: int
        a: Decimal

    values: dict[str, Any] = {
        "text": '{"a": 1}',
        "surrogate": "\ud83d",
        "none": None,
        "set": {"c", "a", "b"},
        "dict": {"b": 1, "a": [True, 1.5]},
        "record": Pair(b=1, a=Decimal("1.50")),
        "null inside": {"a": None},
    }

    @read
    def show(desk: Desk, what: str) -> Any:
        """Show."""
        return values[what]

    world = _desk(show).world()
    shown = {what: world.call(call("show", what=what)).content for what in values}
    assert shown == {
        "text": '{"a": 1}',
        "surrogate": "\ufffd",
        "none": "null",
        "set": '["a","b","c"]',
        "dict": '{"a":[true,1.5],"b":1}',
        "record": '{"b":1,"a":1.50}',
        "null inside": '{"a":null}',
    }


# --- faults of the domain ------------------------------------------------------------------------------------------


class _Ring:
    """A value that contains itself."""


def _endless() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {"a": _Ring()},
        float("nan"),
        [{"a": float("inf")}],
        {1j},
        Decimal("NaN"),
        ["x\ud83d"],
        _endless(),
    ],
)
def test_a_result_that_is_no_json_is_the_domain_s_fault(value: Any) -> None:
    """The tool, its line and the remedy are named, and the world stays usable."""

    @write
    def show(desk: Desk) -> Any:
        """Show."""
        desk.today = "never"
        return value

    world = _desk(show).world()
    with pytest.raises(
        DomainFault, match=r"tool show \(test_world.py:\d+\) returned what has no JSON form .*; return text"
    ):
        world.call(call("show"))
    assert world.changes() == ()


def test_a_crash_is_the_domain_s_fault() -> None:
    """Every error but `ToolError` names the tool, the line in its file and the error, and undoes the call."""

    @write
    def crash(desk: Desk, how: str) -> str:
        """Crash."""
        desk.today = "never"
        if how == "exit":
            sys.exit(3)
        if how == "deep":
            return crash(desk, how)
        return {}[how]

    world = _desk(crash).world()
    line = crash.function.__code__.co_firstlineno
    for how, problem in {
        "key": rf"tool crash failed at test_world.py:{line + 8}: KeyError: 'key'",
        "exit": rf"tool crash failed at test_world.py:{line + 5}: SystemExit: 3",
        "deep": r"tool crash failed at test_world.py:\d+: RecursionError: maximum recursion",
    }.items():
        with pytest.raises(DomainFault, match=problem):
            world.call(call("crash", how=how))
    assert world.changes() == ()


def test_a_crash_in_a_library_names_the_tool_s_line() -> None:
    """The line is the one in the author's file, not where the library gave up."""

    @read
    def parse(desk: Desk) -> Any:
        """Parse."""
        return json.loads("{")

    line = parse.function.__code__.co_firstlineno + 3
    with pytest.raises(DomainFault, match=f"tool parse failed at test_world.py:{line}: JSONDecodeError"):
        _desk(parse).world().call(call("parse"))


def test_an_unserialisable_state_is_the_domain_s_fault() -> None:
    """A tool that puts into the state what cannot be stored is named, with table, record and field."""

    @write
    def spoil(desk: Desk) -> str:
        """Spoil."""
        desk.papers.change("P-1", stamp=object())
        return "done"

    @write
    def retype(desk: Desk) -> str:
        """Change a type."""
        desk.bookings.change("BK-7", seats="three")
        return "done"

    world = _desk(spoil, retype).world()
    with pytest.raises(
        DomainFault, match=r"spoil failed at test_world.py:\d+: StateError: papers\['P-1'\].stamp: builtins.obj"
    ):
        world.call(call("spoil"))
    with pytest.raises(
        DomainFault, match=r"retype failed .*: StateError: bookings\['BK-7'\].seats: Expected `int`, got `str`"
    ):
        world.call(call("retype"))


def test_only_write_tools_write() -> None:
    """A read or generic tool that writes is a fault; so is whoever writes to a world from outside."""

    @read
    def peek(desk: Desk) -> str:
        """Peek."""
        desk.bookings.remove("BK-7")
        return "?"

    @generic
    def nose(desk: Desk) -> str:
        """Nose about."""
        desk.today = "never"
        return "?"

    world = _desk(peek, nose).world()
    with pytest.raises(DomainFault, match=r"bookings\['BK-7'\] cannot be written: peek is a read tool"):
        world.call(call("peek"))
    with pytest.raises(DomainFault, match="today cannot be written: nose is a generic tool"):
        world.call(call("nose"))
    with pytest.raises(Exception, match="cannot be written: only tools write to a world"):
        world.state.bookings.remove("BK-7")


async def test_a_late_write_reaches_no_world() -> None:
    """ENV-05: code that goes on after its call is over can write nowhere."""
    left: list[Any] = []

    @write
    async def leave(desk: Desk) -> str:
        """Leave something running."""

        async def later() -> None:
            await asyncio.sleep(0)
            desk.today = "never"

        left.append(asyncio.create_task(later()))
        return "gone"

    world = _desk(leave).world()
    await world.reply_soon(call("leave"))
    with pytest.raises(Exception, match="today cannot be written: the call of leave is over"):
        await left[0]
    assert world.changes() == ()


# --- time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [write, generic])
@pytest.mark.parametrize("soon", [True, False])
async def test_a_write_is_never_made_twice(kind: Any, soon: bool) -> None:
    """ENV-05: a tool that commits and then answers late is called once; the trial is errored, the unknown outcome named."""
    charged: list[str] = []

    @kind
    async def charge_deposit(desk: Desk, booking_id: str) -> str:
        """Charge a deposit somewhere else."""
        charged.append(booking_id)
        await asyncio.sleep(0.4)
        return "charged"

    world = _desk(charge_deposit, time_limit=0.05).world()

    async def trial() -> Any:
        booked = call("charge_deposit", booking_id="BK-7")
        return await world.reply_soon(booked) if soon else world.reply(booked)

    failure = await capture(trial())
    text = "tool charge_deposit took longer than 0.05 s: whether what it does was done is unknown"
    assert failure == Failure(cause=Cause.DOMAIN, reason=text, kind="unknown_outcome")
    assert await capture(trial()) == failure
    assert charged == ["BK-7"]
    with pytest.raises(DomainFault, match="is unknown"):
        world.fork().call(call("charge_deposit", booking_id="BK-7"))


async def test_a_slow_read_is_made_once_more() -> None:
    """ENV-05: a read that ran out of time is repeated once; then it is the domain's fault, and the world lives on."""
    waits = iter([0.4, 0.0, 0.4, 0.4, 0.0])
    began: list[float] = []

    @read
    async def look(desk: Desk) -> str:
        """Look."""
        began.append(next(waits))
        await asyncio.sleep(began[-1])
        return "seen"

    world = _desk(look, time_limit=0.05).world()
    assert (await world.reply_soon(call("look"))).message.content == "seen"
    assert began == [0.4, 0.0]
    with pytest.raises(DomainFault, match=r"tool look took longer than 0\.05 s, 2 times") as caught:
        await world.reply_soon(call("look"))
    assert caught.value.kind == "time_limit"
    assert (await world.reply_soon(call("look"))).message.content == "seen"


@pytest.mark.parametrize("hang", [lambda: time.sleep(60), lambda: [None for _ in iter(int, 1)]])
def test_a_tool_that_hangs_is_ended(hang: Callable[[], Any]) -> None:
    """A sleep and an endless loop end at the limit: the trial is errored, the next world works."""

    @write
    def stall(desk: Desk) -> str:
        """Stall."""
        hang()
        return "?"

    @read
    def ask(desk: Desk) -> str:
        """Ask."""
        return "yes"

    boats = _desk(stall, ask, time_limit=0.1)
    with pytest.raises(
        DomainFault, match=r"tool stall took longer than 0\.1 s: whether what it does was done is unknown"
    ):
        boats.world().call(call("stall"))
    assert boats.world().call(call("ask")).content == "yes"


async def test_other_trials_go_on_while_a_tool_waits() -> None:
    """Twenty trials whose tools wait a tenth of a second each take little longer than one."""

    @write
    async def wait(desk: Desk) -> str:
        """Wait."""
        await asyncio.sleep(0.1)
        return "done"

    boats = _desk(wait)
    started = time.monotonic()
    await asyncio.gather(*(boats.world().reply_soon(call("wait")) for _ in range(20)))
    assert time.monotonic() - started < 1.0


async def test_two_calls_at_once_in_one_world_are_refused() -> None:
    """One trial calls one tool at a time; otherwise a write would be lost without a word."""
    world = domain().world()
    calls = [call("set_contact", booking_id="BK-7", contact={"name": str(number)}) for number in range(2)]
    done = await asyncio.gather(*map(world.reply_soon, calls), return_exceptions=True)
    assert [type(one) for one in done].count(HarnessFault) == 1


# --- worlds apart --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [8, 1])
async def test_concurrent_trials_read_back_their_own(concurrency: int) -> None:
    """ENV-01: each of 8 trials sets a contact, waits and reads it back: always its own, at any concurrency."""
    boats = domain()
    gate = asyncio.Semaphore(concurrency)

    async def trial(number: int) -> tuple[str, str, str]:
        async with gate:
            world = boats.world(seed=number)
            noted = await world.reply_soon(
                call("set_contact", booking_id="BK-1042", contact={"name": f"trial {number}"})
            )
            await asyncio.sleep(0.002)
            found = await world.reply_soon(call("get_booking", booking_id="BK-1042"))
            return noted.message.content, json.loads(found.message.content)["contact"]["name"], world.digest()

    done = await asyncio.gather(*map(trial, range(8)))
    for number, (noted, found, digest) in enumerate(done):
        alone = domain().world()
        alone.call(call("set_contact", booking_id="BK-1042", contact={"name": f"trial {number}"}))
        assert (noted, found, digest) == (f"trial {number}", f"trial {number}", alone.digest())


_BOOKINGS = st.sampled_from(["BK-1042", "BK-7", "BK-0"])
_CALLS = st.one_of(
    st.builds(call, st.just("move_booking"), booking_id=_BOOKINGS, date=st.sampled_from(["2031-06-01", "2031-06-02"])),
    st.builds(call, st.just("pay"), booking_id=_BOOKINGS, amount=st.sampled_from([1, 0.1, 0.2])),
    st.builds(call, st.just("cancel"), booking_id=_BOOKINGS),
    st.builds(
        call,
        st.just("set_contact"),
        booking_id=_BOOKINGS,
        contact=st.fixed_dictionaries({"name": st.sampled_from("ab")}),
    ),
    st.builds(call, st.just("get_booking"), booking_id=_BOOKINGS),
    st.builds(call, st.just("pay"), booking_id=st.integers()),
)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.lists(_CALLS, max_size=3), min_size=64, max_size=64))
async def test_sixty_four_worlds_never_see_each_other(scripts: list[list[ToolCall]]) -> None:
    """ENV-01: 64 interleaved trials end with the results, digest and changes that each has when it runs alone."""
    boats = domain()

    async def trial(script: list[ToolCall]) -> tuple[Any, ...]:
        world = boats.world()
        results = []
        for one in script:
            results.append((await world.reply_soon(one)).message)
            await asyncio.sleep(0)
        return results, world.digest(), world.changes()

    together = await asyncio.gather(*map(trial, scripts))
    for script, seen in zip(scripts, together, strict=True):
        alone = domain().world()
        assert seen == ([alone.call(one) for one in script], alone.digest(), alone.changes())
    assert boats.world().changes() == ()


def _reachable(value: Any, found: dict[int, Any]) -> None:
    """Collect a value and everything that can be got at from it without private names."""
    if isinstance(value, (str, int, float, Decimal, type(None))) or id(value) in found:
        return
    found[id(value)] = value
    inner: list[Any] = []
    if isinstance(value, msgspec.Struct):
        inner = [getattr(value, name) for name in value.__struct_fields__]
    elif isinstance(value, State):
        inner = [*value.contents().values(), *(getattr(value, name) for name in value.layout().fields), value.pristine]
        inner.append(value.contents())
    elif hasattr(value, "items"):
        inner = [one for pair in value.items() for one in pair]
    elif hasattr(value, "tables"):
        inner = [value.tables, *(rows.records for rows in value.tables.values())]
    elif hasattr(value, "__iter__"):
        inner = list(value)
    for one in inner:
        _reachable(one, found)


_CHANGES: dict[str, tuple[Any, ...]] = {
    "__setitem__": ("BK-7", {"date": "never"}),
    "__delitem__": ("BK-7",),
    "update": ({"BK-7": 1},),
    "clear": (),
    "pop": (),
    "popitem": (),
    "setdefault": ("new", 1),
    "append": (1,),
    "extend": ([1],),
    "insert": (0, 1),
    "remove": ("BK-7",),
    "sort": (),
    "reverse": (),
    "add": (1,),
    "discard": ("dog",),
    "put": ("BK-7", {"date": "never"}),
    "change": ("BK-7",),
    "merge": ({"bookings": {"BK-7": None}},),
}


def test_no_object_of_a_world_leads_to_the_next_one() -> None:
    """ENV-01: whatever is tried on every object of a fresh world, the next world is as if nothing had been."""
    boats = domain()
    clean = boats.world().digest()
    found: dict[int, Any] = {}
    _reachable(boats.world().state, found)
    assert len(found) > 15
    refused = 0
    for value in found.values():
        for name, arguments in _CHANGES.items():
            if hasattr(value, name):
                refused += _tried(lambda value=value, name=name, arguments=arguments: getattr(value, name)(*arguments))
        fields = value.layout().fields if isinstance(value, State) else getattr(value, "__struct_fields__", ())
        for name in fields:
            refused += _tried(lambda value=value, name=name: setattr(value, name, "never"))
    assert refused > 80
    fresh = boats.world()
    assert fresh.changes() == ()
    assert fresh.digest() == clean == domain().world().digest()
    assert fresh.state == Desk.of(database())


def _tried(change: Callable[[], Any]) -> bool:
    try:
        change()
    except Exception:
        return True
    return False


def test_a_tool_may_do_what_it_likes_with_its_arguments() -> None:
    """ENV-01: a tool that changes what it was given changes no call, which the task's reference may hold for all trials."""

    @write
    def spoil(desk: Desk, plan: dict[str, Any], steps: list[Any]) -> str:
        """Spoil the arguments."""
        plan["days"].clear()
        steps[0]["done"] = True
        return "spoilt"

    made = call("spoil", plan={"days": [1, 2]}, steps=[{}])
    assert _desk(spoil).world().call(made).content == "spoilt"
    assert made == call("spoil", plan={"days": [1, 2]}, steps=[{}])


def test_what_a_tool_is_given_cannot_leave_its_call() -> None:
    """ENV-01: a tool that changes what it read, or keeps it and changes it later, reaches nobody."""
    kept: list[Any] = []

    @write
    def keep(desk: Desk) -> str:
        """Keep what was read."""
        kept.extend([desk, desk.papers["P-1"], desk.bookings["BK-1042"].notes])
        return "kept"

    boats = _desk(keep)
    world = boats.world()
    world.call(call("keep"))
    desk, paper, notes = kept
    for change in (lambda: desk.bookings.remove("BK-7"), paper.clear, lambda: notes.append("x")):
        with pytest.raises(Exception, match="cannot be"):
            change()
    assert world.changes() == ()


# --- forks, snapshots, seeds ---------------------------------------------------------------------------------------


def test_snapshots_are_gone_back_to() -> None:
    """`restore` brings the content of the snapshot, also into another world of the domain, and does so again."""
    boats = domain()
    world = boats.world()
    world.call(call("pay", booking_id="BK-7", amount=5))
    note, digest = world.snapshot(), world.digest()
    for _ in range(2):
        world.call(call("cancel", booking_id="BK-7"))
        assert world.digest() != digest
        world.restore(note)
        assert world.digest() == digest
    other = boats.world()
    other.restore(note)
    assert other.diff(world) == ()


def test_forks_go_their_own_ways() -> None:
    """A fork has the content and the beginning of its world; after that neither sees the other."""
    world = domain().world()
    world.call(call("pay", booking_id="BK-7", amount=5))
    twin = world.fork()
    twin.call(call("cancel", booking_id="BK-7"))
    world.call(call("pay", booking_id="BK-7", amount=1))
    assert [str(one) for one in world.changes()] == ["bookings[BK-7].deposit: 0 -> 6"]
    assert [one.kind for one in twin.changes()] == ["removed"]


def test_the_seed_is_the_tool_s_to_use() -> None:
    """Worlds with one seed do the same, worlds with others need not; a fork keeps the seed."""

    @write
    def draw(desk: Desk) -> int:
        """Draw a number."""
        return random.Random(f"{desk.seed}").randrange(10**9)

    boats = _desk(draw)
    drawn = {seed: boats.world(seed).call(call("draw")).content for seed in range(3)}
    assert len(set(drawn.values())) == 3
    assert boats.world(1).fork().call(call("draw")).content == drawn[1]
    assert boats.world(1).digest() == boats.world(2).digest()


def test_worlds_of_other_kinds_are_not_compared() -> None:
    """A diff with a world of another implementation is refused in words."""

    class Other(LiveWorld):
        """A world without content."""

        reply = digest = diff = changes = content = fork = snapshot = restore = None  # type: ignore[assignment]

    with pytest.raises(UsageError, match="cannot be compared"):
        domain().world().diff(Other())


def test_the_content_of_a_world_is_a_copy_in_json_values() -> None:
    """All tables and fields as they are now: sets in order, amounts as numbers, and nothing that reaches the world."""
    world = domain().world()
    world.call(call("pay", booking_id="BK-7", amount=12.5))
    content = world.content()
    assert content["bookings"]["BK-7"]["deposit"] == 12.5
    assert content["bookings"]["BK-1042"]["tags"] == ["dog", "late", "pier 4"]
    assert content["papers"] == database()["papers"]
    assert content[""]["today"] == "2031-05-01"
    content["bookings"]["BK-7"]["notes"].append("scribbled")
    del content["papers"]
    assert world.content()["bookings"]["BK-7"]["notes"] == []
    assert world.content()["papers"] == database()["papers"]


# --- the rest of a domain ------------------------------------------------------------------------------------------


def test_checks_tell_what_the_policy_forbids() -> None:
    """A check names the rule that a call would break now, and stops nothing."""
    world = domain().world()
    assert world.breaches(call("cancel", booking_id="BK-7")) == ("past bookings stay as they are",)
    assert world.breaches(call("cancel", booking_id="BK-1042")) == ()
    assert world.call(call("cancel", booking_id="BK-7")).content == "cancelled"


def test_a_check_may_look_back() -> None:
    """One with a third parameter sees the calls before with their results, and is asked only where they are known."""

    @check
    def looked_up_first(desk: Desk, call: ToolCall, before: Sequence[Done]) -> str | None:
        """A booking is looked up before it is moved."""
        seen = [one.result.content for one in before if one.call.name == "get_booking" and not one.result.error]
        return None if call.name != "move_booking" or seen else "look a booking up before you change it"

    world = domain(rules=[looked_up_first]).world()
    move, look = (
        call("move_booking", booking_id="BK-1042", date="2031-05-03"),
        call("get_booking", booking_id="BK-1042"),
    )
    assert world.breaches(move) == ()
    assert world.breaches(move, []) == ("look a booking up before you change it",)
    assert world.breaches(move, [Done(call=look, result=world.call(look))]) == ()


def test_assertions_look_at_a_world() -> None:
    """A task can ask what holds; wrong names, wrong arguments and crashes are told apart."""
    boats = domain()
    world = boats.world()
    assert boats.holds(world, "is_on", {"booking_id": "BK-7", "date": "2031-04-01"})
    assert not boats.holds(world, "is_on", {"booking_id": "BK-7", "date": "2031-04-02"})
    with pytest.raises(DataFault, match="domain 'boats' has no assertion 'is_off'; known: is_on"):
        boats.holds(world, "is_off", {})
    with pytest.raises(DataFault, match="assertion is_on: missing required arguments 'booking_id', 'date'"):
        boats.holds(world, "is_on", {})
    with pytest.raises(DomainFault, match=r"assertion is_on failed at boatdomain.py:\d+: KeyError: 'BK-0'"):
        boats.holds(world, "is_on", {"booking_id": "BK-0", "date": ""})


class Shop(State):
    """A state whose table hides a method."""

    fork: Table[Booking]


def test_rules_that_fail_are_the_domain_s_fault() -> None:
    """A check or an assertion that crashes, hangs or answers something else is named."""

    @check
    def asks(desk: Desk, call: ToolCall) -> Any:
        """Answer what is asked for, or crash."""
        return {"true": False}[call.name]

    @check
    def hangs(desk: Desk, call: ToolCall) -> str | None:
        """Hang."""
        time.sleep(60)
        return None

    @assertion
    def stalls(desk: Desk) -> bool:
        """Hang."""
        time.sleep(60)
        return True

    for rule, name, problem in (
        (asks, "other", r"check asks failed at test_world.py:\d+: KeyError: 'other'"),
        (asks, "true", "check asks returned False; it should return the broken rule, or None"),
        (hangs, "any", "check hangs took longer than 0.1 s"),
    ):
        with pytest.raises(DomainFault, match=problem):
            domain(rules=[rule], time_limit=0.1).world().breaches(call(name))
    boats = domain(rules=[stalls], time_limit=0.1)
    with pytest.raises(DomainFault, match=r"assertion stalls took longer than 0\.1 s"):
        boats.holds(boats.world(), "stalls", {})


def test_rules_are_ordinary_functions() -> None:
    """An async rule, a rule without a state, and something that is no function are refused when they are defined."""

    async def late(desk: Desk) -> bool:
        """Answer late."""
        return True

    def blind() -> bool:
        """See nothing."""
        return True

    for decorate, function, problem in (
        (assertion, late, "late: only tools may be async"),
        (check, late, "late: only tools may be async"),
        (assertion, blind, "blind: an assertion needs the state as its first parameter"),
        (read, Desk, "Desk'> is no function"),
        (check, 5, "5 is no function"),
    ):
        with pytest.raises(UsageError, match=problem):
            decorate(function)


def test_a_domain_that_contradicts_itself_is_refused() -> None:
    """Names that stand twice, tools for another state, and states that make no sense are found at once."""

    @read
    def stray(shop: Shop) -> str:
        """Look at a shop."""
        return ""

    twice = domain().tools[0]
    with pytest.raises(UsageError, match="domain 'boats': 'get_booking' is defined twice"):
        domain(tools=[twice, twice])
    with pytest.raises(UsageError, match="domain 'boats': stray asks for Shop, not Desk"):
        domain(tools=[stray])
    with pytest.raises(UsageError, match="domain 'boats': database should be decorated with @read, @write or @generic"):
        domain(tools=[database])
    with pytest.raises(UsageError, match="domain 'boats': database should be decorated with @check or @assertion"):
        domain(rules=[database])
    with pytest.raises(UsageError, match="domain 'boats': the time limit should be above 0 s, not 0"):
        domain(time_limit=0)
    with pytest.raises(UsageError, match=r"domain 'boats': Shop.fork: states have something of this name already"):
        domain(state=Shop, tools=[], user_tools=[], rules=[])


def test_a_database_comes_from_data_a_file_or_a_function(tmp_path: Path) -> None:
    """All three give the same worlds, and each is read once."""
    file = tmp_path / "boats.json"
    file.write_text(json.dumps(database()), encoding="utf-8")
    made: list[int] = []

    def make() -> dict[str, Any]:
        made.append(1)
        return database()

    digests = set()
    for source in (database(), file, make):
        boats = domain(database=source)
        digests |= {boats.world().digest(), boats.world().digest(), boats.identity()["database"]}
    assert (len(digests), made) == (1, [1])


def test_a_database_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing or broken file is the person's to fix, data that does not fit the domain's, each in one line."""
    broken = tmp_path / "broken.json"
    broken.write_text('{"bookings": {"B": }}', encoding="utf-8")

    def fail() -> dict[str, Any]:
        raise ZeroDivisionError("no boats")

    for source, problem in (
        (tmp_path / "none.json", "none.json: .*No such file"),
        (broken, "broken.json: Expecting value at column 20"),
        (
            {"bookings": {"B": {}}},
            r"the database of domain boats: bookings\['B'\]: Object missing required field `date`",
        ),
        (fail, r"the database of domain boats failed at test_world.py:\d+: ZeroDivisionError: no boats"),
    ):
        with pytest.raises(Exception, match=problem) as caught:
            domain(database=source).world()
        assert "\n" not in str(caught.value)


def test_the_identity_moves_with_everything_that_matters() -> None:
    """Another policy, tool or record gives another identity; the same domain made again gives the same."""
    identities = [
        domain().identity(),
        domain(policy="Be quick.").identity(),
        domain(tools=domain().tools[:-1]).identity(),
        domain(database={}).identity(),
    ]
    assert domain().identity() == identities[0]
    assert len({json.dumps(one) for one in identities}) == 4


def test_a_thousand_worlds_cost_little() -> None:
    """Worlds share the database: a thousand that wrote differ from it by one record each, and from one another."""
    boats = domain()
    worlds = [boats.world() for _ in range(1000)]
    for number, world in enumerate(worlds):
        world.call(call("pay", booking_id="BK-7", amount=number + 1))
    assert len({world.digest() for world in worlds}) == 1000
    assert all(len(list(world.state.bookings.touched())) == 1 for world in worlds)
    assert all(world.state.pristine is worlds[0].state.pristine for world in worlds)


_TRIAL = """
import asyncio, json
from boatdomain import call, domain
from turngap.data import ToolCall

async def main():
    boats = domain()
    world = boats.world()
    calls = [
        call("list_tags"),
        call("get_booking", booking_id="BK-1042"),
        call("sell", boat=1),
        call("move_booking", x=1, y=2, z=3),
        call("set_contact", booking_id="BK-7", contact={"name": "Olu", "zip": "1", "age": 2}),
        call("set_contact", booking_id="BK-7", contact={"name": "Olu"}),
        call("pay", booking_id="BK-7", amount=0.1),
    ]
    for one in calls:
        print((await world.reply_soon(one)).message)
    print(world.digest(), [str(one) for one in world.changes()])
    print([tool.spec for tool in boats.tools], boats.identity())

asyncio.run(main())
"""


def test_the_hash_seed_reaches_nothing() -> None:
    """ENV-04: results, error texts, specs, digest and changes are the same bytes under any PYTHONHASHSEED."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", _TRIAL],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "2")
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    assert b"dog" in outputs[0]
