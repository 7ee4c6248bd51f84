"""docs/your-own-domain.md: what people copy from it works as it stands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from turngap.data import Cause, ToolCall
from turngap.domains import build
from turngap.domains.api import Domain
from turngap.formats.tasks import read as read_tasks
from turngap.runs import RunStore

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


def _typed(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of the page in a folder that holds its files."""
    (folder / "boats.py").write_text(_block("python"), encoding="utf-8")
    (folder / "tasks.json").write_text(_block("json"), encoding="utf-8")
    name, *arguments = shlex.split(line)
    assert name == "turngap"
    command = [sys.executable, "-m", "turngap", *arguments, "--json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_of_the_page_gives_what_it_says(tmp_path: Path) -> None:
    """The reference agent gets the whole reward in the domain that was just written."""
    done = _typed(tmp_path, _block("sh"))
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    figures = {name: metrics[name]["value"] for name in ("pass^1", "pass^2", "reward.db", "reward.env_assertion")}
    assert figures == dict.fromkeys(figures, 1.0)


def test_a_crash_of_the_domain_is_named_and_survived(tmp_path: Path) -> None:
    """With a tool that crashes, the run ends in order: both trials errored, tool and line named, exit 1."""
    boats = _block("python").replace("    return desk.bookings.change(", "    return 1 / 0 or desk.bookings.change(")
    (tmp_path / "broken.py").write_text(boats, encoding="utf-8")
    done = _typed(tmp_path, _block("sh").replace("boats.py", "broken.py"))
    assert done.returncode == 1
    assert json.loads(done.stdout)["n"]["errored"] == 2
    with RunStore.open(tmp_path / "runs" / "boats") as store:
        failures = list(store.trials.failures().values())
    line = boats[: boats.index("1 / 0")].count("\n") + 1
    reason = f"tool move_booking failed at broken.py:{line}: ZeroDivisionError: division by zero"
    assert [(one.cause, one.reason) for one in failures] == [(Cause.DOMAIN, reason)] * 2
