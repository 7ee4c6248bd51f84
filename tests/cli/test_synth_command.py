"""`turngap synth` and its verbs from the outside: files, exit codes, resuming, messages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chatserver import ChatServer, Status
from madeshop import made_shop

from turngap import domains
from turngap.cli.main import execute
from turngap.config import SynthConfig
from turngap.errors import StoreError
from turngap.synth.store import SynthStore

FILES = ("tasks.json", "trajectories.jsonl", "card.md")
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The spec of a shop of 30 customers."""
    return made_shop(tmp_path)


def synth(shop: str, directory: Path, *more: str) -> int:
    """Run the command in this process."""
    return execute(["synth", "--domain", shop, "-o", str(directory), *more])


def files(directory: Path) -> list[bytes]:
    """What the command writes for people."""
    return [(directory / name).read_bytes() for name in FILES]


def line(captured: Captured) -> str:
    """The last line of what was said about the command; there is nothing on standard output."""
    out, err = captured.readouterr()
    assert out == ""
    return err.splitlines()[-1]


def test_tasks_trajectories_and_card_are_written(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """Two tasks of each scenario, a recording for each, a card with every part; standard output has the tables."""
    assert synth(shop, tmp_path / "s", "-n", "2") == 0
    out, err = capsys.readouterr()
    assert "Funnel" in out and "Coverage" in out and max(map(len, out.splitlines())) <= 80
    assert err.splitlines()[-1] == f"8 tasks: {tmp_path / 's' / 'tasks.json'}, card: {tmp_path / 's' / 'card.md'}"
    tasks = json.loads((tmp_path / "s" / "tasks.json").read_text(encoding="utf-8"))
    lines = (tmp_path / "s" / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    assert [task["id"] for task in tasks] == [json.loads(one)["id"] for one in lines]
    card = (tmp_path / "s" / "card.md").read_text(encoding="utf-8")
    assert card.startswith("# 8 synthetic tasks of retail")
    for title in (
        "Funnel",
        "Coverage by the kept tasks",
        "What the references do",
        "Lengths",
        "Diversity",
        "How it was made",
    ):
        assert f"## {title}" in card


def test_json_is_one_document(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """With --json standard output is the account and nothing else, and repeating the command says the same."""
    assert synth(shop, tmp_path / "s", "-n", "1", "--scenario", "general,infeasible", "--json") == 0
    out = capsys.readouterr().out
    document = json.loads(out)
    assert document["synthesis"] == str(tmp_path / "s")
    assert document["tasks"] == {"general": 1, "infeasible": 1}
    assert [funnel["scenario"] for funnel in document["funnels"]] == ["general", "infeasible"]
    assert synth(shop, tmp_path / "s", "-n", "1", "--scenario", "general,infeasible", "--json") == 0
    assert capsys.readouterr().out == out


def test_fewer_tasks_than_asked_for_is_exit_1(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """What there is is written; the line says which scenario lacks tasks, and what to do; doing it helps."""
    assert synth(shop, tmp_path / "s", "-n", "4", "--explorations", "2", "--scenario", "general") == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "general: fewer tasks than 4 came of 2 explorations; give more with --explorations"
    assert len(json.loads((tmp_path / "s" / "tasks.json").read_text(encoding="utf-8"))) == 2
    assert synth(shop, tmp_path / "s", "-n", "4", "--explorations", "9", "--scenario", "general") == 0
    assert len(json.loads((tmp_path / "s" / "tasks.json").read_text(encoding="utf-8"))) == 4


def _desk(folder: Path, tools: str) -> str:
    """The spec of a desk, one of whose tools may crash."""
    code = (
        "from boatdomain import *\n\n@write\ndef scrap(desk: Desk, booking_id: str) -> str:\n"
        "    '''Scrap a booking.'''\n    raise RuntimeError('out of order')\n\n"
        f"DOMAIN = domain(tools=[{tools}])\n"
    )
    (folder / "desk.py").write_text(code, encoding="utf-8")
    return str(folder / "desk.py")


def test_code_that_fails_is_named_and_exit_1(tmp_path: Path, capsys: Captured) -> None:
    """With the tool, the file and the line, on standard error and in the card; what could be made is written."""
    desk = _desk(tmp_path, "get_booking, set_contact, scrap")
    assert synth(desk, tmp_path / "s", "--explorations", "4", "--scenario", "general", "--json") == 1
    out, err = capsys.readouterr()
    text = "tool scrap failed at desk.py:6: RuntimeError: out of order"
    assert err.splitlines()[-1].endswith(f"the first: {text}")
    assert text in json.loads(out)["faults"]
    assert "Code that failed, and in how many" in (tmp_path / "s" / "card.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "s" / "tasks.json").read_text(encoding="utf-8"))


def test_a_domain_without_tools_is_refused(tmp_path: Path, capsys: Captured) -> None:
    """Nothing can be done in it, which is said before anything is made."""
    assert synth(_desk(tmp_path, ""), tmp_path / "s", "--explorations", "4") == 2
    assert "domain 'boats' has no tools" in line(capsys)


def test_a_server_that_is_down_is_exit_1(
    shop: str, tmp_path: Path, capsys: Captured, chat_server: Callable[..., ChatServer]
) -> None:
    """The files are written with what there is, and the line says that the same command goes on."""
    server = chat_server([Status(503)])
    model = ("--summariser", "openai/m", "--base-url", server.url, "--give-up-after", "1", "--explorations", "2")
    assert synth(shop, tmp_path / "s", *model) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "2 explorations could not be finished; the same command tries them again"
    assert any("exploration 0" in one and "503" in one for one in said), said
    assert json.loads((tmp_path / "s" / "tasks.json").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no domain: give --domain"),
        (["--domain", "retail"], "no directory: give -o DIR"),
        (["--domain", "reteil", "-o", "s"], "unknown domain 'reteil'; known: retail"),
        (
            ["--domain", "retail", "-o", "s", "--scenario", "generl"],
            "unknown scenario generl; known: general, ambiguous",
        ),
        (["--domain", "retail", "-o", "s", "-n", "0"], "the number of tasks is at least 1, not 0"),
        (["--domain", "retail", "-o", "s", "--explorations", "0"], "explorations is at least 1, not 0"),
        (["--domain", "retail", "-o", "s", "--summariser", "gpt"], "gpt"),
        (["--domain", "retail", "-o", "s", "--timeout", "0"], "--timeout"),
        (["--domain", "retail", "-o", "s", "--explorer", "baseline/reference"], "no such model explores"),
        (["--domain", "retail", "-o", "s", "--summariser", "baseline/nothing"], "no such model words tasks"),
        (["--domain", "retail", "-o", "s", "--scorer", "baseline/reference"], "no such model scores"),
        (["--domain", "retail", "-o", "s", "--phrases", "none.toml"], "none.toml: cannot be read"),
        (["--domain", "retail", "-o", "s", "--graph", "none.toml"], "none.toml: cannot be read"),
        (["--domain", "retail", "-o", "s", "--people", "usrs"], "no table 'usrs' with records; it has products, users"),
        (["chek", "tasks.json"], "Did you mean 'check'?"),
        (["--domain", "retail", "check", "tasks.json"], "options stand before 'check'; put them behind it"),
        (["--seed", "3", "graph", "--domain", "retail"], "options stand before 'graph'; put them behind it"),
        (["--json", "overlap", "a.json", "b.json"], "options stand before 'overlap'; put them behind it"),
        (["check", "none.json", "--domain", "retail"], "none.json: cannot be read"),
        (["overlap", "none.json", "none.json"], "none.json: cannot be read"),
        (["overlap", "none.json"], "EVALUATION"),
    ],
)
def test_slips_are_told_in_one_line(
    arguments: list[str], problem: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, and one line that says what is wrong and what would do."""
    monkeypatch.chdir(tmp_path)
    assert execute(["synth", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert problem in err


def test_a_mended_command_needs_no_other_directory(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """Settings that were refused before anything was made do not bind the directory; those that made something do."""
    assert synth(shop, tmp_path / "s", "--people", "usrs", "--explorations", "1") == 2
    assert synth(shop, tmp_path / "s", "--explorations", "1") == 0
    capsys.readouterr()
    assert synth(shop, tmp_path / "s", "--explorations", "1", "--seed", "7") == 2
    assert "seed: 7 asked for, 0 stored" in line(capsys)


def test_a_second_writer_is_refused(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """While one process makes tasks, another is told so and touches nothing."""
    config = SynthConfig(domain=shop, explorations=1)
    with SynthStore.create(tmp_path / "s", config, domains.build(shop).identity()):
        assert synth(shop, tmp_path / "s", "--explorations", "1") == 2
    assert "is writing this run" in line(capsys)


def test_places_that_cannot_be_written_are_named(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """A file where the directory should be, and folders where its files should be: exit 2 and the path."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert synth(shop, tmp_path / "file", "--explorations", "1") == 2
    assert f"{tmp_path / 'file'}: is a file; name a directory with -o" in line(capsys)
    for name in FILES:
        path = tmp_path / "s" / name
        path.mkdir(parents=True)
        assert synth(shop, tmp_path / "s", "--explorations", "1", "--scenario", "general") == 2
        assert f"{path}: cannot be written: Is a directory" in line(capsys)
        path.rmdir()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_directory_that_is_read_only_is_named(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """Exit 2 and one line."""
    (tmp_path / "s").mkdir(mode=0o500)
    assert synth(shop, tmp_path / "s", "--explorations", "1") == 2
    assert str(tmp_path / "s") in line(capsys)


def test_interrupted_and_resumed_the_files_are_the_same(shop: str, tmp_path: Path) -> None:
    """SYN-01: SIGINT ends with 130 and says how to resume; resumed, every file is that of an undisturbed synthesis."""
    asked = ("-n", "10", "--seed", "1", "--scenario", "general")
    assert synth(shop, tmp_path / "whole", *asked) == 0
    command = [sys.executable, "-m", "turngap", "synth", "--domain", shop, "-o", str(tmp_path / "broken"), *asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        while program.poll() is None and not _explored(tmp_path / "broken"):
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (130, "")
    assert f"resume with: turngap synth --domain '{shop}'" in err
    assert not (tmp_path / "broken" / "tasks.json").exists()
    assert synth(shop, tmp_path / "broken", *asked) == 0
    assert files(tmp_path / "broken") == files(tmp_path / "whole")


def _explored(directory: Path) -> int:
    if not (directory / "synth.sqlite").is_file():
        return 0
    try:
        with SynthStore.open(directory) as store:
            return sum(1 for _ in store.explorations())
    except StoreError:  # it is being made at this moment
        return 0


def _made(shop: str, directory: Path, *more: str) -> Path:
    assert synth(shop, directory, "--explorations", "6", *more) == 0
    return directory / "tasks.json"


def test_what_is_made_passes_check_and_what_is_spoilt_does_not(shop: str, tmp_path: Path, capsys: Captured) -> None:
    """`synth check` finds no error in fresh tasks; a change aimed at an order that does not exist is exit 1."""
    made = _made(shop, tmp_path / "s")
    assert execute(["synth", "check", str(made), "--domain", shop]) == 0
    tasks: list[dict[str, Any]] = json.loads(made.read_text(encoding="utf-8"))
    spoilt = next(task for task in tasks if task["evaluation_criteria"]["actions"])
    spoilt["evaluation_criteria"]["actions"][-1]["arguments"] = {"order_id": "#W0000000"}
    made.write_text(json.dumps(tasks), encoding="utf-8")
    capsys.readouterr()
    assert execute(["synth", "check", str(made), "--domain", shop, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["tasks_with_errors"] == [spoilt["id"]]


def test_overlap_of_the_same_customers_is_flagged_and_of_disjoint_ones_is_not(tmp_path: Path, capsys: Captured) -> None:
    """SYN-02: tasks of two disjoint databases share nothing, though phrases, policy and tools are the same; of one, much."""
    small = ("--users", "40", "--orders", "120", "--categories", "25")
    assert execute(["domain", "generate", "retail", "--seed", "2", *small, "-o", str(tmp_path / "train.json")]) == 0
    disjoint = [*small, "--avoid", str(tmp_path / "train.json"), "-o", str(tmp_path / "test.json")]
    assert execute(["domain", "generate", "retail", "--seed", "3", *disjoint]) == 0
    learnt = _made(f"retail?db={tmp_path / 'train.json'}", tmp_path / "learnt")
    tested = _made(f"retail?db={tmp_path / 'test.json'}", tmp_path / "tested", "--seed", "4")
    capsys.readouterr()
    assert execute(["synth", "overlap", str(learnt), str(tested), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["matches"], document["entities"], document["flagged"]) == ([], {}, 0)
    assert execute(["synth", "overlap", str(learnt), str(learnt)]) == 1
    said = capsys.readouterr().out
    count = len(json.loads(learnt.read_text(encoding="utf-8")))
    assert said.startswith(f"{count} tasks held against {count}: {count} flagged")
    assert "has the id of" in said and "is a copy of" in said and "ids and addresses stand on both sides" in said


def test_the_graph_is_a_verb_of_the_group(shop: str, tmp_path: Path) -> None:
    """`synth graph` writes a picture and everything as JSON."""
    for name in ("graph.svg", "graph.json"):
        assert execute(["synth", "graph", "--domain", shop, "-o", str(tmp_path / name)]) == 0
    assert {"tools", "edges"} <= set(json.loads((tmp_path / "graph.json").read_text(encoding="utf-8")))
