"""`turngap synth check`."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from turngap.cli.synth_check import check
from turngap.data.task import Action, Criteria, Instructions, Task
from turngap.errors import DataError
from turngap.formats import tasks as task_files

MOVE = {"booking_id": "BK-1042", "date": "2031-06-01", "seats": 2}
GOOD = Task(
    id="good",
    instructions=Instructions(reason="Please move my booking BK-1042 to 2031-06-01; we are two."),
    criteria=Criteria(actions=(Action(name="move_booking", arguments=MOVE),)),
)
PAST = msgspec.structs.replace(
    GOOD,
    id="past",
    instructions=Instructions(reason="Please move my booking BK-7 to 2031-06-01; we are two."),
    criteria=Criteria(actions=(Action(name="move_booking", arguments={**MOVE, "booking_id": "BK-7"}),)),
)


@pytest.fixture
def domain(tmp_path: Path) -> str:
    """A domain file that holds the boat desk."""
    file = tmp_path / "desk.py"
    source = Path(__file__).parents[1] / "boatdomain.py"
    file.write_text(f"{source.read_text(encoding='utf-8')}\n\nDOMAIN = domain()\n", encoding="utf-8")
    return str(file)


def test_good_tasks_pass(tmp_path: Path, domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed but the count, and the exit code is 0."""
    task_files.write(tmp_path / "tasks.json", [GOOD])
    assert check(tmp_path / "tasks.json", domain) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "turngap: 1 task checked: 0 errors, 0 warnings\n")


def test_an_error_fails(tmp_path: Path, domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1, and each finding is a line that names task and action."""
    task_files.write(tmp_path / "tasks.json", [GOOD, PAST])
    assert check(tmp_path / "tasks.json", domain) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("error: task past, action 1: refused: move_booking(")
    assert err.startswith("turngap: 2 tasks checked: ")
    assert "in 1 task" in err


def test_prints_one_json_document(tmp_path: Path, domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts, the tasks with errors, and every finding."""
    task_files.write(tmp_path / "tasks.json", [GOOD, PAST])
    assert check(tmp_path / "tasks.json", domain, as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], found["tasks_with_errors"]) == (2, ["past"])
    assert found["errors"] + found["warnings"] == len(found["findings"])
    assert found["findings"][0] == {
        "task": "past",
        "flaw": "refused",
        "severity": "error",
        "detail": found["findings"][0]["detail"],
        "action": 0,
    }


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, domain: str) -> None:
    """As everywhere, the error says which file and what is wrong."""
    with pytest.raises(DataError, match=r"nothing\.json"):
        check(tmp_path / "nothing.json", domain)
