"""Checkpoints and the log: whole or not there, of one training only, and damage is said."""

from __future__ import annotations

from pathlib import Path

import pytest
import tinymodel

from turngap import jsonio
from turngap.errors import ConfigError, StoreError
from turngap.training.moment import Moment


@pytest.fixture(autouse=True, scope="module")
def _torch() -> None:
    tinymodel.require()


def _moment(step: int, seconds: float = 1.0) -> Moment:
    return Moment(
        step=step,
        steps=9,
        epoch=0.5,
        loss=1.0,
        validation=None,
        learning_rate=0.1,
        tokens_per_second=5,
        seconds=seconds,
    )


def test_weights_optimiser_and_state_come_back(tmp_path: Path) -> None:
    """What was saved fills other weights and another optimiser; without a checkpoint nothing is touched."""
    import torch  # noqa: PLC0415 - may be missing

    from turngap.training.checkpoint import Checkpoint, State  # noqa: PLC0415 - the same

    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimiser = torch.optim.AdamW([weight], lr=0.1)
    (weight * torch.tensor([1.0, 3.0])).sum().backward()
    optimiser.step()
    checkpoint = Checkpoint(tmp_path, {"a": 1})
    fresh = torch.nn.Parameter(torch.zeros(2))
    other = torch.optim.AdamW([fresh], lr=0.1)
    assert checkpoint.load({"w": fresh}, other) == State()
    state = State(step=3, tokens=40, seconds=2.5, best=0.5, bad=1, validated=0.6, stopped="tired")
    checkpoint.save({"w": weight}, optimiser, state)
    assert Checkpoint(tmp_path, {"a": 1}).load({"w": fresh}, other) == state
    assert torch.equal(fresh, weight)
    assert torch.equal(other.state_dict()["state"][0]["exp_avg"], optimiser.state_dict()["state"][0]["exp_avg"])
    with pytest.raises(ConfigError, match="another base, recipe or data set"):
        Checkpoint(tmp_path, {"a": 2})


def test_a_damaged_checkpoint_is_said_and_runs_no_code(tmp_path: Path) -> None:
    """Half a file, and a file that would run something when it is unpickled: neither is read."""
    import pickle  # noqa: PLC0415 - to make a bad file

    import torch  # noqa: PLC0415 - may be missing

    from turngap.training.checkpoint import Checkpoint, State  # noqa: PLC0415 - the same

    weight = torch.nn.Parameter(torch.zeros(2))
    optimiser = torch.optim.AdamW([weight])
    checkpoint = Checkpoint(tmp_path, {})
    checkpoint.save({"w": weight}, optimiser, State(step=1))
    file = tmp_path / "last.pt"
    whole = file.read_bytes()

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"state": {}, "weights": {"other": torch.zeros(2)}}, tmp_path / "foreign")
    foreign = (tmp_path / "foreign").read_bytes()
    for content in (whole[: len(whole) // 2], pickle.dumps(Evil(), protocol=2), b"", foreign):
        file.write_bytes(content)
        with pytest.raises(StoreError) as raised:
            checkpoint.load({"w": weight}, optimiser)
        assert str(raised.value) == (
            f"{file}: is damaged or no checkpoint; remove {tmp_path} to train from the beginning"
        )
    assert not (tmp_path / "ran").exists()
    with pytest.raises(StoreError, match=r"best.pt: is damaged or no checkpoint"):
        checkpoint.load_best({"w": weight})
    for content in (b"{", b"[]", b"{}"):
        (tmp_path / "training.json").write_bytes(content)
        with pytest.raises(StoreError, match=r"training.json: is damaged"):
            Checkpoint(tmp_path, {})


def test_the_log_is_cut_where_the_training_goes_on(tmp_path: Path) -> None:
    """Steps that will be done again, and a line that was cut short by a kill, are dropped; time is that of all processes."""
    from turngap.training.checkpoint import Log  # noqa: PLC0415 - imports torch's users

    log = Log(tmp_path / "log.jsonl")
    assert log.seconds() == 0
    log.cut(0)
    for step, seconds in ((1, 2.0), (2, 4.0), (3, 6.0)):
        log.add(_moment(step, seconds))
    with (tmp_path / "log.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"step": 4, "los')
    log.cut(2)
    log.add(_moment(3, 1.5))
    lines = [jsonio.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert log.seconds() == 5.5


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """Where a file lies in the way."""
    from turngap.training.checkpoint import Checkpoint  # noqa: PLC0415 - imports torch's users

    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written"):
        Checkpoint(tmp_path / "file" / "below", {})
