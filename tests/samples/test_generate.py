"""The packaged sample conversations and the generator that makes them."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turngap import samples
from turngap.config import DataConfig
from turngap.data import Conversation, check, decisions, requires_tools
from turngap.formats import read
from turngap.samples.desk import POLICY, TOOLS
from turngap.samples.generate import conversations, main, text
from turngap.samples.shop import Shop


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """The packaged records as JSON."""
    return [json.loads(line) for line in samples.path().read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def packaged() -> list[Conversation]:
    """The packaged conversations as turngap reads them."""
    reading = read(DataConfig(paths=(str(samples.path()),)))
    found = list(reading)
    assert reading.n_skipped == 0
    assert reading.oddities == []
    return found


def _calls(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, arguments and recorded result of each call."""
    messages = record["messages"]
    for place, message in enumerate(messages):
        for offset, call in enumerate(message.get("tool_calls") or (), start=1):
            result = messages[place + offset]
            assert result["tool_call_id"] == call["id"]
            function = call["function"]
            yield function["name"], json.loads(function["arguments"]), result["content"]


def test_the_generator_reproduces_the_packaged_file(tmp_path: Path) -> None:
    """The command that the documentation names writes the packaged file, byte for byte."""
    target = tmp_path / "made.jsonl"
    assert main(["--seed", str(samples.SEED), "-n", str(samples.COUNT), "-o", str(target)]) == 0
    assert target.read_bytes() == samples.path().read_bytes()


def test_another_seed_makes_other_conversations() -> None:
    """The seed decides names, orders and wordings; a shorter file is the beginning of a longer one."""
    assert text(seed=3, n=4) != text(seed=4, n=4)
    assert text(seed=3, n=6).startswith(text(seed=3, n=4))


def test_more_than_all_recipes_goes_round_again() -> None:
    """Beyond the number of recipes their courses come again with other people and words."""
    made = list(conversations(seed=7, n=samples.COUNT + 2))
    assert made[samples.COUNT]["metadata"]["course"] == made[0]["metadata"]["course"]
    assert made[samples.COUNT]["messages"][1:] != made[0]["messages"][1:]


def test_a_seed_without_a_fitting_customer_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the shop of a seed has nobody for a recipe, the command says so and fails."""
    seeds = iter(range(8, 200))  # seed 8 is the first one
    code = 0
    while code == 0:
        code = main(["--seed", str(next(seeds)), "-n", "48", "-o", str(tmp_path / "x.jsonl")])
    assert code == 2
    assert "take another --seed" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that does not exist is an error message, not a traceback."""
    assert main(["-n", "1", "-o", str(tmp_path / "absent" / "x.jsonl")]) == 2
    assert "cannot be written: No such file" in capsys.readouterr().err


def test_results_are_those_of_a_fresh_shop(records: list[dict[str, Any]]) -> None:
    """Running a conversation's calls on a new shop gives the recorded results, so that state carries through."""
    for record in records:
        shop = Shop(record["metadata"]["shop_seed"])
        for name, arguments, result in _calls(record):
            assert shop.call(name, arguments) == result, record["id"]


def test_results_depend_on_what_was_done_before(records: list[dict[str, Any]]) -> None:
    """Calls that write change the shop: afterwards the same call again gives another result than before."""
    checked = 0
    for record in records:
        shop = Shop(record["metadata"]["shop_seed"])
        for name, arguments, result in _calls(record):
            before = shop.call("get_order", {"order_id": arguments["order_id"]}) if "order_id" in arguments else ""
            assert shop.call(name, arguments) == result
            if before and name != "get_order" and not result.startswith('{"error"'):
                assert shop.call("get_order", {"order_id": arguments["order_id"]}) != before
                checked += 1
    assert checked >= 20


def test_size_and_shape(packaged: list[Conversation]) -> None:
    """48 conversations, 41 of them tool-requiring, of 2 to 18 decisions with a median of 6 to 7, in under 600 KB."""
    lengths = [len(list(decisions(conversation))) for conversation in packaged]
    tools = sum(requires_tools(conversation) for conversation in packaged)
    assert (len(packaged), tools) == (48, 41)
    assert min(lengths) >= 2
    assert max(lengths) <= 18
    assert 6 <= statistics.median(lengths) <= 7
    assert samples.path().stat().st_size < 600_000


def test_they_are_sound_and_rewarded(packaged: list[Conversation]) -> None:
    """Each obeys the invariants of a conversation, has a goal, and is marked as a success."""
    for conversation in packaged:
        assert check(conversation) is None
        assert conversation.goal
        assert conversation.reward == 1
    assert len({conversation.id for conversation in packaged}) == len(packaged)


def test_calls_follow_the_schemas(records: list[dict[str, Any]]) -> None:
    """Only the desk's tools are called, with required arguments, known names and values of enums; all tools occur."""
    specs = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    used = set()
    for record in records:
        for name, arguments, _ in _calls(record):
            used.add(name)
            assert set(specs[name]["required"]) <= set(arguments) <= set(specs[name]["properties"])
            for key, value in arguments.items():
                assert value in specs[name]["properties"][key].get("enum", [value])
    assert used == set(specs)


def test_the_variety_that_is_promised(records: list[dict[str, Any]]) -> None:
    """Errors that are recovered from, parallel calls, transfers, optional arguments and letters outside ASCII occur."""
    errors = [call for record in records for call in _calls(record) if call[2].startswith('{"error"')]
    parallel = [m for record in records for m in record["messages"] if len(m.get("tool_calls") or ()) > 1]
    transfers = [call for record in records for call in _calls(record) if call[0] == "transfer_to_human"]
    optional = [call for record in records for call in _calls(record) if {"save", "refund_to"} & set(call[1])]
    accents = [record for record in records if not json.dumps(record["messages"][1:], ensure_ascii=False).isascii()]
    assert {name for name, _, _ in errors} >= {"find_customer_by_email", "get_order", "return_items"}
    assert min(len(parallel), len(transfers), len(optional), len(accents)) >= 3


def test_texts_differ(records: list[dict[str, Any]]) -> None:
    """Customers do not all say the same: opening words are unique but for the shortest questions."""
    openings = [record["messages"][1]["content"] for record in records]
    assert len(set(openings)) >= len(openings) - 2


def test_policy_and_tools_fit_a_small_context() -> None:
    """Policy and tools stay below 3,600 characters, about 1,000 tokens of a small model's vocabulary."""
    assert len(POLICY) + sum(len(json.dumps(tool["function"])) for tool in TOOLS) < 3_600


def test_no_template_field_is_left_over(records: list[dict[str, Any]]) -> None:
    """No text shows a brace, a double space or a doubled stop."""
    for record in records:
        for message in record["messages"][1:]:
            if message["role"] != "tool" and message["content"]:
                assert not re.search(r"[{}]|  |\.\.(?!\.)(?<!\.\.\.)|^\s|\s$", message["content"]), message["content"]


def test_no_real_mail_address(records: list[dict[str, Any]]) -> None:
    """Every mail address is of a domain reserved for examples."""
    for record in records:
        for domain in re.findall(r"@([\w.-]+\w)", json.dumps(record)):
            assert domain in ("example.com", "example.org", "example.net")
