"""What people say about verdicts: kept line by line beside the run, counted, and read back by calibration."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from turngap.analysis.calibration import each_item
from turngap.cli.main import execute
from turngap.errors import StoreError, UsageError
from turngap.report.label_sheet import read_sheet
from turngap.runs.store import RunStore
from turngap.web import notes
from turngap.web.notes import FILE, Marking


@pytest.fixture
def run(runs_folder: Path, tmp_path: Path) -> Path:
    """A copy of the run `weak`, to write beside."""
    return Path(shutil.copytree(runs_folder / "weak", tmp_path / "run"))


def _units(store: RunStore, count: int, protocol: str = "turn") -> list[tuple[str, int | None, bool]]:
    """Conversation, decision and verdict of the first units of a run."""
    items = each_item(store, protocol, "rules", store.conversation_ids())
    return [
        (item.conversation.id, item.decision.index if item.decision else None, item.verdict.success)
        for item, _ in zip(items, range(count), strict=False)
    ]


def _marking(unit: tuple[str, int | None, bool], label: str, **more: object) -> Marking:
    fields = {"protocol": "turn", "judge": "rules", "conversation": unit[0], "decision": unit[1], "label": label}
    return msgspec.convert({**fields, **more}, Marking)


def test_a_statement_is_about_verdict_and_unit(run: Path) -> None:
    """Right and wrong say whether the unit is good by what the judge said; yes and no the other way round."""
    with RunStore.open(run) as store:
        unit = next(one for one in _units(store, 200) if not one[2])
        said = [notes.mark(store, _marking(unit, label)) for label in ("right", "wrong", "yes", "no", "unclear")]
    assert [(one.said, one.good) for one in said] == [
        ("right", False), ("wrong", True), ("wrong", True), ("right", False), ("unclear", None),
    ]  # fmt: skip
    assert not said[0].approved and len({one.item for one in said}) == 1


def test_the_last_statement_holds_and_all_are_kept(run: Path) -> None:
    """Lines are only added; what is withdrawn counts no more."""
    with RunStore.open(run) as store:
        first, second = _units(store, 2)
        for unit, label in ((first, "right"), (second, "wrong"), (first, "wrong"), (second, "withdrawn")):
            notes.mark(store, _marking(unit, label, comment=f"because\n{label}"))
        found = notes.read(run)
        (note,) = notes.about(store, found, first[0])
    assert (note.said, note.comment, note.decision) == ("wrong", "because\nwrong", first[1])
    assert len(found.by_unit) == 1 and found.unreadable == 0
    lines = (run / FILE).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    assert {json.loads(line)["format"] for line in lines} == {"turngap-annotation/1"}
    (count,) = notes.counts(found)
    assert (count.right, count.wrong, count.unclear, count.blind) == (0, 1, 0, 0)


def test_half_a_line_harms_no_other(run: Path) -> None:
    """What a full disk cut is passed over and counted; the next statement begins on a line of its own."""
    with RunStore.open(run) as store:
        first, second = _units(store, 2)
        notes.mark(store, _marking(first, "right"))
        whole = (run / FILE).read_bytes()
        (run / FILE).write_bytes(whole + b"\xff\xfe\n" + whole[:40])
        notes.mark(store, _marking(second, "right"))
    found = notes.read(run)
    assert len(found.by_unit) == 2 and found.unreadable == 2


def test_many_write_at_once(run: Path) -> None:
    """Statements of several threads all arrive whole."""
    with RunStore.open(run) as store:
        units = _units(store, 40)

    def write(unit: tuple[str, int | None, bool]) -> None:
        with RunStore.open(run) as store:
            notes.mark(store, _marking(unit, "wrong", comment="x" * 3000))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, units))
    found = notes.read(run)
    assert len(found.by_unit) == 40 and found.unreadable == 0


def test_a_statement_about_nothing_is_refused(run: Path) -> None:
    """No such conversation, decision, judge or protocol: one line, and nothing is written."""
    with RunStore.open(run) as store:
        unit = _units(store, 1)[0]
        for changed in (
            {"conversation": "../../etc/passwd"},
            {"decision": 999},
            {"decision": None},
            {"judge": "nobody"},
            {"protocol": "text"},
        ):
            with pytest.raises(UsageError):
                notes.mark(store, _marking(unit, "right", **changed))
    assert not (run / FILE).exists()


def test_what_cannot_be_written_is_said(run: Path) -> None:
    """One line that names the file; nothing else happens."""
    (run / FILE).mkdir()
    with RunStore.open(run) as store:
        unit = _units(store, 1)[0]
        with pytest.raises(StoreError, match=r"annotations\.jsonl: cannot be written"):
            notes.mark(store, _marking(unit, "right"))
    with pytest.raises(StoreError, match=r"annotations\.jsonl: cannot be read"):
        notes.read(run)


def test_a_statement_about_another_answer_counts_no_more(run: Path) -> None:
    """When the model has answered anew, what was said is not held against the new answer."""
    with RunStore.open(run, write=True) as store:
        unit = _units(store, 1)[0]
        notes.mark(store, _marking(unit, "right"))
        decision = unit[1]
        assert decision is not None
        prediction = store.predictions(unit[0])[decision]
        message = msgspec.structs.replace(prediction.message, content="Another answer altogether.")
        store.put_prediction(unit[0], decision, msgspec.structs.replace(prediction, message=message))
        found = notes.read(run)
        assert notes.about(store, found, unit[0]) == []
        assert "Another answer" not in notes.sheet(store, found.of("turn", "rules"), "rules")


def test_calibration_reads_the_sheet(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SEC-09: the export is the sheet of `turngap judge calibrate`, disarmed, with labels and comments filled in."""
    with RunStore.open(run) as store:
        units = _units(store, 40)
        for at, unit in enumerate(units):
            label = ("yes", "no", "unclear")[0 if unit[2] else (at % 2) + 1]
            notes.mark(store, _marking(unit, label, blind=at < 30, comment='=HYPERLINK("x")'))
        found = notes.read(run)
        blind = found.of("turn", "rules", blind=True)
        text = notes.sheet(store, found.of("turn", "rules"), "rules")
        assert len(blind) == 30 and len(read_rows(notes.sheet(store, blind, "rules"), tmp_path)) == 30
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode())
    sheet = read_sheet(path)
    assert (sheet.protocol, sheet.judge, len(sheet.labels), sheet.unlabelled) == ("turn", "rules", 40, 0)
    assert [label.good for label in sheet.labels] == [note.good for note in found.of("turn", "rules")]
    assert "'=HYPERLINK" in text
    assert execute(["judge", "calibrate", str(run), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == 40


def read_rows(text: str, folder: Path) -> tuple[object, ...]:
    """The labels of a sheet."""
    path = folder / "rows.csv"
    path.write_bytes(text.encode())
    return read_sheet(path).labels


def test_workflow_verdicts_are_about_whole_conversations(run: Path) -> None:
    """They have no decision."""
    with RunStore.open(run) as store:
        unit = _units(store, 1, "workflow")[0]
        assert notes.mark(store, _marking(unit, "right", protocol="workflow")).decision is None
