"""The run directory: what is put is there, in order, for every later process; nothing else opens."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from turngap.config import EvalConfig, JudgeConfig, Prices, TextConfig
from turngap.data import (
    Acted,
    AssistantMessage,
    Cause,
    Conversation,
    Failure,
    Prediction,
    Score,
    ToolMessage,
    Trajectory,
    Verdict,
)
from turngap.errors import ConfigError, StoreError
from turngap.runs.store import RunStore, Tally


def _in_child(code: str, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    return result.stdout + result.stderr


def _read_all(directory: Path) -> None:
    with RunStore.open(directory) as store:
        store.predictions("c0")
        list(store.conversations())


def test_units_are_there_after_reopening(
    tmp_path: Path,
    config: EvalConfig,
    conversations: list[Conversation],
    prediction: Prediction,
    failure: Failure,
    trajectory: Trajectory,
    verdict: Verdict,
) -> None:
    """Every kind of unit comes back equal, failures beside results, from another opening."""
    with RunStore.create(tmp_path / "run", config) as store:
        assert store.add_conversations(conversations) == 10
        store.put_prediction("c0", 1, failure)
        store.put_prediction("c0", 0, prediction)
        store.put_trajectory("c0", trajectory)
        store.put_trajectory("c1", failure)
        store.put_verdict("rules", "turn", "c0", 0, verdict, "k0")
        store.put_verdict("rules", "workflow", "c0", None, failure, "k1")
        store.put_verdict("heron", "turn", "c0", 0, failure, "k2")
        store.calls.put("f00d", b"\x00answer")
    with RunStore.open(tmp_path / "run") as store:
        assert store.config == config
        assert store.conversation_ids() == [each.id for each in conversations]
        assert list(store.conversations()) == conversations
        assert store.conversation("c7") == conversations[7]
        assert store.predictions("c0") == {0: prediction, 1: failure}
        assert list(store.predictions("c0")) == [0, 1]
        assert store.predictions("c1") == {}
        assert store.trajectory("c0") == trajectory
        assert store.trajectory("c1") == failure
        assert store.trajectory("c2") is None
        assert store.verdicts("rules", "turn", "c0") == {0: ("k0", verdict)}
        assert store.verdicts("rules", "workflow", "c0") == {None: ("k1", failure)}
        assert store.verdicts("heron", "turn", "c0") == {0: ("k2", failure)}
        assert store.calls.get("f00d") == b"\x00answer"
        with pytest.raises(KeyError):
            store.conversation("c99")


def test_a_unit_is_replaced_not_doubled(
    tmp_path: Path, config: EvalConfig, prediction: Prediction, failure: Failure, verdict: Verdict
) -> None:
    """RUN-01: units are known by their key, so an errored one that is done again leaves one row."""
    with RunStore.create(tmp_path / "run", config) as store:
        for decision in range(10):
            store.put_prediction("c0", decision, failure if decision == 2 else prediction)
        assert store.count_predictions() == Tally(good=9, errored=1)
        assert store.predicted("c0") == {0, 1, 3, 4, 5, 6, 7, 8, 9}
    with RunStore.create(tmp_path / "run", config) as store:
        store.put_prediction("c0", 2, prediction)
        store.put_verdict("rules", "turn", "c0", None, verdict, "old")
        store.put_verdict("rules", "turn", "c0", None, verdict, "new")
        assert store.count_predictions() == Tally(good=10, errored=0)
        assert len(store.predictions("c0")) == 10
        assert store.verdicts("rules", "turn", "c0") == {None: ("new", verdict)}


def test_counts_without_reading_units(
    tmp_path: Path,
    config: EvalConfig,
    prediction: Prediction,
    trajectory: Trajectory,
    failure: Failure,
) -> None:
    """RUN-12: a resumed run knows at once how many units are good and how many are to be repeated."""
    with RunStore.create(tmp_path / "run", config) as store:
        assert store.count_predictions() == store.count_trajectories() == Tally(good=0, errored=0)
        for number in range(30):
            errored = number % 6 == 0
            store.put_prediction(f"c{number}", 0, failure if errored else prediction)
            store.put_trajectory(f"c{number}", failure if errored else trajectory)
    with RunStore.open(tmp_path / "run") as store:
        assert store.count_predictions() == Tally(good=25, errored=5)
        assert store.count_trajectories() == Tally(good=25, errored=5)
        assert store.replayed() == {f"c{number}" for number in range(30) if number % 6}


def test_scores_are_replaced_as_a_whole(tmp_path: Path, config: EvalConfig, make_score: Callable[..., Score]) -> None:
    """Scores of one scorer go in together and come out in order, more of them than fit one page."""
    many = [make_score(f"c{number}", decision) for number in range(400) for decision in (0, None)]
    with RunStore.create(tmp_path / "run", config) as store:
        store.replace_scores("text", [make_score("gone")])
        store.replace_scores("turn:rules", [make_score("c0", protocol="turn")])
        store.replace_scores("text", iter(many))
        assert list(store.scores("text")) == [("text", score) for score in many]
        assert [name for name, _ in store.scores()] == ["turn:rules"] + ["text"] * 800
        assert store.scorers() == ["turn:rules", "text"]
        store.replace_scores("turn:rules", [])
        assert store.scorers() == ["text"]


def test_the_scores_of_one_conversation(tmp_path: Path, config: EvalConfig, make_score: Callable[..., Score]) -> None:
    """By scorer and decision, those of the whole conversation too, and nothing of others; empty where there are none."""
    with RunStore.create(tmp_path / "run", config) as store:
        assert store.scores_of("c1") == {}
        many = [make_score(f"c{number}", decision) for number in range(20) for decision in (0, 1)]
        store.replace_scores("text", many)
        store.replace_scores("workflow:rules", [make_score("c1", None, protocol="workflow")])
        store.replace_scores("turn:rules", [make_score("c2", protocol="turn")])
        found = store.scores_of("c1")
        assert found == {
            "text": {0: make_score("c1", 0), 1: make_score("c1", 1)},
            "workflow:rules": {None: make_score("c1", None, protocol="workflow")},
        }
        assert list(found) == sorted(found)
        assert store.scores_of("nobody") == {}


def test_a_failed_replacement_keeps_the_old_scores(
    tmp_path: Path, config: EvalConfig, make_score: Callable[..., Score]
) -> None:
    """An error while scores are generated, or two scores for one unit, leaves what was there."""

    def broken() -> Iterator[Score]:
        yield make_score("new")
        raise ArithmeticError

    with RunStore.create(tmp_path / "run", config) as store:
        store.replace_scores("text", [make_score("old")])
        with pytest.raises(ArithmeticError):
            store.replace_scores("text", broken())
        with pytest.raises(StoreError, match="UNIQUE"):
            store.replace_scores("text", [make_score("twice"), make_score("twice")])
        assert [score.conversation for _, score in store.scores()] == ["old"]
        store.replace_scores("text", [make_score("new")])
        assert [score.conversation for _, score in store.scores()] == ["new"]


def test_scores_may_be_generated_from_the_store(
    tmp_path: Path, config: EvalConfig, conversations: list[Conversation], make_score: Callable[..., Score]
) -> None:
    """A generator that reads conversations while its scores are written sees all of them."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_conversations(conversations)
        store.replace_scores("text", (make_score(each.id) for each in store.conversations()))
        assert [score.conversation for _, score in store.scores()] == store.conversation_ids()


def test_streams_allow_writing_on_the_way(
    tmp_path: Path, config: EvalConfig, conversations: list[Conversation], prediction: Prediction
) -> None:
    """Units can be put while conversations stream, and another process sees them at once."""
    with RunStore.create(tmp_path / "run", config) as store, RunStore.open(tmp_path / "run") as reader:
        store.add_conversations(conversations)
        for number, conversation in enumerate(store.conversations(), start=1):
            store.put_prediction(conversation.id, 0, prediction)
            assert reader.count_predictions().good == number


def test_notes(tmp_path: Path, config: EvalConfig) -> None:
    """Small facts come back as plain values, the default where there is none."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.set_note("data", {"read": 3, "oddities": ["a"]})
        store.set_note("data", {"read": 4, "oddities": []})
        assert store.note("data") == {"read": 4, "oddities": []}
        assert store.note("label") is None
        assert store.note("label", "x") == "x"


def test_state(tmp_path: Path, config: EvalConfig) -> None:
    """RUN-03: a run that nobody writes any more is interrupted, whatever its last note says."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.set_note("state", "started")
        assert store.state() == "started"
        with RunStore.open(tmp_path / "run") as reader:
            assert reader.state() == "started"
    with RunStore.open(tmp_path / "run") as reader:
        assert reader.state() == "interrupted"
    with RunStore.open(tmp_path / "run", write=True) as store:
        store.set_note("state", "finished")
    with RunStore.open(tmp_path / "run") as reader:
        assert reader.state() == "finished"


def test_metrics_file(tmp_path: Path, config: EvalConfig) -> None:
    """metrics.json is JSON without NaN, and no half-written file stays beside it."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.write_metrics({"n": {"decisions": 0}, "metrics": {"text.rouge1": {"value": float("nan"), "n": 0}}})
        text = (store.directory / "metrics.json").read_text()
    assert json.loads(text)["metrics"]["text.rouge1"] == {"value": None, "n": 0}
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "metrics.json",
        "run.json",
        "run.lock",
        "run.sqlite",
    ]


@pytest.mark.parametrize(
    "change",
    [{"temperature": 0.6}, {"max_tokens": 7}, {"seed": 1}, {"spec": "openai/heron"}, {"tool_parser": "none"}],
    ids=lambda change: next(iter(change)),
)
def test_other_generation_settings_are_refused(
    tmp_path: Path, config: EvalConfig, with_model: Callable[..., EvalConfig], change: dict[str, object]
) -> None:
    """RUN-02: a resumed run with a setting that decides what the model says is refused, naming both values and ways out."""
    RunStore.create(tmp_path / "run", config).close()
    with pytest.raises(ConfigError) as caught:
        RunStore.create(tmp_path / "run", with_model(**change))
    ((name, value),) = change.items()
    message = str(caught.value)
    assert f"model.{name}: {value!r} asked for, {getattr(config.model, name)!r} stored" in message
    assert "-o" in message
    assert "\n" not in message
    RunStore.create(tmp_path / "run", config).close()


def test_every_difference_is_named(tmp_path: Path, config: EvalConfig, with_model: Callable[..., EvalConfig]) -> None:
    """RUN-02: two changed settings make one line with both."""
    RunStore.create(tmp_path / "run", config).close()
    with pytest.raises(ConfigError, match=r"model\.max_tokens: 7 .*model\.temperature: 0\.9 "):
        RunStore.create(tmp_path / "run", with_model(temperature=0.9, max_tokens=7))


def test_other_settings_follow(
    tmp_path: Path, config: EvalConfig, conversations: list[Conversation], with_model: Callable[..., EvalConfig]
) -> None:
    """RUN-02: pace, prices, judges, text and protocols may change on resume, and the stored configuration follows."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_conversations(conversations)
    changed = msgspec.structs.replace(
        with_model(timeout=1.0, give_up_after=2.0, concurrency=99, prices=Prices(prompt=1.0, completion=2.0)),
        judge=JudgeConfig(specs=("openai/heron",)),
        text=TextConfig(tokenizer="unicode"),
        protocols=("text",),
    )
    with RunStore.create(tmp_path / "run", changed) as store:
        store.add_conversations(conversations)
        assert store.config == changed
    with RunStore.open(tmp_path / "run") as store:
        assert store.config == changed
    assert json.loads((tmp_path / "run" / "run.json").read_text())["config"]["protocols"] == ["text"]


def test_run_json(tmp_path: Path, config: EvalConfig, conversations: list[Conversation]) -> None:
    """run.json says what was asked for, with which software, on which data; data in another order have the same digest."""
    documents = []
    for name, data in (("a", conversations), ("b", conversations[::-1]), ("c", conversations[:-1])):
        with RunStore.create(tmp_path / name, config) as store:
            store.add_conversations(data)
        documents.append(json.loads((tmp_path / name / "run.json").read_text()))
    first = documents[0]
    assert first["format"] == "turngap-run/1"
    assert first["config"]["model"]["spec"] == "openai/pelican"
    assert first["versions"][0]["packages"]["msgspec"] == msgspec.__version__
    assert documents[0]["data_digest"] == documents[1]["data_digest"] != documents[2]["data_digest"]


def test_lost_run_json_is_written_again(tmp_path: Path, config: EvalConfig) -> None:
    """The database decides: a run without its run.json resumes and has it again."""
    RunStore.create(tmp_path / "run", config).close()
    (tmp_path / "run" / "run.json").unlink()
    RunStore.create(tmp_path / "run", config).close()
    assert (tmp_path / "run" / "run.json").exists()


def test_no_secret_of_a_url_is_stored(
    tmp_path: Path, with_model: Callable[..., EvalConfig], conversations: list[Conversation]
) -> None:
    """SEC-01: user part and query of base URLs stay out of every file; the run resumes with and without them."""
    secret = with_model(base_url="http://me:SENTINEL-1@127.0.0.1:9/v1?key=SENTINEL-2")
    secret = msgspec.structs.replace(secret, judge=JudgeConfig(base_url="https://h/v1?key=SENTINEL-3"))
    with RunStore.create(tmp_path / "run", secret) as store:
        store.add_conversations(conversations)
        for path in (tmp_path / "run").iterdir():
            assert b"SENTINEL" not in path.read_bytes(), path.name
        assert store.config == secret
    with RunStore.create(tmp_path / "run", secret), pytest.raises(StoreError):
        RunStore.create(tmp_path / "run", secret)
    with RunStore.open(tmp_path / "run") as store:
        assert store.config.model.base_url == "http://127.0.0.1:9/v1"
    with pytest.raises(ConfigError) as caught:
        RunStore.create(tmp_path / "run", with_model(base_url="http://h/v1?key=SENTINEL-4"))
    assert "SENTINEL" not in str(caught.value)


def test_second_writer_is_refused(tmp_path: Path, config: EvalConfig) -> None:
    """While one writes, a second (here or in another process) gets one line with the process id; readers may come."""
    with RunStore.create(tmp_path / "run", config):
        for attempt in (
            lambda: RunStore.create(tmp_path / "run", config),
            lambda: RunStore.open(tmp_path / "run", write=True),
        ):
            with pytest.raises(StoreError, match=f"process {os.getpid()} is writing this run"):
                attempt()
        code = (
            "import sys; from pathlib import Path; from turngap.runs import RunStore\n"
            "try: RunStore.open(Path(sys.argv[1]), write=True)\n"
            "except Exception as error: print(error)\n"
            "RunStore.open(Path(sys.argv[1])).close(); print('read')"
        )
        said = _in_child(code, str(tmp_path / "run")).splitlines()
        assert f"process {os.getpid()} is writing" in said[0]
        assert said[1:] == ["read"]
    RunStore.open(tmp_path / "run", write=True).close()


def test_reader_cannot_write(tmp_path: Path, config: EvalConfig, failure: Failure) -> None:
    """A store opened for reading refuses to put, with one line."""
    RunStore.create(tmp_path / "run", config).close()
    with RunStore.open(tmp_path / "run") as store, pytest.raises(StoreError, match="cannot be written"):
        store.put_trajectory("c0", failure)


def test_reading_leaves_no_trace(tmp_path: Path, config: EvalConfig) -> None:
    """Whoever only reads a finished run leaves the directory as it was."""
    RunStore.create(tmp_path / "run", config).close()
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    with RunStore.open(tmp_path / "run") as store:
        store.conversation_ids()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before


def test_large_trajectory(tmp_path: Path, config: EvalConfig, trajectory: Trajectory) -> None:
    """RUN-11: a trajectory of 30 MB is handed over once, and handing it over again changes nothing."""
    text = os.urandom(15_000_000).hex()
    big = msgspec.structs.replace(
        trajectory, events=(Acted(message=AssistantMessage(content="x"), results=(ToolMessage(content=text),)),)
    )
    with RunStore.create(tmp_path / "run", config) as store:
        store.put_trajectory("c0", big)
        store.put_trajectory("c0", big)
    with RunStore.open(tmp_path / "run") as store:
        assert store.trajectory("c0") == big
        assert store.count_trajectories() == Tally(good=1, errored=0)


def test_memory_does_not_grow_with_trajectories(
    tmp_path: Path, config: EvalConfig, conversations: list[Conversation], make_score: Callable[..., Score]
) -> None:
    """RUN-13: summing up scores and counting units takes the memory of a page, not of the run."""
    payload = os.urandom(25_000).hex()
    step = Acted(message=AssistantMessage(content="x"), results=(ToolMessage(content=payload),))
    with RunStore.create(tmp_path / "run", config) as store:
        for number in range(400):
            store.put_trajectory(f"c{number}", Trajectory(conversation=f"c{number}", events=(step,)))
        store.replace_scores("replay", (make_score(f"c{number}", None) for number in range(400)))
    assert (tmp_path / "run" / "run.sqlite").stat().st_size > 10_000_000
    with RunStore.open(tmp_path / "run") as store:
        tracemalloc.start()
        total = sum(score.values["rouge1"] for _, score in store.scores())
        counted = store.count_trajectories()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (total, counted.good) == (200.0, 400)
    assert peak < 1_000_000


def test_what_is_no_run(tmp_path: Path, config: EvalConfig) -> None:
    """Nothing, a file, an empty folder: one line that says what is there instead of a run."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for name, expected in (
        ("nothing", "does not exist"),
        ("file", "is no directory"),
        ("folder", "holds no run.sqlite"),
    ):
        with pytest.raises(StoreError, match=expected):
            RunStore.open(tmp_path / name)
    with pytest.raises(StoreError, match="cannot be used as a run directory"):
        RunStore.create(tmp_path / "file", config)


def test_run_json_without_database(tmp_path: Path, config: EvalConfig) -> None:
    """A run that lost its database is not silently begun anew."""
    RunStore.create(tmp_path / "run", config).close()
    (tmp_path / "run" / "run.sqlite").unlink()
    with pytest.raises(StoreError, match=r"run\.json but no run\.sqlite"):
        RunStore.create(tmp_path / "run", config)


def test_an_emptied_database_is_damage(tmp_path: Path, config: EvalConfig) -> None:
    """A database of no bytes, or without its manifest, beside run.json never begins a new run in silence."""
    RunStore.create(tmp_path / "run", config).close()
    database = tmp_path / "run" / "run.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM fact")
    connection.close()
    with pytest.raises(StoreError, match=r"run\.sqlite holds no run: damaged; name another directory"):
        RunStore.create(tmp_path / "run", config)
    database.write_bytes(b"")
    with pytest.raises(StoreError, match=r"run\.json but an empty run\.sqlite: damaged; name another directory"):
        RunStore.create(tmp_path / "run", config)
    assert database.read_bytes() == b""
    for write in (False, True):
        with pytest.raises(StoreError, match=r"an empty run\.sqlite: damaged"):
            RunStore.open(tmp_path / "run", write=write)


def test_damaged_database(
    tmp_path: Path, config: EvalConfig, conversations: list[Conversation], prediction: Prediction
) -> None:
    """A file of noise, and a run with noise in its middle, give one StoreError, never a traceback of SQLite."""
    with RunStore.create(tmp_path / "run", config) as store:
        store.add_conversations(conversations)
        for number in range(500):
            store.put_prediction("c0", number, prediction)
    path = tmp_path / "run" / "run.sqlite"
    whole = path.read_bytes()
    path.write_bytes(os.urandom(5000))
    for attempt in (lambda: RunStore.open(tmp_path / "run"), lambda: RunStore.create(tmp_path / "run", config)):
        with pytest.raises(StoreError, match="damaged") as caught:
            attempt()
        assert "\n" not in str(caught.value)
    path.write_bytes(whole[:8192] + os.urandom(len(whole) - 8192))
    with pytest.raises(StoreError, match="damaged"):
        _read_all(tmp_path / "run")


def test_damaged_record(tmp_path: Path, config: EvalConfig) -> None:
    """A record that does not decode is named as damage of the file."""
    RunStore.create(tmp_path / "run", config).close()
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as connection:
        connection.execute("INSERT INTO trajectory VALUES ('c0', 0, x'789c00')")
        connection.execute("INSERT INTO trajectory VALUES ('c1', 0, '{\"type\": \"heron\"}')")
    connection.close()
    with RunStore.open(tmp_path / "run") as store:
        for name in ("c0", "c1"):
            with pytest.raises(StoreError, match="damaged"):
                store.trajectory(name)


def test_newer_format(tmp_path: Path, config: EvalConfig) -> None:
    """A run of a newer format is refused by readers and writers, with the way out."""
    RunStore.create(tmp_path / "run", config).close()
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    for attempt in (lambda: RunStore.open(tmp_path / "run"), lambda: RunStore.create(tmp_path / "run", config)):
        with pytest.raises(StoreError, match=r"format 99, made by a newer turngap.*upgrade"):
            attempt()


def test_somebody_elses_database(tmp_path: Path, config: EvalConfig) -> None:
    """An SQLite file of another program is left alone."""
    (tmp_path / "run").mkdir()
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.execute("CREATE TABLE birds (name)")
    connection.close()
    before = (tmp_path / "run" / "run.sqlite").read_bytes()
    with pytest.raises(StoreError, match="something else"):
        RunStore.create(tmp_path / "run", config)
    assert (tmp_path / "run" / "run.sqlite").read_bytes() == before


def test_begun_but_empty(tmp_path: Path, config: EvalConfig) -> None:
    """A run that was killed before its first row reads as not begun, and begins when asked again."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.sqlite").touch()
    (tmp_path / "run" / "run.lock").touch()
    for write in (False, True):
        with pytest.raises(StoreError, match="interrupted before it began"):
            RunStore.open(tmp_path / "run", write=write)
    RunStore.create(tmp_path / "run", config).close()
    RunStore.open(tmp_path / "run").close()


def test_errored_scores_survive(tmp_path: Path, config: EvalConfig, make_score: Callable[..., Score]) -> None:
    """An errored score keeps its cause and has no values."""
    score = make_score("c0", success=False, cause=Cause.ENDPOINT, values={})
    with RunStore.create(tmp_path / "run", config) as store:
        store.replace_scores("text", [score])
        ((_, found),) = store.scores()
    assert found == score
    assert found.errored


def test_a_path_may_be_a_text(tmp_path: Path, config: EvalConfig) -> None:
    """A run is made and opened by the name of its directory as by its path."""
    with RunStore.create(str(tmp_path / "run"), config) as store:
        assert store.directory == tmp_path / "run"
    with RunStore.open(str(tmp_path / "run")) as store:
        assert store.config == config
