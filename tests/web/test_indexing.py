"""The index follows its run: new units, new answers, new scores, another run in the same place, another viewer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import scored
import trialruns

from turngap.data import (
    Acted,
    AssistantMessage,
    CallVerdict,
    Category,
    Cause,
    Failure,
    Prediction,
    Problem,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Trajectory,
)
from turngap.data.reward import Reward, Symptom, SymptomKind
from turngap.runs.store import DATABASE, RunStore
from turngap.web.harvest import Progress
from turngap.web.index import Shown
from turngap.web.indexing import Indexer, Indexes, folder
from turngap.web.listing import Listing
from turngap.web.query import Query, read
from turngap.web.shelf import Shelf

WRONG = CallVerdict(accepted=False, category=Category.WRONG_TOOL, decision=0, attempt=1, detail="look, not peek")


def failing(name: str) -> Trajectory:
    """A replay that called another tool until its attempts were spent."""
    acted = Acted(
        message=AssistantMessage(calls=(ToolCall(name="peek", arguments={"where": "harbour"}),)),
        results=(ToolMessage(name="peek", content="not valid at this point"),),
        verdicts=(WRONG,),
        decision=0,
    )
    problem = Problem(category=Category.WRONG_TOOL, decision=0, event=2, detail="reference: look(), prediction: peek()")
    return Trajectory(conversation=name, events=(acted,) * 3, problems=(problem,), steps=3, rejected=3, first_error=0)


class Follower:
    """The index of one run, looked at whenever a test wants."""

    def __init__(self, directory: Path, cache: Path) -> None:
        self.indexer = Indexer(Shelf.open([directory]).runs[0], cache)

    def rows(self, text: str = "", **query: object) -> list[Shown]:
        """Rows of a query."""
        asked = read([("q", text)]) if text else Query(**query)  # type: ignore[arg-type]
        return list(Listing(self.indexer.index, asked).window(0, 100).rows)

    def until(self, wanted: Callable[[], bool]) -> None:
        """Wait until the index is so."""
        deadline = time.monotonic() + 20
        while not wanted():
            assert time.monotonic() < deadline, self.indexer.progress
            time.sleep(0.02)


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[Callable[[Path], Follower]]:
    """Begins to follow a run; ends with the test."""
    followers: list[Follower] = []

    def following(directory: Path) -> Follower:
        follower = Follower(directory, tmp_path / "cache")
        followers.append(follower)
        follower.indexer.start()
        follower.indexer.finish(20)
        assert follower.indexer.progress == Progress(stage="done")
        return follower

    yield following
    for follower in followers:
        follower.indexer.stop()


def _results(rows: list[Shown]) -> dict[str, str]:
    return {row.item: row.results for row in rows}


def test_a_finished_run_has_results_of_scores_and_reasons_of_failures(
    tmp_path: Path, follow: Callable[[Path], Follower]
) -> None:
    """Of several decisions the worst counts; categories, findings and tools of both sides can be filtered for."""
    names = ["a", "b", "c"]
    scores = {
        "turn:rules": [
            scored.turn("a", 0, "tool", True),
            scored.turn("a", 1, "text", True),
            scored.turn("b", 0, "tool", True),
            scored.turn("b", 1, "text", False),
            scored.turn("c", 0, "tool", True),
            scored.turn("c", 1, "text", None),
        ],
        "replay": [scored.replayed("a", True), scored.replayed("b", False), scored.replayed("c", None)],
        "workflow:rules": [scored.finished("a", False)],
    }
    tools = (ToolSpec(name="look"),)
    conversations = [msgspec.structs.replace(scored.conversation(name), tools=tools) for name in names]
    with scored.run(tmp_path / "run", conversations, scores) as store:
        store.put_trajectory("a", Trajectory(conversation="a", completed=True, steps=2))
        store.put_trajectory("b", failing("b"))
        store.put_trajectory("c", Failure(cause=Cause.ENDPOINT, reason="503 after 5 attempts"))
    following = follow(tmp_path / "run")
    assert _results(following.rows()) == {"a": "-p-pf", "b": "-f-f-", "c": "-e-e-"}
    (row,) = following.rows(categories=("wrong_tool",))
    assert (row.item, row.detail, row.first_error, row.steps) == ("b", "reference: look(), prediction: peek()", 0, 3)
    assert [one.item for one in following.rows(categories=("unknown_tool",))] == ["b"]
    assert [one.item for one in following.rows(categories=("endpoint",))] == ["c"]
    assert [one.item for one in following.rows(tools=("look",))] == names
    assert [one.item for one in following.rows(tools=("peek",))] == ["b"]
    assert [one.item for one in following.rows("harbour")] == ["b"]


def test_an_index_follows_a_run_that_is_at_work(tmp_path: Path, follow: Callable[[Path], Follower]) -> None:
    """Conversations that come, answers that come, replays that say how they ended before anybody scored them."""
    directory = tmp_path / "run"
    with RunStore.create(directory, scored.config()) as store:
        following = follow(directory)
        assert following.rows() == []
        store.set_note("state", "started")
        store.add_conversations([scored.conversation(name, said=f"about {name}") for name in ("apples", "pears")])
        following.until(lambda: len(following.rows()) == 2)
        assert [row.item for row in following.rows("pears")] == ["pears"]
        store.put_prediction("pears", 0, Prediction(message=AssistantMessage(content="I have no plums")))
        following.until(lambda: bool(following.rows("plums")))
        store.put_trajectory("pears", failing("pears"))
        store.put_trajectory("apples", Trajectory(conversation="apples", completed=True))
        following.until(lambda: _results(following.rows()) == {"apples": "---p-", "pears": "---f-"})
        store.replace_scores("turn:rules", [scored.turn("apples", 0, "tool", False)])
        following.until(lambda: _results(following.rows())["apples"] == "-f-p-")
        # The same rows with other content, as a second scoring leaves them.
        store.set_note("state", "finished")
        store.replace_scores("turn:rules", [scored.turn("apples", 0, "tool", True)])
    following.until(lambda: _results(following.rows())["apples"] == "-p-p-")


def test_trials_stand_by_task_whenever_they_took_place(tmp_path: Path, follow: Callable[[Path], Follower]) -> None:
    """A trial that was graded says so at once; a user's fault is told from the agent's; what is not asked for is left out."""
    marks = {"one": ["user", 0.5, 1], "two": [1, "endpoint"]}
    with trialruns.trial_run(tmp_path / "run", marks, trials=2, scenarios={"two": "changing"}) as store:
        following = follow(tmp_path / "run")
        assert [(row.item, row.trial, row.results) for row in following.rows()] == [
            ("one", 0, "u"),
            ("one", 1, "f"),
            ("two", 0, "p"),
            ("two", 1, "e"),
        ]
        assert {row.item for row in following.rows(scenarios=("changing",))} == {"two"}
        assert [row.trial for row in following.rows(categories=("endpoint",))] == [1]
        store.set_note("state", "started")  # as a resumed run, whose scores are those of before until the end
        symptom = Symptom(kind=SymptomKind.MISSING_WRITE, event=4, detail="move was never called")
        store.trials.put("two", 1, Trajectory(conversation="two", steps=3))
        store.trials.put_reward("two", 1, Reward(value=0.0, symptoms=(symptom,)), "key")
        following.until(lambda: bool(following.rows(categories=("missing_write",))))
        (row,) = following.rows(categories=("missing_write",))
        assert (row.item, row.trial, row.results, row.first_error) == ("two", 1, "f", 4)


def test_another_run_in_the_same_folder_is_not_taken_for_the_first(
    tmp_path: Path, follow: Callable[[Path], Follower]
) -> None:
    """Begun at another time, it is read from the beginning; a run that has not changed is not read again."""
    directory = tmp_path / "run"
    with scored.run(directory, [scored.conversation("first")], {}):
        pass
    following = follow(directory)
    following.indexer.stop()
    assert [row.item for row in following.rows()] == ["first"]
    again = follow(directory)
    assert again.indexer.index.columns.version == 1
    again.indexer.stop()
    for file in directory.iterdir():
        file.unlink()
    time.sleep(1.1)  # runs are told apart by the second in which they began
    with scored.run(directory, [scored.conversation("second")], {}):
        pass
    assert [row.item for row in follow(directory).rows()] == ["second"]


def test_two_viewers_share_an_index(tmp_path: Path, follow: Callable[[Path], Follower]) -> None:
    """One writes it, the other follows what is written, and takes over when the first one has ended."""
    directory = tmp_path / "run"
    with scored.run(directory, [scored.conversation("a")], {}) as store:
        writing, reading = follow(directory), follow(directory)
        reading.until(lambda: len(reading.rows()) == 1)
        store.put_trajectory("a", failing("a"))
        reading.until(lambda: bool(reading.rows(categories=("wrong_tool",))))
        writing.indexer.stop()
        store.put_trajectory("a", Trajectory(conversation="a", completed=True))
        reading.until(lambda: _results(reading.rows()) == {"a": "---p-"})


def test_a_damaged_conversation_has_a_row_that_says_so(tmp_path: Path, follow: Callable[[Path], Follower]) -> None:
    """VIEW-04: the others are there as if nothing were."""
    import sqlite3  # noqa: PLC0415 - to do damage

    directory = tmp_path / "run"
    with scored.run(directory, [scored.conversation("a"), scored.conversation("b")], {}):
        pass
    with sqlite3.connect(directory / DATABASE) as connection:
        connection.execute("UPDATE conversation SET body = '{broken' WHERE id = 'a'")
    connection.close()
    rows = follow(directory).rows()
    assert [row.item for row in rows] == ["a", "b"]
    assert "damaged" in rows[0].detail
    assert str(tmp_path) not in rows[0].detail


def test_a_run_that_cannot_be_read_is_a_problem_and_no_end(tmp_path: Path) -> None:
    """The line is shown, and it is tried again."""
    directory = tmp_path / "run"
    with scored.run(directory, [scored.conversation("a")], {}):
        pass
    following = Follower(directory, tmp_path / "cache")
    hidden = directory / DATABASE
    hidden.rename(tmp_path / "elsewhere")
    following.indexer.start()
    try:
        following.until(lambda: bool(following.indexer.progress.problem))
        (tmp_path / "elsewhere").rename(hidden)
        following.until(lambda: len(following.rows()) == 1 and not following.indexer.progress.problem)
    finally:
        following.indexer.stop()


def test_indexes_begin_when_asked_for(tmp_path: Path) -> None:
    """One thread a run, begun once."""
    with scored.run(tmp_path / "run", [scored.conversation("a")], {}):
        pass
    run = Shelf.open([tmp_path / "run"]).runs[0]
    indexes = Indexes(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    indexer = indexes.of(run)
    assert indexes.of(run) is indexer
    indexer.wait(20)
    indexes.close()
    assert (tmp_path / "cache" / f"{run.digest}.sqlite").is_file()


def test_the_folder_of_indexes_is_the_users_cache() -> None:
    """TURNGAP_CACHE names another one."""
    assert folder({"TURNGAP_CACHE": "/x"}) == Path("/x/view")
    assert folder({"XDG_CACHE_HOME": "/y"}) == Path("/y/turngap/view")
    assert folder({}) == Path.home() / ".cache" / "turngap" / "view"
