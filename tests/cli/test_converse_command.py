"""`turngap converse` from the outside: offline, with models behind a scripted server, what goes wrong, and resuming."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import boats
import pytest
from chatserver import ChatServer, Say, Status, Step, call, text

from turngap import formats
from turngap.cli.main import execute
from turngap.config import DataConfig
from turngap.data import Conversation
from turngap.data.task import Scenario
from turngap.domains.retail.generate import Sizes, generate
from turngap.formats import tasks as task_files

Start = Callable[..., ChatServer]
_DOMAIN = str(Path(boats.__file__))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Three tasks of two scenarios, as a file."""
    path = tmp_path / "tasks.json"
    task_files.write(path, [boats.task(1), boats.task(2, scenario=Scenario.AMBIGUOUS), boats.task(3)])
    return path


def _converse(out: Path, *more: str, n: int = 3) -> int:
    return execute(["converse", "-o", str(out), "-n", str(n), *more])


def _read(file: Path) -> list[Conversation]:
    return list(formats.read(DataConfig(paths=(str(file),))))


def _document(captured: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(captured.readouterr().out)
    return found


def _losses(document: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {one["stage"]: one["losses"] for one in document["funnel"] if one["losses"]}


# --- offline ---------------------------------------------------------------------------------------------------------


def test_everyone_is_there_before_a_task_is_made(tmp_path: Path, capsys: Any) -> None:
    """A judge by a name that nobody goes by is refused before the synthesis, which may take long, begins."""
    assert _converse(tmp_path / "out", "--domain", _DOMAIN, "--judge", "nope") == 2
    assert "'nope'" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("**/synth.sqlite"))


def test_a_file_is_no_directory(tmp_path: Path, capsys: Any) -> None:
    """It is said to be a file, and left as it is."""
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert _converse(tmp_path / "out", "--domain", _DOMAIN) == 2
    assert "is a file; name a directory with -o" in capsys.readouterr().err
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_without_a_model_all_is_made_and_approved(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Reference agent, scripted user, two offline judges; the account is one document; what is kept evaluates to 1.0."""
    out = tmp_path / "out"
    assert _converse(out, "--domain", _DOMAIN, "--tasks", str(tasks), "--json") == 0
    document = _document(capsys)
    assert document["begun"] == document["kept"] == 3 and document["unfinished"] == 0
    assert document["scenarios"] == {"general": [2, 2], "ambiguous": [1, 1]}
    assert [(one["judge"], one["approved"]) for one in document["judges"]] == [("reward", 3), ("rules", 3)]
    assert document["agreement"]["observed"] == 1.0 and document["agreement"]["kappa"] is None
    found = _read(out / "conversations.jsonl")
    assert [one.id for one in found] == ["move-1", "move-2", "move-3"]
    assert all(one.reward == 1.0 and one.policy == boats.POLICY and len(one.tools) == 4 for one in found)
    assert [one["decision"] for one in found[0].metadata["judges"]] == ["approved", "approved"]
    assert found[0].metadata["situation"]["expected_operations"][0]["tool"] == "move_booking"
    assert (out / "left_out.jsonl").read_text(encoding="utf-8") == ""
    assert json.loads((out / "account.json").read_text(encoding="utf-8"))["kept"] == 3
    files = (str(out / "conversations.jsonl"), "--model", "baseline/reference", "-o", str(tmp_path / "run"), "--json")
    assert execute(["eval", *files]) == 0
    metrics = _document(capsys)["metrics"]
    names = ("text.rouge1", "turn.success", "strict.exact", "replay.completed.all", "workflow.success.all")
    assert {name: metrics[name]["value"] for name in names} == dict.fromkeys(names, 1.0)


@pytest.mark.slow
def test_scenarios_are_synthesised_where_no_tasks_are_given(tmp_path: Path, capsys: Any) -> None:
    """From the domain alone, in all four scenarios in turn; the same seed says the same, and -n can grow."""
    database = generate(5, Sizes(categories=25, users=30, orders=120))
    (tmp_path / "db.json").write_text(json.dumps(database.tables()), encoding="utf-8")
    where = ("--domain", f"retail?db={tmp_path / 'db.json'}", "--seed", "3")
    assert _converse(tmp_path / "one", *where, n=4) == 0
    capsys.readouterr()
    first = _read(tmp_path / "one" / "conversations.jsonl")
    assert {one.metadata["scenario"] for one in first} == {"general", "ambiguous", "changing", "infeasible"}
    assert _converse(tmp_path / "one", *where, n=6) == 0
    assert _converse(tmp_path / "two", *where, "--concurrency", "1", n=6) == 0
    grown, other = (_read(tmp_path / name / "conversations.jsonl") for name in ("one", "two"))
    assert [(one.id, one.messages) for one in grown] == [(one.id, one.messages) for one in other]
    assert len(grown) == 6 and grown[:4] == first


def test_repeating_the_command_asks_nobody_again(tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any) -> None:
    """The second time everything comes from the store; another judge is asked about the same conversations."""
    server = chat_server(_agent)
    common = ("--domain", _DOMAIN, "--tasks", str(tasks), "--model", "openai/a", "--base-url", server.url, "--json")
    assert _converse(tmp_path / "out", *common) == 0
    first, asked = _document(capsys), len(server.requests)
    assert asked == 9
    assert _converse(tmp_path / "out", *common) == 0
    assert _document(capsys) == first and len(server.requests) == asked
    assert _converse(tmp_path / "out", *common, "--judge", "rules") == 0
    assert [one["judge"] for one in _document(capsys)["judges"]] == ["rules"] and len(server.requests) == asked
    assert _converse(tmp_path / "out", *common, "--seed", "9") == 2
    assert "seed: 9 asked for, 0 stored" in capsys.readouterr().err


def test_syn_01_what_was_said_before_is_kept_once(tmp_path: Path, capsys: Any) -> None:
    """SYN-01: of conversations with the same messages the first is kept, and the others are counted."""
    path = tmp_path / "tasks.json"
    twin = task_files.plain(boats.task(1)) | {"id": "twin"}
    path.write_text(json.dumps([task_files.plain(boats.task(1)), twin]), encoding="utf-8")
    assert _converse(tmp_path / "out", "--domain", _DOMAIN, "--tasks", str(path), "--json", n=2) == 0
    document = _document(capsys)
    assert document["kept"] == 1 and _losses(document) == {"repeat": {"says the same as an earlier one": 1}}
    assert [one.id for one in _read(tmp_path / "out" / "left_out.jsonl")] == ["twin"]


def test_an_agent_that_errs_is_left_out_with_the_reasons(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Nothing kept: exit 1; every loss has its reason, and the funnel adds up."""
    noisy = ("--model", "baseline/noisy?p_tool=0&p_text=1&seed=1")
    assert _converse(tmp_path / "out", "--domain", _DOMAIN, "--tasks", str(tasks), *noisy, "--json") == 1
    document = _document(capsys)
    assert document["kept"] == 0 and _losses(document) == {"judge 1": {"DB does not hold": 3}}
    left = _read(tmp_path / "out" / "left_out.jsonl")
    assert [one.metadata["lost"] for one in left] == ["judge 1: DB does not hold"] * 3
    assert any("invalid call" in reason for reason in left[0].metadata["judges"][1]["reasons"])
    assert left[0].reward is None


def test_a_task_that_counts_sentences_is_passed_over_by_judge_reward(tmp_path: Path, capsys: Any) -> None:
    """It is said how many; without that judge such tasks are talked about."""
    path = tmp_path / "tasks.json"
    words = task_files.plain(boats.task(2))
    words["evaluation_criteria"] |= {"nl_assertions": ["The agent is kind."], "reward_basis": ["NL_ASSERTION"]}
    path.write_text(json.dumps([task_files.plain(boats.task(1)), words]), encoding="utf-8")
    common = ("--domain", _DOMAIN, "--tasks", str(path), "--json")
    assert _converse(tmp_path / "both", *common, n=1) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["begun"] == 1 and "1 of 2 tasks are passed over" in captured.err
    assert _converse(tmp_path / "rules", *common, "--judge", "rules", n=2) == 0
    assert _document(capsys)["kept"] == 2


def test_fewer_scenarios_than_asked_for_are_said(tasks: Path, tmp_path: Path, capsys: Any) -> None:
    """Exit 1 with the number; what there is was made."""
    assert _converse(tmp_path / "out", "--domain", _DOMAIN, "--tasks", str(tasks), n=5) == 1
    assert "for 3 conversations only, not for 5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "take place in --domain D, or with --tools"),
        (("--domain", "retail", "--tools", "t.json"), "take place in --domain D, or with --tools"),
        (("--tools", "t.json"), "--tools takes --policy FILE, a --simulator and a --writer"),
        (("--domain", "retail", "--simulator", "openai/s"), "go with --tools"),
        (("--domain", "retail", "--writer", "openai/w", "--tasks", "t.json"), "not both"),
        (("--domain", "retail", "--scenario", "odd"), "unknown scenario odd"),
        (("--domain", "retail", "--judge", "nobody/x"), "unknown model 'nobody'"),
        (("--domain", _DOMAIN, "--tasks", "gone.json"), "gone.json"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_at_once(
    options: Sequence[str], said: str, tmp_path: Path, tasks: Path, capsys: Any
) -> None:
    """Exit 2 with one line, before anything is made."""
    given = list(options)
    if "nobody/x" in given:
        given[1:2] = [_DOMAIN, "--tasks", str(tasks)]
    assert _converse(tmp_path / "out", *given) == 2
    err = capsys.readouterr().err.strip()
    assert said in err and len(err.splitlines()) == 1


def test_an_interrupted_command_goes_on(tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any) -> None:
    """RUN-09: exit 130 in the middle of a talk; the same command finishes it and repeats no answer that it had."""
    slow = True

    def answer(body: dict[str, Any], count: int) -> Step:
        step = _agent(body, count)
        return Say(step.message, step.finish, delay=30.0) if slow and count >= 4 else step

    server = chat_server(answer)
    options = [
        "converse", "-o", str(tmp_path / "out"), "-n", "3", "--domain", _DOMAIN, "--tasks", str(tasks),
        "--model", "openai/a", "--base-url", server.url, "--concurrency", "1",
    ]  # fmt: skip
    program = subprocess.Popen(
        [sys.executable, "-m", "turngap", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(200):
        if len(server.requests) >= 5:
            break
        try:
            program.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=30)
    assert program.returncode == 130 and "resume with: turngap converse" in err
    slow = False
    before = len(server.requests)
    assert execute([*options, "--json"]) == 0
    assert _document(capsys)["kept"] == 3
    assert len(server.requests) - before == 9 - 4


# --- with models -----------------------------------------------------------------------------------------------------


def _agent(body: dict[str, Any], _count: int) -> Say:
    """An agent at the boat-hire desk that reads the booking out of what it was told."""
    told = " ".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
    booking = next(f"BK-{number}" for number in (1, 2, 3) if f"BK-{number}" in told)
    steps = (
        text(f"I would move {booking} to 2031-05-02. Shall I go ahead (yes or no)?"),
        call("move_booking", {"booking_id": booking, "date": "2031-05-02"}),
        text("It is on 2031-05-02 now. Is there anything else that I can do for you?"),
    )
    return steps[min(sum(message["role"] == "assistant" for message in body["messages"]), 2)]


def _role(body: dict[str, Any]) -> str:
    """Who is asked, by the instructions."""
    system = str(body["messages"][0]["content"])
    for role, words in (
        ("writer", "You write scenarios"),
        ("simulator", "You stand in for the tools"),
        ("judge", "You decide whether a conversation"),
        ("user", "You play a customer"),
    ):
        if system.startswith(words):
            return role
    return "agent"


SCENARIO = {
    "objective": "You want to move booking BK-1 to 2031-05-02, since you are away on the day before.",
    "persona": "Calm.",
    "initial_state": ["booking BK-1 is on 2031-04-30"],
    "desired_state": ["booking BK-1 is on 2031-05-02"],
    "knows": {"booking_id": "BK-1", "date": "2031-05-02"},
    "opening": "Hello, I would like to move booking BK-1 to 2031-05-02.",
    "expected": [{"tool": "move_booking", "arguments": {"booking_id": "BK-1", "date": "2031-05-02"}}],
    "criteria": ["the agent says that the booking is on 2031-05-02"],
}


class Cast:
    """Plays every role well; a test replaces a role."""

    def __init__(self, **roles: Callable[[dict[str, Any], int], Step]) -> None:
        self.asked: dict[str, list[dict[str, Any]]] = {}
        self._roles = roles

    def __call__(self, body: dict[str, Any], _count: int) -> Step:
        role = _role(body)
        before = self.asked.setdefault(role, [])
        before.append(body)
        if role in self._roles:
            return self._roles[role](body, len(before) - 1)
        if role == "writer":
            return text(f"Here it is:\n```json\n{json.dumps(SCENARIO)}\n```")
        if role == "simulator":
            return text(json.dumps({"tool": "move_booking", "result": {"date": "2031-05-02", "seats": 2}}))
        if role == "judge":
            return text('{"decision": "APPROVE", "reasons": ["all is well"]}')
        if role == "user":
            said = sum(message["role"] == "assistant" for message in body["messages"])
            return text("Yes, please go on with it." if said == 1 else "Thank you, that was all. ###STOP###")
        return _agent(body, 0)


@pytest.fixture
def desk(tmp_path: Path) -> tuple[str, ...]:
    """The boat-hire desk without its code: tools and a policy as files, and a model for everybody."""
    specs = [
        {"name": tool.spec.name, "description": tool.spec.description, "parameters": tool.spec.parameters}
        for tool in boats.DOMAIN.tools
    ]
    (tmp_path / "tools.json").write_text(json.dumps(specs), encoding="utf-8")
    (tmp_path / "policy.md").write_text(boats.POLICY, encoding="utf-8")
    models = ("--writer", "openai/w", "--model", "openai/a", "--user", "llm/openai/u", "--simulator", "openai/s")
    judges = ("--judge", "openai/j1", "--judge", "openai/j2", "--scenario", "general")
    return ("--tools", str(tmp_path / "tools.json"), "--policy", str(tmp_path / "policy.md"), *models, *judges)


def _asked(cast: Cast, desk: tuple[str, ...], out: Path, start: Start, *more: str, n: int = 1) -> int:
    return _converse(out, *desk, "--base-url", start(cast).url, "--json", *more, n=n)


def test_from_schemas_alone_five_models_make_a_conversation(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """Writer, agent, user, simulator and two judges, each asked apart; what is kept reads back and evaluates to 1.0."""
    cast = Cast()
    assert _asked(cast, desk, tmp_path / "out", chat_server) == 0
    document = _document(capsys)
    assert document["kept"] == 1 and [one["judge"] for one in document["judges"]] == ["openai/j1", "openai/j2"]
    assert set(document["usage"]) == {"writer", "agent", "user", "simulator", "judge openai/j1", "judge openai/j2"}
    (found,) = _read(tmp_path / "out" / "conversations.jsonl")
    assert [str(message.__struct_config__.tag) for message in found.messages] == [
        "user", "assistant", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert found.messages[4].content == '{"date":"2031-05-02","seats":2}' and found.reward is None
    assert found.metadata["by"] == {
        "model": "openai/a", "user": "llm/openai/u", "writer": "openai/w", "simulator": "openai/s",
    }  # fmt: skip
    files = (str(tmp_path / "out" / "conversations.jsonl"), "--model", "baseline/reference", "-o", str(tmp_path / "r"))
    assert execute(["eval", *files, "--json"]) == 0
    assert _document(capsys)["metrics"]["workflow.success.all"]["value"] == 1.0


def test_each_role_is_told_all_that_it_needs_and_no_more(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """Policy, tools, scenario and transcript are in the prompts; what is data is fenced; the user learns of no tools."""
    cast = Cast(
        agent=lambda body, _: Say({**_agent(body, 0).message, "reasoning_content": "SECRET"}, _agent(body, 0).finish)
    )
    assert _asked(cast, desk, tmp_path / "out", chat_server) == 0
    told = {role: json.dumps(bodies, ensure_ascii=False) for role, bodies in cast.asked.items()}
    for role in ("writer", "judge", "agent"):
        assert "MARKER-17" in told[role], role
    for role in ("writer", "judge", "simulator"):
        assert all(tool.name in told[role] for tool in boats.DOMAIN.tools), role
        assert "BEGIN DATA" in told[role] and "never an instruction" in told[role]
    assert "kind" in told["writer"] and "tools_to_turn_on" in told["writer"]
    for words in (*SCENARIO["criteria"], *SCENARIO["initial_state"], *SCENARIO["desired_state"]):
        assert words in told["judge"], words
    for words in (SCENARIO["objective"], SCENARIO["opening"], "Yes, please go on with it.", "It is on 2031-05-02 now."):
        assert words in told["judge"], words
    assert '\\\\\\"seats\\\\\\":2' in told["judge"] and "move_booking" in told["judge"]
    assert SCENARIO["initial_state"][0] in told["simulator"] and SCENARIO["objective"] in told["user"]
    assert "move_booking" not in told["user"] and "MARKER-17" not in told["user"]
    assert "SECRET" not in told["judge"] + told["user"] + told["simulator"]
    assert all(body["temperature"] == 0 for body in cast.asked["judge"])


def test_a_writer_that_writes_no_json_is_asked_again_and_then_lost(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """Malformed JSON, a missing part and an unknown tool alike; a second reply that is right is taken."""
    bad = (
        '{"objective": "You want',
        json.dumps({**SCENARIO, "expected": [{"tool": "fly_away"}]}),
        '{"objective": "x"}',
    )
    for number, words in enumerate(bad):
        cast = Cast(writer=lambda _, __, words=words: text(words))
        assert _asked(cast, desk, tmp_path / f"out{number}", chat_server) == 1
        document = _document(capsys)
        assert _losses(document) == {"scenario": {"no readable scenario": 1}} and len(cast.asked["writer"]) == 2
        assert "could not be used" in cast.asked["writer"][1]["messages"][-1]["content"]
    mended = Cast(writer=lambda _, count: text(bad[0] if count == 0 else json.dumps(SCENARIO)))
    assert _asked(mended, desk, tmp_path / "out", chat_server) == 0


def test_a_simulator_that_answers_for_another_tool_is_asked_again_and_then_lost(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """An invented tool, malformed JSON, or both result and error: no answer of a tool."""
    good = json.dumps({"tool": "move_booking", "error": "the desk is closed"})
    bad = ('{"tool": "teleport_boat", "result": 1}', '{"tool": "move_booking", "result"', '{"tool": "move_booking"}')
    for number, words in enumerate(bad):
        cast = Cast(simulator=lambda _, __, words=words: text(words))
        assert _asked(cast, desk, tmp_path / f"out{number}", chat_server) == 1
        assert _losses(_document(capsys)) == {"talk": {"simulator unreadable": 1}}
        assert len(cast.asked["simulator"]) == 2 and "judge" not in cast.asked
    mended = Cast(simulator=lambda _, count: text(bad[0] if count == 0 else good))
    assert _asked(mended, desk, tmp_path / "out", chat_server) == 0
    (found,) = _read(tmp_path / "out" / "conversations.jsonl")
    assert found.messages[4].error and "closed" in found.messages[4].content


def test_a_call_of_an_unknown_tool_never_reaches_the_simulator(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """The agent reads that there is no such tool; `rules` would reject the conversation, the models need not."""
    cast = Cast(
        agent=lambda body, count: call("teleport_boat", {}) if count == 0 else text("Sorry. Is there anything else?"),
        user=lambda _, __: text("Never mind, then. ###STOP###"),
    )
    assert _asked(cast, desk, tmp_path / "out", chat_server, "--judge", "rules") == 1
    assert _losses(_document(capsys)) == {"judge 3": {"invalid call": 1}}
    assert "simulator" not in cast.asked


def test_one_judge_that_rejects_is_enough(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """JDG-09: both are asked whatever the other says, and both have to approve; the reasons are kept."""
    said = '{"decision": "REJECT", "reasons": ["moved without looking it up", "too hasty"]}'
    cast = Cast(judge=lambda body, _: text(said if body["model"] == "j2" else '{"decision": "approve", "reasons": []}'))
    assert _asked(cast, desk, tmp_path / "out", chat_server) == 1
    document = _document(capsys)
    assert _losses(document) == {"judge 2": {"rejected": 1}}
    assert [(one["approved"], one["rejected"], one["errored"]) for one in document["judges"]] == [(1, 0, 0), (0, 1, 0)]
    assert document["agreement"]["observed"] == 0.0
    (left,) = _read(tmp_path / "out" / "left_out.jsonl")
    assert left.metadata["judges"][1]["reasons"] == ["moved without looking it up", "too hasty"]


def test_jdg_09_a_judge_that_cannot_be_read_has_neither_approved_nor_rejected(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """JDG-09: re-asked once, then errored, exit 1; asking twice is counted beside the pass rates."""
    cast = Cast(judge=lambda body, _: text("Looks fine to me." if body["model"] == "j1" else '{"decision": "APPROVE"}'))
    assert _asked(cast, desk, tmp_path / "out", chat_server) == 1
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert _losses(document) == {"judge 1": {"errored: no decision": 1}}
    assert [(one["approved"], one["rejected"], one["errored"]) for one in document["judges"]] == [(0, 0, 1), (1, 0, 0)]
    assert "1 conversations could not be finished" in captured.err
    assert sum(body["model"] == "j1" for body in cast.asked["judge"]) == 2
    (left,) = _read(tmp_path / "out" / "left_out.jsonl")
    assert left.metadata["judges"][0]["decision"] == "errored"

    second = Cast(
        judge=lambda body, _: text('{"decision": "APPROVE"}' if "could not be used" in str(body) else "Hm, well.")
    )
    assert _asked(second, desk, tmp_path / "other", chat_server) == 0
    twice = _document(capsys)["judges"]
    assert [(one["asked_twice"], one["approved_asked_once"], one["approved_asked_twice"]) for one in twice] == [
        (1, None, 1.0)
    ] * 2


def test_a_judge_whose_server_fails_is_asked_again_by_the_same_command(
    desk: tuple[str, ...], tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """STA-02: errored and said; nobody talks again when it is back."""
    down = True
    cast = Cast(
        judge=lambda _, __: Status(400, '{"error": {"message": "no"}}') if down else text('{"decision": "APPROVE"}')
    )
    server = chat_server(cast)
    options = (*desk, "--base-url", server.url, "--give-up-after", "0.1", "--json")
    assert _converse(tmp_path / "out", *options, n=1) == 1
    assert _document(capsys)["judges"][0]["errored"] == 1
    down = False
    talked = len(cast.asked["agent"])
    assert _converse(tmp_path / "out", *options, n=1) == 0
    assert _document(capsys)["kept"] == 1 and len(cast.asked["agent"]) == talked


def test_a_user_who_breaks_character_is_caught_by_the_rules(
    tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """A model that plays the user and speaks as the agent: rejected for the user's fault, whatever the reward."""
    cast = Cast(
        user=lambda body, _: text(
            "Yes. Thank you for contacting us, how can I help you?"
            if sum(message["role"] == "assistant" for message in body["messages"]) == 1
            else "That is all. ###STOP###"
        )
    )
    server = chat_server(cast)
    options = ("--domain", _DOMAIN, "--tasks", str(tasks), "--user", "llm/openai/u", "--base-url", server.url, "--json")
    assert _converse(tmp_path / "out", *options, n=1) == 1
    document = _document(capsys)
    assert _losses(document) == {"judge 2": {"user fault": 1}}
    assert [one["approved"] for one in document["judges"]] == [1, 0]


def test_a_user_who_says_nothing_loses_the_conversation(
    tasks: Path, tmp_path: Path, chat_server: Start, capsys: Any
) -> None:
    """Nobody judges what a silent user left."""
    server = chat_server(Cast(user=lambda _, __: text("")))
    options = ("--domain", _DOMAIN, "--tasks", str(tasks), "--user", "llm/openai/u", "--base-url", server.url, "--json")
    assert _converse(tmp_path / "out", *options, n=1) == 1
    assert _losses(_document(capsys)) == {"talk": {"the user said nothing": 1}}


def test_a_scenario_that_the_domain_refuses_is_lost(tmp_path: Path, chat_server: Start, capsys: Any) -> None:
    """SYN-04: what a model expects is carried out before anybody talks; what holds has a reward like any task."""
    wrong = {
        **SCENARIO,
        "expected": [{"tool": "move_booking", "arguments": {"booking_id": "BK-9", "date": "2031-05-02"}}],
    }
    common = ("--domain", _DOMAIN, "--writer", "openai/w", "--scenario", "general", "--json")
    bad = chat_server(Cast(writer=lambda _, __: text(json.dumps(wrong))))
    assert _converse(tmp_path / "bad", *common, "--base-url", bad.url, n=1) == 1
    assert _losses(_document(capsys)) == {"scenario": {"an expected operation is refused": 1}}
    cast = Cast()
    assert _converse(tmp_path / "good", *common, "--base-url", chat_server(cast).url, n=1) == 0
    assert _document(capsys)["kept"] == 1
    assert "BK-" in json.dumps(cast.asked["writer"][0])
