"""`turngap examples`, from the outside: sources of every kind, what is left out, what is refused, and the counts."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import boats
import pytest

from turngap.cli.main import execute
from turngap.formats import tasks as task_files
from turngap.training import exchange


def _record(boat_record: dict[str, Any], number: int, **more: Any) -> dict[str, Any]:
    one: dict[str, Any] = json.loads(json.dumps(boat_record))
    for at, message in enumerate(one["messages"][1:]):
        if message["content"] is not None:
            message["content"] = " ".join(f"w{number * 100 + at * 10 + word}" for word in range(10))
    return one | {"id": f"talk{number}"} | more


def _lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path, boat_record: dict[str, Any]) -> Path:
    """Twelve conversations of which three are not rewarded."""
    return _lines(tmp_path / "log.jsonl", [_record(boat_record, at, reward=float(at > 2)) for at in range(12)])


def _make(*arguments: str | Path) -> int:
    return execute(["examples", *map(str, arguments)])


def test_recordings(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of counts on standard output, what was left out on standard error, a set that reads back."""
    assert _make(log, "-o", tmp_path / "set", "--only-successful", "--evaluation", "0.3", "--seed", "1") == 0
    captured = capsys.readouterr()
    manifest, examples = exchange.read(tmp_path / "set")
    for split, counted in manifest.counts.items():
        assert (
            f"{split} {counted['conversations']} {counted['examples']} {counted['text']} {counted['tool']}"
            in " ".join(captured.out.split())
        )
    assert sum(counted["conversations"] for counted in manifest.counts.values()) == 9
    assert sum(map(len, examples.values())) == 36
    assert "3 not successful left out" in captured.err
    assert all(one.source == str(log) for one in examples["train"])


def test_json_is_the_manifest(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --json one document and nothing else; the same command writes the same bytes."""
    assert _make(log, "-o", tmp_path / "set", "--json", "--mix", "tools", "--count", "20") == 0
    document = json.loads(capsys.readouterr().out)
    assert document.pop("examples") == str(tmp_path / "set")
    assert document == json.loads((tmp_path / "set" / "examples.json").read_text(encoding="utf-8"))
    assert document["counts"]["train"]["tool"] == 15 and document["counts"]["train"]["text"] == 5
    before = {path.name: path.read_bytes() for path in (tmp_path / "set").iterdir()}
    assert _make(log, "-o", tmp_path / "set", "--mix", "tools", "--count", "20") == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "set").iterdir()} == before


def test_a_run_of_trials_gives_its_successes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a run only verified successes are taken, under their tasks; the source is the run."""
    task_files.write(tmp_path / "tasks.json", [boats.task(at) for at in (1, 2, 3)])
    where = ["--domain", str(Path(boats.__file__)), "--tasks", str(tmp_path / "tasks.json")]
    for name, model in (("good", "baseline/reference"), ("poor", "baseline/noisy?p_text=1&p_tool=0&seed=1")):
        execute(["rollout", *where, "-o", str(tmp_path / name), "--model", model, "--trials", "2"])
    capsys.readouterr()
    assert _make(tmp_path / "good", "-o", tmp_path / "set", "--validation", "0") == 0
    assert "6 of 6 trials are verified successes" in capsys.readouterr().err
    _, examples = exchange.read(tmp_path / "set")
    assert {one.task for one in examples["train"]} == {boats.task(at).id for at in (1, 2, 3)}
    assert {one.source for one in examples["train"]} == {str(tmp_path / "good")}
    assert all(one.setting.policy == boats.POLICY for one in examples["train"])
    assert _make(tmp_path / "poor", "-o", tmp_path / "none") == 2
    assert not (tmp_path / "none").exists()


def test_a_synthesis_gives_its_trajectories(
    tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a synthesis its recorded trajectories are taken; one that is not finished is refused."""
    made = tmp_path / "made"
    made.mkdir()
    (made / "synth.sqlite").touch()
    assert _make(made, "-o", tmp_path / "set") == 2
    assert "finish the synthesis" in capsys.readouterr().err
    _lines(made / "trajectories.jsonl", [_record(boat_record, at) for at in range(3)])
    (made / "tasks.json").write_text("[]", encoding="utf-8")
    assert _make(made, "-o", tmp_path / "set", "--validation", "0") == 0
    assert exchange.read(tmp_path / "set")[0].counts["train"]["conversations"] == 3


def test_sources_may_use_the_same_ids(log: Path, tmp_path: Path, boat_record: dict[str, Any]) -> None:
    """Two files that number their conversations alike are two files; the later ids get a number."""
    other = _lines(tmp_path / "other.jsonl", [_record(boat_record, at + 100) | {"id": f"talk{at}"} for at in range(3)])
    assert _make(log, other, "-o", tmp_path / "set", "--validation", "0") == 0
    names = {one.conversation for one in exchange.read(tmp_path / "set")[1]["train"]}
    assert len(names) == 15 and {"talk0", "talk0@2"} <= names


def test_syn_02_refused_or_left_out(
    log: Path, tmp_path: Path, boat_record: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """SYN-02: evaluation conversations among the sources are refused by id, or left out and counted."""
    tested = _lines(tmp_path / "test.jsonl", [_record(boat_record, at) | {"id": f"held{at}"} for at in (4, 7)])
    assert _make(log, "-o", tmp_path / "set", "--against", tested) == 2
    said = capsys.readouterr().err
    assert "talk4" in said and "talk7" in said and "held4" in said and "--drop-contaminated" in said
    assert not (tmp_path / "set").exists()
    assert _make(log, "-o", tmp_path / "set", "--against", tested, "--drop-contaminated", "--validation", "0") == 0
    manifest, examples = exchange.read(tmp_path / "set")
    assert {one.conversation for one in examples["train"]} == {f"talk{at}" for at in range(12)} - {"talk4", "talk7"}
    assert [one.id for one in manifest.left_out if one.reason == "contaminated"] == ["talk4", "talk7"]
    assert "2 conversations left out" in manifest.checked_against[str(tested)]
    # The other ten share policy, tools and calls with what is tested.
    assert manifest.counts["train"]["conversations"] == 10


def test_syn_02_tasks_of_tau2(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SYN-02: recordings of tau2's retail tasks are refused where those tasks are the evaluation set."""
    tasks = shared / "tau2-head" / "retail-tasks.json"
    recording = shared / "tau2-results" / "nemo-gym-retail.results.json"
    assert _make(recording, "-o", tmp_path / "set", "--against", tasks) == 2
    assert "by its id, 50 of" in capsys.readouterr().err


def test_options_and_files_that_cannot_be(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage and unreadable input exit with 2 and one line."""
    for arguments, said in (
        ((log, "--mix", "some"), "natural, balanced, tools"),
        ((log, "--validation", "1.5"), "validation"),
        ((tmp_path / "missing.jsonl",), "missing.jsonl"),
        ((log, "--against", tmp_path / "missing.json"), "missing.json"),
    ):
        assert _make(*arguments, "-o", tmp_path / "set") == 2
        err = capsys.readouterr().err
        assert said in err and len(err.splitlines()) == 1


def test_places_that_cannot_be(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a file or something else lies, it is said before any source is read, with the option; `.` is a place."""
    for output in (log, tmp_path, "/", ".."):
        assert _make("nothing.jsonl", "-o", output) == 2
        err = capsys.readouterr().err
        assert "-o" in err and str(output) in err and len(err.splitlines()) == 1
    (tmp_path / "here").mkdir()
    with contextlib.chdir(tmp_path / "here"):
        assert _make(log, "-o", ".") == 0
    assert exchange.read(tmp_path / "here")[0].counts["train"]["examples"]
