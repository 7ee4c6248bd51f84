"""Sets as files: what is written reads back, other libraries read it as it is, and none of them puts nulls into it."""

from __future__ import annotations

import contextlib
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
    """Written again it takes the place of the old files; whatever else lies in the directory and beside it stays."""
    target = tmp_path / "set"
    _written(target, made, Options())
    kept = [target / "notes.txt", target / "logs" / "raw.jsonl", tmp_path / ".set.part" / "mine.txt"]
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.write_text(path.name, encoding="utf-8")
    fewer = msgspec.structs.replace(made, train=made.train[:2])
    manifest = _written(target, fewer, Options())
    assert read(target)[0] == manifest
    assert read(target)[1]["train"] == list(fewer.train)
    assert [path.read_text(encoding="utf-8") for path in kept] == [path.name for path in kept]
    assert not list(target.glob(".*"))


@pytest.mark.parametrize("held", ["mine.txt", "train.jsonl", "examples.json", ".hidden"])
def test_what_is_no_set_is_not_written_to(tmp_path: Path, made: ExampleSet, held: str) -> None:
    """A directory with anything that is none of a set, files with names of a set included, is refused and left alone."""
    other = tmp_path / "other"
    other.mkdir()
    (other / held).write_text('{"mine": [1]}', encoding="utf-8")
    with pytest.raises(StoreError, match="name another directory with -o"):
        _written(other, made, Options())
    assert [path.name for path in other.iterdir()] == [held]
    assert (other / held).read_text(encoding="utf-8") == '{"mine": [1]}'


def test_places_that_have_no_name_or_are_no_directories(tmp_path: Path, made: ExampleSet) -> None:
    """The working directory is a place like any other; a file and what is below one are said."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="file: is a file; name a directory with -o"):
        _written(tmp_path / "file", made, Options())
    with pytest.raises(StoreError, match="-o"):
        _written(tmp_path / "file" / "set", made, Options())
    with pytest.raises(StoreError, match="holds something else"):
        _written(Path("/"), made, Options())
    (tmp_path / "empty").mkdir()
    with contextlib.chdir(tmp_path / "empty"):
        for _ in range(2):
            assert _written(Path(), made, Options()) == read(Path())[0]


@pytest.mark.parametrize("replaced", range(1, len(exchange.FILES)))
def test_a_mixture_of_two_sets_is_noticed_and_mended(tmp_path: Path, made: ExampleSet, replaced: int) -> None:
    """Killed when only some of the files had taken their places: not read, and written again without a word."""
    _written(tmp_path / "set", made, Options())
    moved = {"validation": made.train[1:2], "evaluation": made.train[2:3]}
    other = msgspec.structs.replace(made, train=made.train[:1], **moved)
    _written(tmp_path / "new", other, Options())
    for name in exchange.FILES[:replaced]:
        (tmp_path / "set" / name).write_bytes((tmp_path / "new" / name).read_bytes())
    with pytest.raises(DataError, match=r"does not match its manifest examples.json: .*; make the set again"):
        read(tmp_path / "set")
    _written(tmp_path / "set", other, Options())
    assert read(tmp_path / "set") == read(tmp_path / "new")


def test_a_first_set_that_was_cut_short_is_mended(tmp_path: Path, made: ExampleSet) -> None:
    """Killed before there was a manifest, or right after it: the next one is written as if nothing had been."""
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / ".train.jsonl.part").write_text("{", encoding="utf-8")
    manifest = _written(tmp_path / "set", made, Options())
    for path in (tmp_path / "set").iterdir():
        if path.name != exchange.MANIFEST:
            path.unlink()
    with pytest.raises(DataError, match=r"train.jsonl: cannot be read: .*make the set again"):
        read(tmp_path / "set")
    assert _written(tmp_path / "set", made, Options()) == manifest
    assert read(tmp_path / "set")[0] == manifest


def test_files_that_are_not_the_manifests_are_noticed(tmp_path: Path, made: ExampleSet) -> None:
    """Whole lines that are missing, that are others, or that stand in another order; conversations by their number."""
    _written(tmp_path / "set", made, Options())
    path = tmp_path / "set" / "train.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for cut, said in (
        (lines[:2], "2 examples, not 4"),
        ([], "0 examples, not 4"),
        (lines[::-1], "the examples are others"),
        ([lines[0].replace("BK-1042", "BK-1043"), *lines[1:]], "the examples are others"),
    ):
        path.write_text("".join(cut), encoding="utf-8")
        with pytest.raises(DataError, match=f"{said}; make the set again with turngap examples"):
            read(tmp_path / "set")
    talks = tmp_path / "set" / "train.conversations.jsonl"
    for text in ("", talks.read_text(encoding="utf-8") * 2):
        talks.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"train.conversations.jsonl.*conversations, not 1; make the set again"):
            list(conversations(tmp_path / "set", "train"))
    talks.unlink()
    assert list(conversations(tmp_path / "set", "train")) == []


def test_a_broken_line_is_named(tmp_path: Path, made: ExampleSet) -> None:
    """A line that is no example is an error with file and line, in words; so is a folder that is no set."""
    _written(tmp_path / "set", made, Options())
    path = tmp_path / "set" / "train.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    for broken, said in (
        (lines[1][:200], "train.jsonl:2: no example: the line is cut off; make the set again"),
        ("[]", "train.jsonl:2: no example: prompt and completion are lists of messages"),
        ('{"completion": []}', "train.jsonl:2: no example: prompt is missing"),
        ('{"prompt": [], "completion": []}', "train.jsonl:2"),
        ('{"prompt": [], "completion": [{"role": "user", "content": "x"}]}', "no message of the assistant"),
    ):
        path.write_text("\n".join([lines[0], broken]) + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=said):
            read(tmp_path / "set")
    with pytest.raises(DataError, match="turngap examples"):
        read(tmp_path / "nothing")
    manifest = tmp_path / "set" / exchange.MANIFEST
    newer = manifest.read_text(encoding="utf-8").replace("turngap-examples/1", "turngap-examples/9")
    for text, said in (("{", "no manifest of examples, or a damaged one"), (newer, "format 'turngap-examples/9'")):
        manifest.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=said):
            read(tmp_path / "set")


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
