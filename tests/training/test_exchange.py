"""Sets as files: what is written reads back, other libraries read it as it is, and none of them puts nulls into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytokens import family
from trainingsets import sources

from turngap import jsonio
from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, ToolSpec
from turngap.errors import DataError, StoreError
from turngap.training import exchange
from turngap.training.example import Example
from turngap.training.exchange import Manifest, conversations, read, record, write
from turngap.training.making import MIXES, ExampleSet, Options, make


def _written(directory: Path, made: ExampleSet, options: Options) -> Manifest:
    return write(directory, made, Manifest(options=options, sources=("a.jsonl",), counts=made.counts()))


@pytest.fixture
def made(boat_conversation: Conversation) -> ExampleSet:
    """Four examples to train on."""
    return make([boat_conversation], Options(validation=0), source="boats.jsonl")


@settings(max_examples=25, deadline=None)
@given(sources(), st.sampled_from(MIXES), st.booleans())
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, found: list[Conversation], mix: Any, reasoning: bool
) -> None:
    """Examples, conversations, counts and digest are those that were written, whatever the mix; twice, the same bytes."""
    options = Options(validation=0.2, evaluation=0.2, mix=mix, reasoning=reasoning)
    folder = tmp_path_factory.mktemp("sets")
    made = make(found, options)
    manifest = _written(folder / "one", made, options)
    again, examples = read(folder / "one")
    assert again == manifest
    for split in exchange.SPLITS:
        assert tuple(examples[split]) == made.of(split)
        kept = [msgspec.structs.replace(one, source=wanted.source) for one, wanted in zip(conversations(folder / "one", split), made.conversations[split], strict=True)]  # fmt: skip
        assert tuple(kept) == made.conversations[split]
    _written(folder / "two", made, options)
    for path in (folder / "one").iterdir():
        assert path.read_bytes() == (folder / "two" / path.name).read_bytes()


def test_all_parts_of_a_message_come_back(tmp_path: Path, boat_conversation: Conversation) -> None:
    """Reasoning (in the context too), errors, missing results and odd names of tools survive the file."""
    call = ToolCall(
        name="desk.get/booking", arguments={"booking_id": "BK-1042", "n": None, "deep": {"x": [1, 2.5, True]}}
    )
    odd = msgspec.structs.replace(
        boat_conversation,
        tools=(*boat_conversation.tools, ToolSpec(name="desk.get/booking")),
        messages=(
            boat_conversation.messages[0],
            AssistantMessage(calls=(call,), content="One moment.", reasoning="First I look."),
            ToolMessage(name="desk.get/booking", content="no such booking", error=True),
            AssistantMessage(content="It is not there.", reasoning="So it is."),
        ),
    )
    options = Options(validation=0, reasoning=True)
    made = make([odd], options)
    _written(tmp_path / "set", made, options)
    assert tuple(read(tmp_path / "set")[1]["train"]) == made.train


def test_a_set_replaces_a_set_and_nothing_else(tmp_path: Path, made: ExampleSet) -> None:
    """Written again it takes the old one's place; a folder with other content is refused and left alone."""
    target = tmp_path / "set"
    _written(target, made, Options())
    (target / "stray.txt").write_text("x", encoding="utf-8")
    _written(target, made, Options())
    assert not (target / "stray.txt").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="name another directory"):
        _written(other, made, Options())
    assert [path.name for path in other.iterdir()] == ["mine.txt"]


def test_a_broken_line_is_named(tmp_path: Path, made: ExampleSet) -> None:
    """A line that is no example is an error with file and line; so is a folder that is no set."""
    _written(tmp_path / "set", made, Options())
    path = tmp_path / "set" / "train.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    for broken, said in (
        ("{", "train.jsonl:2"),
        ('{"prompt": [], "completion": []}', "train.jsonl:2"),
        ('{"prompt": [], "completion": [{"role": "user", "content": "x"}]}', "no message of the assistant"),
    ):
        path.write_text("\n".join([lines[0], broken]) + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=said):
            read(tmp_path / "set")
    with pytest.raises(DataError, match="turngap examples"):
        read(tmp_path / "nothing")


def _arguments(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        json.loads(text) if isinstance(text := call["function"]["arguments"], str) else text
        for one in records
        for call in one["completion"][0].get("tool_calls") or ()
    ]


def _naive(example: Example) -> dict[str, Any]:
    """The form that one would write without thinking: arguments and tools as objects."""
    told: dict[str, Any] = jsonio.loads(jsonio.dumps(record(example)))
    for message in (*told["prompt"], *told["completion"]):
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return told | {"tools": json.loads(told["tools"])}


def test_arrow_puts_no_nulls_into_what_is_learnt(tmp_path: Path, made: ExampleSet) -> None:
    """The file, read as columns, gives the same calls and tools; the naive form would teach a null for every argument."""
    datasets = pytest.importorskip("datasets", reason="the extra train is not installed")
    datasets.disable_progress_bars()
    _written(tmp_path / "set", made, Options())
    wanted = [call.arguments for one in made.train for call in one.target.calls]
    columns = datasets.load_dataset("json", data_files=str(tmp_path / "set" / "train.jsonl"), split="train", cache_dir=str(tmp_path / "cache"))  # fmt: skip
    for found in (list(columns), list(datasets.Dataset.from_list([record(one) for one in made.train]))):
        assert _arguments(found) == wanted
        assert [json.loads(one["tools"]) for one in found] == [json.loads(record(one)["tools"]) for one in made.train]
        assert [one["completion"][0]["content"] for one in found] == [one.target.content or None for one in made.train]
    naive = _arguments(list(datasets.Dataset.from_list([_naive(one) for one in made.train])))
    assert naive != wanted
    assert naive[0] == {"booking_id": "BK-1042", "date": None, "seats": None}


def test_what_arrow_gives_back_reads_as_the_same_examples(tmp_path: Path, made: ExampleSet) -> None:
    """A set that went through columns and out again as JSON lines is the same set."""
    datasets = pytest.importorskip("datasets", reason="the extra train is not installed")
    datasets.disable_progress_bars()
    _written(tmp_path / "set", made, Options())
    columns = datasets.Dataset.from_list([record(one) for one in made.train])
    lines = [json.dumps(one) for one in columns]
    (tmp_path / "set" / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert tuple(read(tmp_path / "set")[1]["train"]) == made.train


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what other packages warn of on import is theirs
def test_trl_takes_the_file_as_it_is(tmp_path: Path, made: ExampleSet) -> None:
    """TRL's trainer makes tokens of the file by itself: its completion mask covers the calls, and no null."""
    pytest.importorskip("trl", reason="the extra train is not installed")
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    import torch  # noqa: PLC0415 - seconds to import
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415 - the same
    from trl import SFTConfig, SFTTrainer  # noqa: PLC0415 - the same

    tokenizer = family("qwen3")
    tokenizer.pad_token = "<|endoftext|>"
    _written(tmp_path / "set", made, Options())
    columns = datasets.load_dataset("json", data_files=str(tmp_path / "set" / "train.jsonl"), split="train", cache_dir=str(tmp_path / "cache"))  # fmt: skip
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes))
    arguments = SFTConfig(
        output_dir=str(tmp_path / "out"), report_to=[], use_cpu=True, max_length=None, disable_tqdm=True
    )
    trainer = SFTTrainer(model=model, args=arguments, train_dataset=columns, processing_class=tokenizer)
    prepared = list(trainer.train_dataset)
    assert len(prepared) == len(made.train)
    learnt = [
        tokenizer.decode([token for token, label in zip(one["input_ids"], one["labels"], strict=True) if label != -100])
        for one in prepared
    ]
    assert '{"name": "get_booking", "arguments": {"booking_id": "BK-1042"}}' in learnt[0]
    assert "Shall I move it to 2 May?" in learnt[1]
    assert not any("null" in text or "None" in text for text in learnt)
    assert all('"find_customer"' in tokenizer.decode(one["input_ids"]) for one in prepared)
