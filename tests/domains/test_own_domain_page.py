"""docs/your-own-domain.md: what people copy from it works as it stands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from turngap.cli.main import VERBS, load
from turngap.data import ToolCall
from turngap.domains import build
from turngap.domains.api import Domain
from turngap.formats.tasks import read as read_tasks

_PAGE = (Path(__file__).resolve().parents[2] / "docs" / "your-own-domain.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", _PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    """The domain of the page, loaded as a person would."""
    file = tmp_path / "boats.py"
    file.write_text(_block("python"), encoding="utf-8")
    found = build(str(file))
    assert isinstance(found, Domain)
    return found


def test_the_page_is_short() -> None:
    """A domain is built from nothing in under a hundred lines, prose included."""
    assert len(_PAGE.splitlines()) < 100


def test_the_domain_of_the_page_works(domain: Domain) -> None:
    """Its tools look up, write and say no; the check and the assertion tell what they should."""
    world = domain.world()
    move = ToolCall(name="move_booking", arguments={"booking_id": "BK-1042", "date": "2031-05-09"})
    assert json.loads(world.call(move).content) == {"date": "2031-05-09", "seats": 2, "deposit": 0}
    assert [str(one) for one in world.changes()] == ['bookings[BK-1042].date: "2031-05-02" -> "2031-05-09"']
    assert domain.holds(world, "is_on", {"booking_id": "BK-1042", "date": "2031-05-09"})
    refused = world.call(ToolCall(name="get_booking", arguments={"booking_id": "BK-0"}))
    assert json.loads(refused.content) == {"error": "there is no booking BK-0"}
    late = ToolCall(name="move_booking", arguments={"booking_id": "BK-7", "date": "2031-05-09"})
    assert world.breaches(late) == ("past bookings stay",)
    assert world.breaches(move) == ()


def test_the_task_of_the_page_can_be_done(domain: Domain, tmp_path: Path) -> None:
    """The task is read, and its reference leads to the state that its assertion wants."""
    file = tmp_path / "tasks.json"
    file.write_text(_block("json"), encoding="utf-8")
    (task,) = read_tasks(file).tasks
    world = domain.world(initial_state=task.initial_state)
    results = [world.call(action.call()) for action in task.criteria.actions]
    assert not any(result.error for result in results)
    assert all(domain.holds(world, one.name, one.arguments) for one in task.criteria.env_assertions)


def test_the_command_of_the_page_is_accepted() -> None:
    """The command parses with the options that exist."""
    name, verb, *arguments = shlex.split(_block("sh"))
    assert (name, verb in VERBS) == ("turngap", True)
    load(verb).make_context(verb, arguments, resilient_parsing=False)
