"""`turngap rollout` and `turngap score` on its runs, from the outside: output, exit codes, resuming, messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boats
import msgspec
import pytest
from chatserver import ChatServer, Say, Status, Step, call, text

from turngap import formats
from turngap.cli import settings
from turngap.cli.main import execute
from turngap.config import DataConfig
from turngap.data import AssistantMessage
from turngap.data.task import Criteria, Scenario
from turngap.errors import UsageError
from turngap.formats import tasks as task_files
from turngap.report.harmless import SHOWN

Start = Callable[..., ChatServer]
_DOMAIN = str(Path(boats.__file__))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Three tasks of two scenarios, as a file."""
    path = tmp_path / "tasks.json"
    task_files.write(path, [boats.task(1), boats.task(2, scenario=Scenario.AMBIGUOUS), boats.task(3)])
    return path


def _rollout(tasks: Path, run: Path, *more: str, model: str = "baseline/reference") -> int:
    where = ["--domain", _DOMAIN, "--tasks", str(tasks), "-o", str(run)]
    return execute(["rollout", *where, "--model", model, *more])


def _document(captured: Any) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    found: dict[str, Any] = json.loads(captured.readouterr().out, parse_constant=refuse)
    return found


def test_the_reference_passes_every_task(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """With --json one strict document, the same as metrics.json but for `run`; pass^k, components, scenarios, floors."""
    assert _rollout(tasks, tmp_path / "run", "--trials", "2", "--json") == 0
    document = _document(capsys)
    assert document.pop("run") == str(tmp_path / "run")
    assert document == json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    metrics = document["metrics"]
    names = ("pass^1", "pass^2", "reward", "reward.db", "reward.communicate", "pass^1[ambiguous]", "pass^2[general]")
    assert {name: metrics[name]["value"] for name in names} == dict.fromkeys(names, 1.0)
    assert metrics["floor.nothing"]["value"] == 0.0 and metrics["user_error"]["value"] == 0.0
    assert document["n"] == {"tasks": 3, "trials": 6, "valid": 6, "errored": 0, "user_errors": 0, "missing": 0}
    assert document["terminations"] == {"user_stop": 6}
    assert document["tasks"]["digest"] == task_files.read(tasks).digest


def test_the_table_says_what_counted(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Without --json a table of 80 columns at most, with what was only observed in a section of its own (ENV-07)."""
    assert _rollout(tasks, tmp_path / "run") == 0
    out = capsys.readouterr().out
    assert "pass^1" in out and "looked at, not counted" in out and "floors" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_table_says_why_trials_failed(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Symptoms with an example and the command that lists them; `score` says the same; nothing where none failed."""
    assert _rollout(tasks, tmp_path / "run", model="baseline/transfer") == 0
    out = capsys.readouterr().out
    assert "why trials failed, 3 of 3" in out and "needless_transfer" in out and "task move-1, trial 0" in out
    assert f"turngap taxonomy {tmp_path / 'run'} --show missing_write" in out
    assert execute(["score", str(tmp_path / "run")]) == 0
    assert "why trials failed, 3 of 3" in capsys.readouterr().out
    assert _rollout(tasks, tmp_path / "good") == 0
    assert "why trials failed" not in capsys.readouterr().out


def test_repeating_the_command_plays_nothing_again(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """RUN-12: a resumed run says the same byte for byte; more trials are added to it."""
    assert _rollout(tasks, tmp_path / "run", "--json") == 0
    first = capsys.readouterr().out
    assert _rollout(tasks, tmp_path / "run", "--json") == 0
    assert capsys.readouterr().out == first
    assert _rollout(tasks, tmp_path / "run", "--trials", "3", "--json") == 0
    assert _document(capsys)["n"]["valid"] == 9


def test_score_grades_again_and_says_the_same(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Worlds are rebuilt from the recorded calls; nobody is asked."""
    assert _rollout(tasks, tmp_path / "run", "--json") == 0
    first = _document(capsys)
    assert execute(["score", str(tmp_path / "run"), "--json"]) == 0
    assert _document(capsys) == first
    assert execute(["score", str(tmp_path / "run"), "--tokenizer", "unicode"]) == 2
    assert "--tokenizer is for recorded conversations" in capsys.readouterr().err


def test_an_errored_trial_makes_the_command_fail(tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any) -> None:
    """STA-02: exit 1 with the reason; --max-errored allows some; repeating tries the server again."""
    down = True

    def answer(body: dict[str, Any], _count: int) -> Step:
        if down:
            return Status(400, '{"error": {"message": "no such thing"}}')
        return text("I cannot help with that. Is there anything else that I can do for you?")

    server = chat_server(answer)
    there = ("--base-url", server.url, "--give-up-after", "1", "--json")
    assert _rollout(tasks, tmp_path / "run", *there, model="openai/m") == 1
    document = _document(capsys)
    assert document["n"]["errored"] == 3 and document["unmeasured"] == ["move-1", "move-2", "move-3"]
    assert document["metrics"]["pass^1"] == {"value": None, "n": 0, "ci95": None}
    assert _rollout(tasks, tmp_path / "run", *there, "--max-errored", "3", model="openai/m") == 0
    capsys.readouterr()
    down = False
    assert _rollout(tasks, tmp_path / "run", *there, model="openai/m") == 0
    again = _document(capsys)
    assert again["n"]["valid"] == 3 and again["metrics"]["pass^1"]["value"] == 0.0
    assert again["retried"]["trials"] == 3


def test_an_agent_behind_a_server_serves_a_user_behind_another(
    tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """An LLM user: its server is named apart, its cost and its faults are its own."""
    agent = chat_server([call("get_booking", {"booking_id": "BK-1"}), text("Shall I move it?")])
    user = chat_server([text("Yes, please go on with it."), text("Thank you, that is all. ###STOP###")])
    code = _rollout(
        tasks, tmp_path / "run", "--limit", "1", "--user", "llm/openai/u", "--base-url", agent.url,
        "--user-base-url", user.url, "--max-user-errors", "1", "--json", model="openai/m",
    )  # fmt: skip
    document = _document(capsys)
    assert code == 0 and document["user"] == "llm/openai/u"
    assert len(user.requests) >= 1 and document["n"]["trials"] == 1
    assert sum(document["terminations"].values()) == 1


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--task", "move-9"], "has no task 'move-9'; it begins with move-1, move-2, move-3"),
        (["--split", "test"], "has no split 'test'; known: none"),
        (["--scenario", "odd"], "unknown scenario 'odd'; known: general, ambiguous, changing, infeasible"),
        (["--scenario", "infeasible"], "no task is left of it"),
        (["--trials", "0"], "trials is at least 1, not 0"),
        (["--user", "nobody"], "unknown user 'nobody'"),
        (["--limit", "0"], "tasks.limit is at least 1"),
        (["--trials", "1000000"], "trials is at most 1000"),
        (["--seed", "-1"], "seed is at least 0"),
        (
            ["--user-audit", "scripted", "--audit-share", "5"],
            "audit.share is a share of the tasks, above 0 and at most",
        ),
        (["--user-audit", "scripted", "--audit-share", "0"], "audit.share is a share of the tasks, above 0"),
        (["--user-audit", "scripted", "--audit-share", "nan"], "audit.share should be a finite number"),
        (["--temperature", "nan"], "model.temperature should be a finite number"),
        (["--user-temperature", "inf"], "user.temperature should be a finite number"),
        (["--timeout", "-3"], "model.timeout is at least 0.001"),
        (["--concurrency", "0"], "model.concurrency is at least 1"),
        (["--context-length", "0"], "model.context_length is at least 1"),
        (["--max-errored", "-1"], "--max-errored"),
        (["--max-user-errors", "-1"], "--max-user-errors"),
        (["--model", "corrected/"], "'corrected/' names no model to correct"),
        (["--model", "corrected/recorded/nowhere.jsonl"], "a recorded model holds predictions on recorded history"),
        (["--model", "recorded/nowhere.jsonl"], "holds predictions on gold history and cannot act in a live domain"),
        (["--model", "corrected/", "--tasks", "missing.json"], "missing.json: cannot be read: No such file"),
        (["--keep-recoveries", "r.jsonl"], "kept of runs of corrected/MODEL, and this one is of baseline/reference"),
        (
            ["--model", "corrected/baseline/nothing", "--keep-recoveries", "no/r.jsonl"],
            "--keep-recoveries no/r.jsonl: there is no folder no",
        ),
        (
            ["--model", "corrected/baseline/nothing", "--keep-recoveries", "k", "--keep-successful", "./k"],
            "--keep-successful and --keep-recoveries both name k",
        ),
        (["--keep-successful", "."], "--keep-successful .: is a folder; name a file"),
    ],
)
def test_wrong_usage_is_one_line(tasks: Path, tmp_path: Path, capsys: Any, options: list[str], saying: str) -> None:
    """Exit 2 and one line that says what there is."""
    assert _rollout(tasks, tmp_path / "run", *options) == 2
    error = capsys.readouterr().err
    assert saying in error and error.count("\n") == 1


_BOATS = Path(boats.__file__).read_text(encoding="utf-8")


def _edited(tmp_path: Path, before: str = "", after: str = "") -> str:
    """The domain as a file of its own, with an edit."""
    assert before in _BOATS
    path = tmp_path / "shop.py"
    path.write_text(_BOATS.replace(before, after), encoding="utf-8")
    return str(path)


def _in_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which loads the domain anew."""
    command = [sys.executable, "-m", "turngap", *arguments]
    there = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=there)


def test_two_versions_of_a_domain_are_not_mixed(tasks: Path, tmp_path: Path) -> None:
    """Edited code: going on is refused and leaves the run as it was; score grades in it, and says what changed."""
    run = str(tmp_path / "run")
    rollout = ("rollout", "--tasks", str(tasks), "--model", "baseline/reference", "-o", run, "--json", "--domain")
    before = _in_process(*rollout, _edited(tmp_path))
    assert before.returncode == 0
    edited = _edited(tmp_path, "date=date)", "date=date, seats=9)")
    again = _in_process(*rollout, edited, "--trials", "2")
    assert again.returncode == 2
    assert "domain.code.shop.py: '" in again.stderr and "name another directory with -o" in again.stderr
    scored = _in_process("score", run, "--json")
    document = json.loads(scored.stdout)
    assert scored.returncode == 1 and document["n"]["trials"] == document["n"]["errored"] == 3
    assert "graded in another version of the domain's code than the trials took place in: shop.py" in document["notes"]
    assert any("move_booking answers" in note for note in document["notes"])
    _edited(tmp_path)
    back = json.loads(_in_process("score", run, "--json").stdout)
    assert {**json.loads(before.stdout), "notes": back["notes"]} == back
    other = _edited(tmp_path, "MARKER-17", "MARKER-18")
    refused = _in_process("score", run)
    assert refused.returncode == 2 and "domain.policy" in refused.stderr and "bring it back" in refused.stderr, other


def test_a_harmless_edit_is_graded_again(tasks: Path, tmp_path: Path) -> None:
    """A domain that answers as it did gives the rewards that it gave, anew, and the edit is named."""
    run = str(tmp_path / "run")
    rollout = ("rollout", "--tasks", str(tasks), "--model", "baseline/reference", "-o", run, "--json", "--domain")
    before = json.loads(_in_process(*rollout, _edited(tmp_path)).stdout)
    _edited(tmp_path, "from __future__", "# A comment.\nfrom __future__")
    scored = _in_process("score", run, "--json")
    after = json.loads(scored.stdout)
    assert scored.returncode == 0 and after["metrics"] == before["metrics"]
    assert "graded in another version" in "".join(after["notes"])
    assert "grade 3/3" in scored.stderr and "0 errored" in scored.stderr


def test_trials_beyond_the_last_wish_are_named(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """A smaller --trials leaves stored trials out of the figures, and says how many."""
    assert _rollout(tasks, tmp_path / "run", "--trials", "3") == 0
    capsys.readouterr()
    assert _rollout(tasks, tmp_path / "run", "--json") == 0
    document = _document(capsys)
    assert document["n"]["trials"] == 3
    assert "6 stored trials are not counted: the run was last asked for with 1 trial a task" in document["notes"]
    assert _rollout(tasks, tmp_path / "run", "--trials", "3", "--json") == 0
    assert "not counted" not in "".join(_document(capsys)["notes"])


def test_a_bad_record_of_the_domain_is_wrong_input(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Exit 2 with the record and the field, like other faults of a domain file, and no run directory."""
    bad = _edited(tmp_path, '"seats": number', '"seats": "two"')
    run = tmp_path / "run"
    command = ["rollout", "--domain", bad, "--tasks", str(tasks), "--model", "baseline/reference", "-o", str(run)]
    assert execute(command) == 2
    assert "the database of domain boats: bookings['BK-1'].seats: Expected `int`, got `str`" in capsys.readouterr().err
    assert not run.exists()


def test_broken_tasks_stop_the_command(tmp_path: Path, capsys: Any) -> None:
    """Exit 2 before anything is made: an unknown tool in the reference, a task of another domain."""
    path = tmp_path / "tasks.json"
    task = boats.task(1)
    typo = msgspec.structs.replace(task.criteria.actions[0], name="move_bookin")
    broken = msgspec.structs.replace(task, criteria=msgspec.structs.replace(task.criteria, actions=(typo,)))
    for bad, saying in (
        (
            broken,
            "[0].evaluation_criteria.actions[0].name: task 'move-1': the agent has no tool 'move_bookin'; did you",
        ),
        (
            msgspec.structs.replace(task, domain="retail"),
            "[0].turngap.domain: task 'move-1' is for the domain 'retail'",
        ),
    ):
        task_files.write(path, [bad])
        assert _rollout(path, tmp_path / "run", model="baseline/nothing") == 2
        assert f"{path}: {saying}" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def test_refused_changes_of_the_reference_are_told(tmp_path: Path, capsys: Any) -> None:
    """Before the first trial and in the summary: how many tasks, which, and what was refused."""
    path = tmp_path / "tasks.json"
    task_files.write(path, [boats.task(1), boats.task(9)])
    assert _rollout(path, tmp_path / "run", "--max-user-errors", "9", "--json", model="baseline/nothing") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    refusal = '{"error":"there is no booking BK-9"}'
    (said,) = (note for note in document["notes"] if "refuses a change" in note)
    assert said.startswith("in 1 task the domain refuses a change") and "move-9 (move_booking(" in said
    assert refusal in said and said in captured.err
    assert captured.err.index(said) < captured.err.index("rollout 2/2")
    assert list(document["findings"]) == ["move-9"] and document["findings"]["move-9"][0].startswith("refused: move_b")


def test_a_wrong_user_leaves_no_run(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Everyone who takes part is built before the directory is made, so the mended command is not refused."""
    assert _rollout(tasks, tmp_path / "run", "--user", "scripted?patience=x") == 2
    assert "patience" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert _rollout(tasks, tmp_path / "run", "--user", "scripted?patience=3") == 0


def test_ids_of_several_lines_break_no_table(tmp_path: Path, capsys: Any) -> None:
    """What a task is called stays within its row, and a note within its line."""
    path = tmp_path / "tasks.json"
    odd = msgspec.structs.replace(boats.task(1), id="first\nsecond", criteria=Criteria(reward_basis=()))
    task_files.write(path, [odd, msgspec.structs.replace(boats.task(2), id="third\nfourth")])
    assert _rollout(path, tmp_path / "run", "--trials", "2", model="baseline/transfer") == 0
    shown = capsys.readouterr()
    (row,) = [line for line in shown.out.splitlines() if "fourth" in line and "0/2" in line]
    assert row.startswith(f"third{SHOWN}fourth")
    (note,) = [line for line in shown.err.splitlines() if "second" in line]
    assert f"first{SHOWN}second (the reward counts nothing" in note


def test_what_is_missing_is_named() -> None:
    """Domain, tasks and model have to be given, each with a hint."""
    for given, saying in (
        ({}, "--domain"),
        ({"domain": "retail"}, "--tasks"),
        ({"domain": "retail", "tasks.path": "t.json"}, "--model"),
    ):
        with pytest.raises(UsageError, match=saying):
            settings.resolve_rollout(None, {}, given)


def test_settings_come_from_file_environment_and_options(tmp_path: Path) -> None:
    """The user's server is that of the environment where no other is named; the file may hold everything."""
    file = tmp_path / "study.toml"
    file.write_text(
        'domain = "retail"\ntrials = 4\n[tasks]\npath = "t.json"\n[model]\nspec = "openai/a"\n'
        '[user]\nspec = "llm/openai/u"\n[audit.user]\nspec = "scripted"\n',
        encoding="utf-8",
    )
    config = settings.resolve_rollout(file, {"OPENAI_BASE_URL": "http://h/v1"}, {"trials": 2})
    assert (config.trials, config.model.base_url, config.user.base_url) == (2, "http://h/v1", "http://h/v1")
    assert config.user.max_tokens == 512 and config.audit is not None and config.audit.share == 0.2
    other = settings.resolve_rollout(file, {"TURNGAP_USER_BASE_URL": "http://u/v1"}, {})
    assert other.user.base_url == "http://u/v1" and other.model.base_url is None


def test_other_commands_say_what_the_run_holds(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """A command on recorded conversations refuses a run of trials in one line, and the gate takes it."""
    assert _rollout(tasks, tmp_path / "run") == 0
    capsys.readouterr()
    assert execute(["gap", str(tmp_path / "run")]) == 2
    assert "holds trials of live tasks (turngap rollout)" in capsys.readouterr().err
    rules = tmp_path / "gate.toml"
    rules.write_text('[[rule]]\nmetric = "pass^1"\nmin = 0.9\n', encoding="utf-8")
    assert execute(["gate", str(tmp_path / "run"), "--rules", str(rules)]) == 0


def test_verified_successes_become_training_conversations(
    tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """Two trials if not given; only rewarded ones are written, with reasoning, reward, task and trial; counts are said."""

    def answer(body: dict[str, Any], _count: int) -> Step:
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        if "BK-2" in said[0]:
            return text("I cannot do that. Is there anything else that I can do for you?")
        booking = "BK-1" if "BK-1" in said[0] else "BK-3"
        steps = (
            text(f"I would move {booking} to 2031-05-02. Shall I go ahead (yes or no)?"),
            Say(
                {**call("move_booking", {"booking_id": booking, "date": "2031-05-02"}).message,
                 "reasoning_content": "They said yes."}, finish="tool_calls",
            ),
            text("It is on 2031-05-02 now. Is there anything else that I can do for you?"),
        )  # fmt: skip
        return steps[sum(message["role"] == "assistant" for message in body["messages"])]

    server = chat_server(answer)
    kept = tmp_path / "kept.jsonl"
    there = ("--base-url", server.url, "--temperature", "0.7", "--json")
    assert _rollout(tasks, tmp_path / "run", *there, "--keep-successful", str(kept), model="openai/m") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["n"]["trials"] == 6
    assert document["kept"]["scenarios"] == {
        "general": {"kept": 4, "valid": 4, "rate": 1.0, "user_errors": 0, "errored": 0},
        "ambiguous": {"kept": 0, "valid": 2, "rate": 0.0, "user_errors": 0, "errored": 0},
    }
    assert "general: 4 of 4 trials kept (100.0%)" in captured.err
    found = list(formats.read(DataConfig(paths=(str(kept),))))
    assert [one.id for one in found] == ["move-1.0", "move-1.1", "move-3.0", "move-3.1"]
    for one in found:
        assert one.reward == one.metadata["reward"] == 1.0 and one.policy == boats.POLICY
        assert one.id == f"{one.metadata['task']}.{one.metadata['trial']}"
        assert [m.reasoning for m in one.messages if isinstance(m, AssistantMessage) and m.calls] == ["They said yes."]


def test_a_stored_run_is_written_without_asking_anybody(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """The same command on a finished run writes its successes, keeps its number of trials; a bad place is found first."""
    assert _rollout(tasks, tmp_path / "run", "--json") == 0
    capsys.readouterr()
    kept = tmp_path / "kept.jsonl"
    assert _rollout(tasks, tmp_path / "run", "--keep-successful", str(kept), "--json") == 0
    assert _document(capsys)["n"]["trials"] == 3
    written = kept.read_text(encoding="utf-8")
    assert len(written.splitlines()) == 3
    assert "###" not in written, "no mark of a simulated user is learnt"
    assert _rollout(tasks, tmp_path / "new", "--keep-successful", str(tmp_path / "no" / "kept.jsonl")) == 2
    assert "there is no folder" in capsys.readouterr().err and not (tmp_path / "new").exists()


def test_a_trial_that_the_user_spoiled_is_not_kept(
    tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """A reward of 1 does not count where the user speaks as the agent would."""
    user = chat_server([text("Thank you for contacting us. Yes."), text("That is all. ###STOP###")])
    kept = tmp_path / "kept.jsonl"
    code = _rollout(
        tasks, tmp_path / "run", "--limit", "1", "--trials", "1", "--user", "llm/openai/u", "--user-base-url", user.url,
        "--keep-successful", str(kept), "--json",
    )  # fmt: skip
    assert code == 1
    document = _document(capsys)
    assert document["kept"]["scenarios"]["general"] == {
        "kept": 0, "valid": 0, "rate": None, "user_errors": 1, "errored": 0,
    }  # fmt: skip
    assert kept.read_text(encoding="utf-8") == ""


def test_recoveries_become_training_conversations(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Corrections and recoveries in a file that reads back, counts in both outputs, and a caveat before the figures."""
    kept, model = tmp_path / "r.jsonl", "corrected/baseline/noisy?p_tool=0&p_text=1"
    assert _rollout(tasks, tmp_path / "run", "--keep-recoveries", str(kept), "--json", model=model) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["n"]["trials"] == 3, "one trial of each task, as without"
    assert document["recoveries"] == {"file": str(kept), "trials": 3, "differed": 3, "recovered": 3}
    assert f"corrections 3, recoveries 3, of 3 trials: {kept}" in captured.err
    found = list(formats.read(DataConfig(paths=(str(kept),))))
    assert sorted(one.id for one in found) == sorted(
        f"move-{task}.0.{kind}" for task in (1, 2, 3) for kind in ("corrected", "recovered")
    )
    assert document["caveat"] == document["notes"][0]
    assert document["caveat"].startswith("the reference agent took over: in 3 of 3 trials a decision of the model was")
    assert execute(["score", str(tmp_path / "run")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.index("this says nothing about the model alone") < shown.index("pass^1")


@pytest.mark.parametrize(
    ("model", "told"),
    [("openai/m", True), ("corrected/openai/m", True), ("corrected/baseline/reference", False)],
)
def test_copies_are_expected_of_models_that_are_asked(
    tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any, model: str, told: bool
) -> None:
    """At temperature 0, of a server's model, corrected or not; a baseline has dice of its own for each trial."""
    server = chat_server(lambda *_: text("Is there anything else that I can do for you?"))
    there = ("--base-url", server.url, "--trials", "2", "--json", "--max-user-errors", "9")
    assert _rollout(tasks, tmp_path / "run", *there, model=model) == 0
    notes = " ".join(_document(capsys)["notes"])
    assert ("trials of a task tend to be copies" in notes) is told
