"""What changed between two runs, conversation by conversation."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import gateruns
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.analysis.compare import compare
from turngap.analysis.figure import Kind
from turngap.runs.store import RunStore
from turngap.web.changes import Change, Changes, Refused, changes, select
from turngap.web.changes import _cell as cell_of
from turngap.web.opened import Opened
from turngap.web.shelf import Shelf


def _changes(first: Path, second: Path, *, force: bool = False) -> Changes | Refused:
    with ExitStack() as closing:
        one, other = (
            Opened(id=path.name, label=f"run {path.name}", store=closing.enter_context(RunStore.open(path)))
            for path in (first, second)
        )
        return changes(one, other, force=force)


def _found(first: Path, second: Path) -> Changes:
    found = _changes(first, second)
    assert isinstance(found, Changes)
    return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of five conversations one is fixed, one broken, one right in both, one wrong in both, one errored in one."""
    folder = tmp_path_factory.mktemp("pair")
    before = {"fix": False, "break": True, "right": True, "wrong": False, "lost": True}
    after = {"fix": True, "break": False, "right": True, "wrong": False, "lost": None}
    return (
        gateruns.make(folder / "a", workflow=before, strict=before),
        gateruns.make(folder / "b", workflow=after, strict=after),
    )


def test_each_conversation_has_its_change(pair: tuple[Path, Path]) -> None:
    """Fixed, broken, same right and same wrong; what one run could not measure has no change."""
    found = _found(*pair)
    at = found.at("workflow.success")
    told = {row.id: cell.change for row in found.rows if (cell := row.cells[at])}
    assert told == {
        "fix": Change.FIXED,
        "break": Change.BROKEN,
        "right": Change.SAME_RIGHT,
        "wrong": Change.SAME_WRONG,
    }
    assert dict(found.columns[at].counts) == {
        Change.FIXED: 1,
        Change.BROKEN: 1,
        Change.SAME_WRONG: 1,
        Change.SAME_RIGHT: 1,
    }
    assert next(row for row in found.rows if row.id == "lost").cells[at] is None


def test_differences_are_those_of_the_comparison(pair: tuple[Path, Path], shelf: Shelf) -> None:
    """Difference, interval and p are `turngap compare`'s, and the counts are its discordance."""
    runs = [shelf.get("r1").path, shelf.get("r2").path]
    for first, second in (pair, runs):
        found = _found(first, second)
        with RunStore.open(first) as one, RunStore.open(second) as other:
            expected = compare([one, other])
        assert [column.paired for column in found.columns] == list(expected.contrasts[0].figures)
        for column in found.columns:
            tally = dict(column.counts)
            assert sum(tally.values()) == column.total
            discordance = column.paired.discordance
            if discordance is not None and column.paired.difference.n == column.total:
                assert (tally[Change.FIXED], tally[Change.BROKEN]) == (discordance.gained, discordance.lost)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_right_means_all_of_it(units: list[tuple[bool, bool]]) -> None:
    """A conversation is right when all its units are; between two that are not, the share decides."""
    cell = cell_of([(float(before), float(after), 1.0) for before, after in units], Kind.SHARE)
    was, now = all(before for before, _ in units), all(after for _, after in units)
    assert (cell.change in (Change.SAME_RIGHT, Change.BROKEN)) is was
    assert (cell.change in (Change.SAME_RIGHT, Change.FIXED)) is now
    assert cell.better - cell.worse == pytest.approx(cell.gain * cell.n)
    back = cell_of([(float(after), float(before), 1.0) for before, after in units], Kind.SHARE)
    mirror = {Change.FIXED: Change.BROKEN, Change.BETTER: Change.WORSE}
    mirror |= {after: before for before, after in mirror.items()}
    assert back.change is mirror.get(cell.change, cell.change)


def test_likeness_is_better_worse_or_the_same() -> None:
    """A figure that is no share of right and wrong never says that a conversation is right."""
    told = [cell_of([(before, after, 1.0)], Kind.MEAN).change for before, after in ((0.2, 1.0), (1.0, 0.4), (1.0, 1.0))]
    assert told == [Change.BETTER, Change.WORSE, Change.SAME]


def test_the_list_is_filtered_and_sorted(pair: tuple[Path, Path]) -> None:
    """By change, by text in ids, in the order that is wanted; pages do not lose a row."""
    found = _found(*pair)
    assert [row.id for row in select(found).rows] == ["break", "fix", "wrong", "right"]
    assert select(found, sort="gain").rows[0].id == "fix"
    assert select(found, sort="loss").rows[0].id == "break"
    assert [row.id for row in select(found, sort="id").rows] == ["break", "fix", "right", "wrong"]
    assert [row.id for row in select(found, change="fixed").rows] == ["fix"]
    assert {row.id for row in select(found, change="changed").rows} == {"fix", "break"}
    assert [row.id for row in select(found, text="RIGHT").rows] == ["right"]
    assert select(found, text="nowhere").rows == ()
    pages = [select(found, first=at, most=3) for at in (0, 3)]
    assert [row.id for page in pages for row in page.rows] == ["break", "fix", "wrong", "right"]
    assert select(found, first=10**6, most=3).first == 3
    assert select(found, first=-1).first == 0
    assert select(found, by="no.such.figure", change="nonsense").total == 4


def test_other_data_are_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """Runs that share nothing are refused in the words of `turngap compare`, by the names that readers know."""
    other = gateruns.make(tmp_path / "other", workflow={"x": True})
    found = _changes(pair[0], other)
    assert isinstance(found, Refused)
    assert "no conversation in common" in found.reason
    assert not found.forcible
    changed = gateruns.make(tmp_path / "changed", workflow={"fix": True, "right": True}, words="other words")
    assert isinstance(_changes(pair[0], changed), Refused)


def test_another_way_of_measuring_is_refused_until_forced(tmp_path: Path) -> None:
    """Another matcher is named; by force the runs are compared and the difference stands among the notes."""
    before = {"a": True, "b": False}
    first = gateruns.make(tmp_path / "one", strict=before, scoring={"match": {"coerce": True}, "text": {}})
    second = gateruns.make(tmp_path / "two", strict=before, scoring={"match": {"coerce": False}, "text": {}})
    found = _changes(first, second)
    assert isinstance(found, Refused)
    assert found.forcible
    assert "--force" not in found.reason
    forced = _changes(first, second, force=True)
    assert isinstance(forced, Changes)
    assert any("coerce" in note and note.startswith("Not comparable") for note in forced.notes)


def test_names_are_labels_and_no_paths(pair: tuple[Path, Path], shelf: Shelf) -> None:
    """Two kinds of runs, or one run twice, are refused without a directory in the sentence."""
    live = shelf.get("r3").path
    for second in (live, pair[0]):
        found = _changes(pair[0], second)
        assert isinstance(found, Refused)
        assert str(pair[0]) not in found.reason
        assert "run a" in found.reason


def test_tasks_change_by_their_trials(shelf: Shelf, tmp_path: Path) -> None:
    """For live trials each task has the share of its trials, and a user's failures change nothing."""
    path = shelf.get("r3").path
    twin = tmp_path / "twin"
    twin.mkdir()
    for file in path.iterdir():
        (twin / file.name).write_bytes(file.read_bytes())
    found = _found(path, twin)
    assert found.unit == "task"
    assert "user_error" not in [column.name for column in found.columns]
    assert all(
        cell.change in (Change.SAME_RIGHT, Change.SAME_WRONG) for row in found.rows for cell in row.cells if cell
    )
