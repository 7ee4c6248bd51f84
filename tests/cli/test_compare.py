"""`turngap compare` and `turngap gap` from the command line: output, JSON, exit codes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import scored

from turngap import jsonio, samples
from turngap.cli.main import execute
from turngap.runs.store import RunStore


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two runs of noisy baselines on the packaged conversations, and one with other replay rules."""
    folder = tmp_path_factory.mktemp("runs")
    found = []
    for name, p, more in (("base", 0.6, []), ("better", 0.9, []), ("strange", 0.9, ["--attempts", "1"])):
        run = str(folder / name)
        model = f"baseline/noisy?p_text={p}&p_tool={p}&seed=1"
        options = ["--after-failure", "continue", "--limit", "30", *more]
        assert execute(["eval", str(samples.path()), "--model", model, "-o", run, *options]) == 0
        found.append(run)
    return found


def test_compare_prints_a_verdict(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Two comparable runs exit 0 with differences and a verdict in plain words."""
    capsys.readouterr()
    assert execute(["compare", *runs[:2]]) == 0
    shown = capsys.readouterr()
    assert "turn gains transferred to workflows" in shown.out
    assert shown.err == ""
    assert all(len(line) <= 80 for line in shown.out.splitlines())


def test_compare_json_is_one_strict_document(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints one document with every figure, and nothing else."""
    capsys.readouterr()
    assert execute(["compare", *runs[:2], "--json", "--metrics", "turn.success,replay.completed", "--see", "10"]) == 0
    document = jsonio.loads(capsys.readouterr().out)
    assert document["format"] == "turngap-comparison/1"
    assert [one["name"] for one in document["contrasts"][0]["figures"]] == ["turn.success", "replay.completed"]
    assert document["see"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{0}"], "two or more runs"),
        (["{0}", "{0}"], "named twice"),
        (["{0}", "{0}-nowhere"], "no run"),
        (["{0}", "{2}"], "replay.attempts is 3, there 1"),
        (["{0}", "{1}", "--metrics", "turn.sucess"], "unknown figure 'turn.sucess'"),
        (["{0}", "{1}", "--see", "0"], "--see is a difference in points"),
    ],
)
def test_what_cannot_be_compared_exits_2_with_one_line(
    runs: list[str], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong usage and runs that measured something else: exit 2, one line that says what."""
    capsys.readouterr()
    assert execute(["compare", *(argument.format(*runs) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.count("\n") == 1


def test_force_shows_the_difference(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--force` compares all the same, exits 0, and says that the figures are not comparable."""
    capsys.readouterr()
    assert execute(["compare", runs[0], runs[2], "--force"]) == 0
    assert "NOT COMPARABLE" in capsys.readouterr().out


def test_gap(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`turngap gap` prints the analysis; with `--json` one strict document."""
    capsys.readouterr()
    assert execute(["gap", runs[0]]) == 0
    assert "errors breed errors" in capsys.readouterr().out
    assert execute(["gap", runs[0], "--json"]) == 0
    document = jsonio.loads(capsys.readouterr().out)
    assert document["format"] == "turngap-gap/1"
    assert document["run"] == runs[0]
    assert document["propagation"]["replays"] == document["conversations"]


def test_gap_of_nothing_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is no run is refused with one line."""
    assert execute(["gap", str(tmp_path)]) == 2
    assert "no run" in capsys.readouterr().err


@pytest.fixture
def unfinished(runs: list[str], tmp_path: Path) -> str:
    """A run that was interrupted before anything was scored, its replays done."""
    run = tmp_path / "unfinished"
    shutil.copytree(runs[1], run)
    with RunStore.open(run, write=True) as store:
        for scorer in store.scorers():
            store.replace_scores(scorer, ())
        store.set_note("state", "interrupted")
    return str(run)


_GO_ON = "the run is not finished (interrupted); repeat its turngap eval command to go on"


def test_an_interrupted_run_is_said_to_be_one(
    runs: list[str], unfinished: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """gap, taxonomy and compare say what the gate says; compare advises no other figures."""
    capsys.readouterr()
    assert execute(["gap", unfinished]) == 0
    assert _GO_ON in " ".join(capsys.readouterr().out.split())
    assert execute(["taxonomy", unfinished]) == 0
    assert _GO_ON in " ".join(capsys.readouterr().out.split())
    assert execute(["compare", runs[0], unfinished]) == 2
    shown = capsys.readouterr()
    assert shown.err.endswith(f"{_GO_ON}\n")
    assert "--metrics" not in shown.err
    with RunStore.open(unfinished_partly(runs, Path(unfinished)), write=True) as store:
        store.set_note("state", "interrupted")
    assert execute(["compare", runs[0], unfinished]) == 0
    assert _GO_ON in " ".join(capsys.readouterr().out.split())


def unfinished_partly(runs: list[str], run: Path) -> Path:
    """The same run once its replays are scored."""
    with RunStore.open(Path(runs[1])) as whole, RunStore.open(run, write=True) as store:
        store.replace_scores("replay", [score for _, score in whole.scores("replay")])
    return run


def test_gap_of_a_run_without_measurements_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every unit errored: that is said in text, and the exit code is 1, also with --json."""
    names = [f"c{at}" for at in range(3)]
    scores = {"strict": [scored.exact(name, 0, None) for name in names]}
    run = tmp_path / "run"
    scored.run(run, [scored.conversation(name) for name in names], scores).close()
    assert execute(["gap", str(run)]) == 1
    shown = capsys.readouterr().out
    assert "nothing was measured" in shown
    assert "no replays" not in shown
    assert execute(["gap", str(run), "--json"]) == 1
    assert jsonio.loads(capsys.readouterr().out)["chain"]["links"] == []
