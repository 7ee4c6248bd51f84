"""`turngap report` from the outside: files, formats, pictures, errors, what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import boats
import pytest
from lived import played
from reports import evaluated

from turngap import samples
from turngap.cli.main import execute
from turngap.config import ReplayConfig


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A noisy baseline on packaged conversations."""
    return evaluated(
        tmp_path_factory.mktemp("cli") / "run",
        samples.path(),
        "baseline/noisy?p_text=0.9&p_tool=0.6",
        replay=ReplayConfig(attempts=1),
    )


def test_one_file_that_fetches_nothing(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is one file; no element of it points anywhere else."""
    pytest.importorskip("altair", reason="needs the extra report")
    page = tmp_path / "page.html"
    assert execute(["report", str(run), "-o", str(page), "--title", "Friday's run"]) == 0
    assert capsys.readouterr().out == f"report: {page}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    text = page.read_text(encoding="utf-8")
    assert "<title>Friday&#39;s run</title>" in text
    assert 'src="http' not in text
    assert 'href="http' not in text


def test_markdown_with_pictures(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that ends in .md is Markdown; with --png every chart is a picture that the text shows."""
    pytest.importorskip("altair", reason="needs the extra report")
    report, charts = tmp_path / "report.md", tmp_path / "charts"
    assert execute(["report", str(run), "-o", str(report), "--png", str(charts), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["report"] == str(report)
    assert written["png"] == [str(path) for path in map(Path, written["png"])]
    assert sorted(written["png"]) == sorted(map(str, charts.iterdir()))
    text = report.read_text(encoding="utf-8")
    assert "](charts/gap.png)" in text
    assert "<" not in text.split("## Failed workflows")[0]


def test_the_format_can_be_named(run: Path, tmp_path: Path) -> None:
    """--format wins over the ending of the file; --no-transcripts and --failures are heard."""
    report = tmp_path / "report.txt"
    assert execute(["report", str(run), "--format", "md", "-o", str(report), "--failures", "1"]) == 0
    text = report.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert text.count("#### ") == 1
    assert execute(["report", str(run), "--format", "md", "-o", str(report), "--no-transcripts"]) == 0
    assert "#### " not in report.read_text(encoding="utf-8")


def test_live_trials_are_reported_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of trials alone, as Markdown with pictures: the failed ones folded, options heard."""
    pytest.importorskip("altair", reason="needs the extra report")
    live = played(tmp_path / "live", [boats.task(1), boats.task(2)], "baseline/transfer", trials=2)
    report, charts = tmp_path / "report.md", tmp_path / "charts"
    assert execute(["report", str(live), "-o", str(report), "--png", str(charts), "--failures", "1"]) == 0
    assert capsys.readouterr().out == f"report: {report}\ncharts: 2 in {charts}\n"
    assert sorted(path.name for path in charts.iterdir()) == ["passk.png", "symptoms.png"]
    text = report.read_text(encoding="utf-8")
    assert text.count("#### task") == 1
    assert "<details><summary>The whole trial: " in text
    assert "| bookings\\[BK-1\\] | date |" in text
    assert execute(["report", str(live), "-o", str(report), "--no-transcripts"]) == 0
    assert "#### " not in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["{run}", "{run}"], "named twice"),
        (["{tmp}/nothing"], "no run"),
        (["{run}", "--failures", "-1"], "--failures is at least 0"),
        (["{run}", "--format", "pdf"], "pdf"),
        (["{run}", "--format", "md", "-o", "{tmp}/no/such/folder.md"], "cannot be written"),
        ([], "RUN"),
    ],
)
def test_errors_are_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    """What makes no sense exits 2 with one line that says what."""
    assert execute(["report", *(part.format(run=run, tmp=tmp_path) for part in arguments)]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("package", "arguments"), [("altair", []), ("jinja2", []), ("vl_convert", ["--png", "charts"])]
)
def test_a_missing_package_names_the_command(run: Path, tmp_path: Path, package: str, arguments: list[str]) -> None:
    """Without the extra, the page says how to get it; Markdown needs none of it."""
    code = (
        f"import sys; sys.modules[{package!r}] = None; from turngap.cli.main import run; "
        f"run(['report', {str(run)!r}, *sys.argv[1:]])"
    )

    def call(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *options]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)

    done = call(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'turngap[report]'" in done.stderr
    assert list(tmp_path.glob("report*")) == []
    assert call("--format", "md").returncode == 0
    assert (tmp_path / "report.md").is_file()
