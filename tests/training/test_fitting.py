"""One fine-tuning from examples to a model: what is written, what is done twice, and what is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import tinymodel

from turngap.data import AssistantMessage, UserMessage
from turngap.errors import DataError, StoreError
from turngap.models.templating import MANNER, Manner
from turngap.runs.lock import WriterLock
from turngap.training import making
from turngap.training.moment import Moment
from turngap.training.recipe import Lora, Recipe

_RECIPE = Recipe(epochs=1, batch=4, learning_rate=1e-3, precision="fp32", whole=True, lora=Lora(rank=4))


@pytest.fixture(autouse=True, scope="module")
def _torch() -> None:
    tinymodel.require("peft")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model."""
    tinymodel.require()
    return tinymodel.saved(tmp_path_factory.mktemp("model") / "base")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decisions of seven conversations."""
    return tinymodel.examples(tmp_path_factory.mktemp("set") / "examples", 7)


def test_the_model_that_is_written_is_the_one_that_was_trained(folder: Path, examples: Path, tmp_path: Path) -> None:
    """Adapters are merged; it loads as any model does, with the template it was trained with, and is not the base."""
    import torch  # noqa: PLC0415 - may be missing

    from turngap.training import base, fitting  # noqa: PLC0415 - the same

    loaded = base.load(str(folder))
    moments: list[Moment] = []
    found = fitting.fit(examples, loaded, _RECIPE, tmp_path, watch=moments.append)
    written = base.load(str(tmp_path / "model"))
    names = set(base.load(str(folder)).model.state_dict())
    assert set(written.model.state_dict()) == names
    tokens = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        untrained = base.load(str(folder)).model(input_ids=tokens).logits
        assert not torch.allclose(written.model(input_ids=tokens).logits, untrained, atol=1e-4)
    assert (tmp_path / "model" / MANNER).is_file()
    assert written.tokenizer.chat_template == loaded.tokenizer.chat_template
    assert found.steps == moments[-1].step == moments[-1].steps
    assert fitting.outcome(tmp_path) == found
    assert found.parameters == base.load(str(folder)).parameters  # without the adapters
    counts = found.counts
    assert counts["decisions"] == 4 * counts["sequences"]
    assert 0 < counts["learnt_tokens"] < counts["tokens"] == found.tokens
    assert not (tmp_path / "model.gguf").exists()


def test_a_finished_training_is_found_done_without_torch_or_base(folder: Path, examples: Path, tmp_path: Path) -> None:
    """The same call gives what came of it; another base, recipe, manner or engine is another training."""
    from turngap.training import base, fitting  # noqa: PLC0415 - torch may be missing

    found = fitting.fit(examples, base.load(str(folder)), _RECIPE, tmp_path)
    assert fitting.finished(tmp_path, examples, str(folder), _RECIPE) == found
    assert fitting.fit(examples, base.load(str(folder)), _RECIPE, tmp_path, watch=pytest.fail) == found
    assert fitting.finished(tmp_path, examples, "other", _RECIPE) is None
    assert fitting.finished(tmp_path, examples, str(folder), msgspec.structs.replace(_RECIPE, seed=3)) is None
    assert fitting.finished(tmp_path, examples, str(folder), _RECIPE, manner=Manner(thinking=True)) is None
    assert fitting.finished(tmp_path, examples, str(folder), _RECIPE, engine="trl") is None


def test_whole_conversations_and_examples_teach_the_same_tokens(folder: Path, examples: Path) -> None:
    """As one sequence each, or one sequence for each decision: the learnt tokens are the same, the price is not."""
    from turngap.training import base, fitting  # noqa: PLC0415 - torch may be missing

    tokenizer = base.load_tokenizer(str(folder))
    whole = fitting.prepare(examples, tokenizer, _RECIPE)
    single = fitting.prepare(examples, tokenizer, msgspec.structs.replace(_RECIPE, whole=False))
    assert sum(one.targets for one in whole.learnt) == sum(one.targets for one in single.learnt)
    assert len(single.learnt) == 4 * len(whole.learnt)
    assert sum(len(one.tokens) for one in single.learnt) > 2 * sum(len(one.tokens) for one in whole.learnt)


def test_a_mix_is_learnt_from_whole_conversations(folder: Path, tmp_path: Path) -> None:
    """Conversations as sequences learn each decision as often as it was drawn: the same targets for fewer tokens."""
    from turngap.training import base, exchange, fitting  # noqa: PLC0415 - torch may be missing

    tokenizer = base.load_tokenizer(str(folder))
    directory = tinymodel.examples(tmp_path / "set", 6, mix="tools", count=30)
    _, made = exchange.read(directory)
    whole = fitting.prepare(directory, tokenizer, _RECIPE)
    single = fitting.prepare(directory, tokenizer, msgspec.structs.replace(_RECIPE, whole=False))
    assert (whole.whole, whole.notes) == (True, ())
    assert len(whole.learnt) == len({one.conversation for one in made["train"]})
    assert sum(one.decisions for one in whole.learnt) == len(single.learnt) == 30
    assert sum(one.targets for one in whole.learnt) == sum(one.targets for one in single.learnt)
    assert max(max(one.learnt) for one in whole.learnt) > 1
    assert 3 * sum(len(one.tokens) for one in whole.learnt) < sum(len(one.tokens) for one in single.learnt)


def test_only_what_is_in_the_set_is_learnt(folder: Path, tmp_path: Path) -> None:
    """Duplicates and decisions that were not drawn are context; a conversation of which nothing was drawn is none."""
    from turngap.training import base, exchange, fitting  # noqa: PLC0415 - torch may be missing

    tokenizer = base.load_tokenizer(str(folder))
    options = making.Options(validation=0)
    twice = msgspec.structs.replace(tinymodel.talk(0), id="again")
    longer = msgspec.structs.replace(
        twice, id="longer", messages=(*twice.messages, UserMessage(content="Thanks."), AssistantMessage(content="Bye."))
    )
    made = making.make([tinymodel.talk(0), twice, longer], options)
    exchange.write(tmp_path / "same", made, exchange.Manifest(options=options, sources=(), counts=made.counts()))
    found = fitting.prepare(tmp_path / "same", tokenizer, _RECIPE)
    assert [(one.id, one.decisions) for one in found.learnt] == [("talk-0", 4), ("longer", 1)]
    few = fitting.prepare(tinymodel.examples(tmp_path / "few", 7, count=5), tokenizer, _RECIPE)
    assert sum(one.decisions for one in few.learnt) == 5
    assert all(one.targets for one in few.learnt)


def test_trl_learns_what_was_drawn_once_from_conversations(folder: Path, tmp_path: Path) -> None:
    """Its labels say learnt or not: where a decision was drawn again, examples are learnt one by one, with a note."""
    from turngap.training import base, fitting  # noqa: PLC0415 - torch may be missing

    tokenizer = base.load_tokenizer(str(folder))
    once = fitting.prepare(tinymodel.examples(tmp_path / "once", 6, count=5), tokenizer, _RECIPE, engine="trl")
    assert once.whole and max(max(one.learnt) for one in once.learnt) == 1
    directory = tinymodel.examples(tmp_path / "again", 6, mix="tools", count=30)
    again = fitting.prepare(directory, tokenizer, _RECIPE, engine="trl")
    assert (again.whole, len(again.learnt)) == (False, 30)
    assert "one sequence for each decision: a decision was drawn " in again.notes[-1]
    assert "TRL's labels" in again.notes[-1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"id":"talk-', '"id":"call-', "does not hold the conversation of example 'talk-"),
        ("Shall I move", "May I move", "is not decision 1 of the conversation as the set holds it"),
    ],
)
def test_conversations_that_are_not_the_examples_are_not_learnt_from(
    folder: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    """Where the file of conversations is another one or missing, examples are learnt one by one, and it is said why."""
    from turngap.training import base, fitting  # noqa: PLC0415 - torch may be missing

    directory = tinymodel.examples(tmp_path / "set", 6)
    tokenizer = base.load_tokenizer(str(folder))
    whole = fitting.prepare(directory, tokenizer, _RECIPE)
    file = directory / "train.conversations.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    changed = fitting.prepare(directory, tokenizer, _RECIPE)
    file.unlink()
    missing = fitting.prepare(directory, tokenizer, _RECIPE)
    assert said in changed.notes[-1] and "does not hold" in missing.notes[-1]
    for found in (changed, missing):
        assert not found.whole
        assert sum(one.targets for one in found.learnt) == sum(one.targets for one in whole.learnt)


def test_sequences_that_are_too_long_fail_are_dropped_or_cut(folder: Path, examples: Path) -> None:
    """As the recipe says; cutting takes the oldest turn and counts what it took."""
    from turngap.training import base, fitting  # noqa: PLC0415 - torch may be missing

    tokenizer = base.load_tokenizer(str(folder))
    recipe = msgspec.structs.replace(_RECIPE, whole=False, too_long="fail")
    lengths = [len(one.tokens) for one in fitting.prepare(examples, tokenizer, recipe).learnt]
    limit = max(lengths) - 1
    with pytest.raises(DataError, match=rf"sequences have more than {limit} tokens: talk-\d+#3"):
        fitting.prepare(examples, tokenizer, msgspec.structs.replace(recipe, limit=limit))
    dropped = fitting.prepare(examples, tokenizer, msgspec.structs.replace(recipe, limit=limit, too_long="drop"))
    assert 0 < len(dropped.learnt) < len(lengths)
    assert {one.why for one in dropped.refused} == {"too long"}
    assert "left out" in dropped.notes[-1]
    cut = fitting.prepare(examples, tokenizer, msgspec.structs.replace(recipe, limit=limit, too_long="cut"))
    assert len(cut.learnt) == len(lengths)
    assert sum(one.cut for one in cut.learnt) > 0
    assert all(len(one.tokens) <= limit for one in cut.learnt)


def test_one_process_writes_a_directory(folder: Path, examples: Path, tmp_path: Path) -> None:
    """While another one holds it, it is refused, and nothing in it is touched."""
    from turngap.training import base, fitting  # noqa: PLC0415 - torch may be missing

    lock = WriterLock(tmp_path / ".lock")
    try:
        with pytest.raises(StoreError, match="is writing"):
            fitting.fit(examples, base.load(str(folder)), _RECIPE, tmp_path)
    finally:
        lock.release()
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
