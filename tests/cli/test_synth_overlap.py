"""What `turngap synth overlap` holds against each other: words, and the values that stand for people and things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from turngap.cli.main import execute
from turngap.cli.synth_overlap import text, values
from turngap.data.task import Action, Change, Criteria, Fact, Instructions, Intent, Task
from turngap.formats import tasks as task_files


def task(name: str, reason: str, *facts: Fact, known: str = "", unknown: str = "", **arguments: Any) -> Task:
    """A task whose reference is one call."""
    return Task(
        id=name,
        instructions=Instructions(reason=reason, known=known, unknown=unknown),
        criteria=Criteria(actions=(Action(name="move", arguments=arguments),)),
        intent=Intent(opening=reason, facts=facts),
    )


def overlap(folder: Path, learnt: list[Task], tested: list[Task]) -> int:
    """The exit code of the command."""
    for name, made in (("learnt", learnt), ("tested", tested)):
        task_files.write(folder / f"{name}.json", made)
    return execute(["synth", "overlap", str(folder / "learnt.json"), str(folder / "tested.json")])


def test_short_ids_are_seen(tmp_path: Path, capsys: Any) -> None:
    """SYN-02: the same booking BK-1 and the same room 102 in two tasks in other words; another booking shares nothing."""
    learnt = task("a", "Please move my booking.", booking_id="BK-1", room="102", date="2031-05-02")
    tested = task("b", "Cancel the stay of Monday.", Fact(slot="room", value="102"), booking="BK-1")
    assert overlap(tmp_path, [learnt], [tested]) == 1
    assert "2 ids and addresses stand on both sides: 102, bk-1" in capsys.readouterr().out
    other = task("b", "Cancel the stay of Monday.", booking_id="BK-2", room="103", date="2031-05-02")
    assert overlap(tmp_path, [learnt], [other]) == 0


def test_values_are_ids_and_addresses_and_nothing_else() -> None:
    """Counts, dates, postal codes, reasons and yes are what many tasks have; values of changes and of lists count."""
    made = task(
        "a",
        "Change it.",
        Fact(slot="zip", value="80279"),
        Fact(slot="reason", value="no longer needed"),
        known="Your e-mail address is mia.lee@example.com.",
        seats=102,
        date="2031-05-02",
        insured=True,
        flights=[{"flight_number": "X9", "day": "2031-05-03"}],
        order_id=17,
    )
    turn = Change(says="No, the other one.", facts=(Fact(slot="item_ids", value=["7", "8"]),))
    made = Task(
        id="a", instructions=made.instructions, criteria=made.criteria, intent=Intent(opening="", changes=(turn,))
    )
    assert values(made) == {"mia.lee@example.com", "x9", "17", "7", "8"}


def test_what_everybody_knows_and_does_not_know_is_no_copy(tmp_path: Path) -> None:
    """SYN-02: two tasks that say in the same sentences what the user cannot recall, and are about other things."""
    unknown = "You cannot recall the zip code of your account. You cannot recall the user id of your account, sadly."
    first = task("a", "You want to move a booking.", unknown=unknown, booking_id="BK-1")
    second = task("b", "You would like your deposit back.", unknown=unknown, booking_id="BK-2")
    assert "recall" not in text(first)
    assert overlap(tmp_path, [first], [second]) == 0
