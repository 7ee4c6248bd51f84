"""The loop of ours: what it learns from, exact resuming, early stopping, packing, adapters."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tinymodel

from turngap import jsonio
from turngap.errors import ConfigError, UsageError
from turngap.models.templating import fitted
from turngap.training.making import Options, make
from turngap.training.moment import Halted, Moment, Trained
from turngap.training.recipe import Lora, Recipe
from turngap.training.rendering import Rendered, Renderer

_RECIPE = Recipe(epochs=2, batch=4, learning_rate=1e-2, precision="fp32", save=2)


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    tinymodel.require()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model."""
    tinymodel.require()
    return tinymodel.saved(tmp_path_factory.mktemp("model") / "base")


def _sequences(number: int, seed: int = 0) -> list[Rendered]:
    rng = random.Random(seed)
    made = []
    for index in range(number):
        length = rng.randint(8, 30)
        tokens = tuple(rng.randrange(3, 250) for _ in range(length))
        # Stretches that are learnt, with others between them; the last one ends the sequence.
        learnt = tuple(int(place % 7 > 3 or place == length - 1) for place in range(length))
        made.append(Rendered(id=f"s{index}", tokens=tokens, learnt=learnt))
    return made


def _train(folder: Path, recipe: Recipe, directory: Path, **settings: Any) -> tuple[Trained, list[Moment]]:
    from turngap.training import base, lean  # noqa: PLC0415 - torch may be missing

    moments: list[Moment] = []
    found = lean.train(
        base.load(str(folder)),
        recipe,
        _sequences(10),
        _sequences(3, seed=9),
        directory,
        watch=moments.append,
        **settings,
    )
    return found, moments


def _weights(trained: Trained) -> dict[str, Any]:
    return {name: one.detach().clone() for name, one in trained.model.named_parameters()}


def _same(one: Trained, two: Trained) -> bool:
    ours, theirs = _weights(one), _weights(two)
    return ours.keys() == theirs.keys() and all(bool((ours[name] == theirs[name]).all()) for name in ours)


def _after(calls: int) -> Callable[[], bool]:
    asked = count()
    return lambda: next(asked) >= calls


def test_the_loss_is_the_mean_over_learnt_tokens(folder: Path, tmp_path: Path) -> None:
    """The first step's loss is what all logits of all sequences give, averaged over the learnt tokens alone."""
    import torch  # noqa: PLC0415 - may be missing

    from turngap.training import base  # noqa: PLC0415 - the same
    from turngap.training.schedule import Schedule  # noqa: PLC0415 - the same

    _, moments = _train(folder, _RECIPE, tmp_path)
    model = base.load(str(folder)).model
    losses = []
    sequences = _sequences(10)
    for index in Schedule(_RECIPE, 10).batch(1):
        tokens = torch.tensor([sequences[index].tokens])
        with torch.no_grad():
            chances = model(input_ids=tokens).logits.log_softmax(-1)[0]
        losses += [
            -chances[at - 1, token].item()
            for at, (token, mark) in enumerate(zip(sequences[index].tokens, sequences[index].learnt, strict=True))
            if mark and at
        ]
    targets = sum(sequences[index].targets for index in Schedule(_RECIPE, 10).batch(1))
    assert len(losses) == targets
    assert moments[0].loss == pytest.approx(sum(losses) / len(losses), abs=1e-4)


def _gradient(folder: Path, sequences: list[Rendered], directory: Path) -> tuple[float, dict[str, Any]]:
    """Loss and gradient of one step on so many sequences."""
    from turngap.training import base, lean  # noqa: PLC0415 - torch may be missing

    recipe = Recipe(epochs=1, batch=len(sequences), precision="fp32", clip=0)
    loaded = base.load(str(folder))
    found = lean.train(loaded, recipe, sequences, [], directory)
    assert found.steps == 1 and found.loss is not None
    return found.loss, {name: one.grad for name, one in loaded.model.named_parameters()}


def test_a_conversation_with_counts_teaches_what_its_examples_do(folder: Path, tmp_path: Path) -> None:
    """One sequence with decisions that count 0, 1 and several times: loss and gradient of its examples, so many each."""
    templated, _ = fitted(tinymodel.tokenizer())
    renderer = Renderer(templated)
    talks = [tinymodel.talk(number) for number in range(2)]
    counts = [{0: 3, 2: 1, 3: 2}, {1: 1, 2: 4}]
    examples = {one.id: one for one in make(talks, Options(validation=0)).train}
    whole = [renderer.conversation(one, times) for one, times in zip(talks, counts, strict=True)]
    single = [
        renderer.example(examples[f"{one.id}#{decision}"])
        for one, times in zip(talks, counts, strict=True)
        for decision, count in times.items()
        for _ in range(count)
    ]
    ours = _gradient(folder, [one for one in whole if isinstance(one, Rendered)], tmp_path / "whole")
    theirs = _gradient(folder, [one for one in single if isinstance(one, Rendered)], tmp_path / "single")
    plain = _gradient(folder, [one for one in map(renderer.conversation, talks) if isinstance(one, Rendered)], tmp_path)
    assert ours[0] == pytest.approx(theirs[0], abs=1e-5)
    largest = max(float(one.abs().max()) for one in theirs[1].values())
    assert largest > 1e-2
    assert all(float((ours[1][name] - one).abs().max()) < 1e-5 * max(1, largest) for name, one in theirs[1].items())
    assert any(float((plain[1][name] - one).abs().max()) > 1e-3 for name, one in theirs[1].items())


def test_it_learns(folder: Path, tmp_path: Path) -> None:
    """On the sequences it sees again and again, the loss falls; every step is told once, with the plan's rate."""
    _, moments = _train(folder, msgspec.structs.replace(_RECIPE, epochs=12), tmp_path)
    assert [moment.step for moment in moments] == list(range(1, 31))
    assert moments[-1].loss < moments[0].loss / 2
    assert moments[-1].validation is not None


@pytest.mark.parametrize("lora", [None, Lora(rank=4, dropout=0.3)], ids=["all-weights", "adapters-with-dropout"])
@pytest.mark.parametrize(("asked", "save"), [(1, 2), (6, 2), (14, 2), (6, 50), (12, 50), (14, 50), (23, 50), (25, 50)])
def test_a_halted_training_goes_on_to_the_same_weights(
    folder: Path, tmp_path: Path, lora: Lora | None, asked: int, save: int
) -> None:
    """Stopped within a step or a look at the validation set, it ends bit for bit where an undisturbed one ends.

    The looks are asked from 12 and from 23 on; with the one way to save there are checkpoints before, not with the other.
    """
    recipe = msgspec.structs.replace(_RECIPE, lora=lora, save=save)
    whole, told = _train(folder, recipe, tmp_path / "whole")
    with pytest.raises(Halted) as halted:
        _train(folder, recipe, tmp_path / "halted", halt=_after(asked))
    assert halted.value.steps == 5
    with pytest.raises(Halted):  # at once again
        _train(folder, recipe, tmp_path / "halted", halt=_after(0))
    resumed, rest = _train(folder, recipe, tmp_path / "halted")
    assert _same(whole, resumed)
    assert [one.loss for one in rest] == [one.loss for one in told[-len(rest) :]]
    assert (resumed.tokens, resumed.validation) == (whole.tokens, whole.validation)
    logs = [(tmp_path / name / "log.jsonl").read_text(encoding="utf-8").splitlines() for name in ("whole", "halted")]
    steps = [[jsonio.loads(line)["step"] for line in log] for log in logs]
    assert steps == [[1, 2, 3, 4, 5]] * 2


def test_a_finished_training_is_not_run_again(folder: Path, tmp_path: Path) -> None:
    """The same call gives the same weights, and no step."""
    first, _ = _train(folder, _RECIPE, tmp_path)
    again, moments = _train(folder, _RECIPE, tmp_path)
    assert moments == []
    assert _same(first, again)


def test_checkpoints_of_another_training_are_refused(folder: Path, tmp_path: Path) -> None:
    """Another recipe, in the same directory."""
    _train(folder, _RECIPE, tmp_path)
    with pytest.raises(ConfigError, match="another base, recipe or data set"):
        _train(folder, msgspec.structs.replace(_RECIPE, seed=1), tmp_path)


def test_checkpoints_of_other_counts_are_refused(folder: Path, tmp_path: Path) -> None:
    """The same tokens, one of them learnt twice: another training."""
    from turngap.training import base, lean  # noqa: PLC0415 - torch may be missing

    sequences = _sequences(4)
    lean.train(base.load(str(folder)), _RECIPE, sequences, [], tmp_path)
    last = sequences[-1]
    sequences[-1] = msgspec.structs.replace(last, learnt=(*last.learnt[:-1], 2))
    with pytest.raises(ConfigError, match="another base, recipe or data set"):
        lean.train(base.load(str(folder)), _RECIPE, sequences, [], tmp_path)


def test_it_stops_when_validation_gets_no_better_and_keeps_the_best(folder: Path, tmp_path: Path) -> None:
    """The sequences are noise, so learning them by heart spoils the validation loss; the best model comes back."""
    recipe = msgspec.structs.replace(_RECIPE, epochs=40, validate=2, patience=2, learning_rate=3e-2)
    found, moments = _train(folder, recipe, tmp_path)
    looks = [moment.validation for moment in moments if moment.step % 2 == 0]
    assert found.stopped == "no better validation loss in 2 looks"
    assert found.steps == moments[-1].step < 100
    assert found.validation == min(one for one in looks if one is not None) == looks[-3]
    again, more = _train(folder, recipe, tmp_path)
    assert (more, again.stopped, _same(found, again)) == ([], found.stopped, True)


def test_packing_changes_nothing(folder: Path, tmp_path: Path) -> None:
    """Sequences in one row do not see each other: losses and weights are those of one at a time."""
    one, told = _train(folder, _RECIPE, tmp_path / "one")
    row, packed = _train(folder, msgspec.structs.replace(_RECIPE, packing=True, limit=64), tmp_path / "row")
    assert [moment.loss for moment in packed] == pytest.approx([moment.loss for moment in told], abs=1e-4)
    ours, theirs = _weights(one), _weights(row)
    assert all(float((ours[name] - theirs[name]).abs().max()) < 2e-3 for name in ours)


def test_sft_08_a_model_that_looks_across_is_not_packed(folder: Path, tmp_path: Path) -> None:
    """SFT-08: before the first step of a packed training it is tried out whether sequences of a row see each other."""
    from turngap.training import base, lean  # noqa: PLC0415 - torch may be missing

    recipe = msgspec.structs.replace(_RECIPE, packing=True, lora=Lora(rank=4))
    with pytest.raises(UsageError, match="packing=false"):
        lean.train(
            tinymodel.leaky(base.load(str(folder))), recipe, _sequences(4), [], tmp_path / "row", watch=pytest.fail
        )
    alone = msgspec.structs.replace(recipe, packing=False)
    leaky = tinymodel.leaky(base.load(str(folder)))
    assert lean.train(leaky, alone, _sequences(4), [], tmp_path / "alone").steps == 2
    # A model that keeps them apart is packed in bfloat16 too.
    rounded = msgspec.structs.replace(recipe, precision="bf16")
    assert lean.train(base.load(str(folder)), rounded, _sequences(4), [], tmp_path / "apart").steps == 2


def test_computing_activations_twice_changes_nothing(folder: Path, tmp_path: Path) -> None:
    """Gradient checkpointing gives the same losses, and reaches the adapters behind frozen weights."""
    recipe = msgspec.structs.replace(_RECIPE, lora=Lora(rank=4))
    _, told = _train(folder, recipe, tmp_path / "kept")
    _, again = _train(folder, msgspec.structs.replace(recipe, checkpointing=True), tmp_path / "twice")
    assert [moment.loss for moment in again] == pytest.approx([moment.loss for moment in told], abs=1e-5)
    assert told[-1].loss != told[0].loss


def test_only_adapters_are_trained_and_merging_keeps_what_the_model_says(folder: Path, tmp_path: Path) -> None:
    """With adapters the base's weights stay as they are; merged, the logits are those with adapters."""
    import torch  # noqa: PLC0415 - may be missing

    from turngap.training import base  # noqa: PLC0415 - the same
    from turngap.training.adapter import merged  # noqa: PLC0415 - the same

    found, _ = _train(folder, msgspec.structs.replace(_RECIPE, lora=Lora(rank=4)), tmp_path)
    tokens = torch.tensor([[5, 6, 7, 8]])
    found.model.eval()
    with torch.no_grad():
        before = found.model(input_ids=tokens).logits
        embedded = found.model.get_input_embeddings().weight.clone()
        model = merged(found.model)
        after = model(input_ids=tokens).logits
        untrained = base.load(str(folder)).model
    assert torch.allclose(before, after, atol=1e-4)
    assert torch.equal(embedded, untrained.get_input_embeddings().weight)
    assert not torch.allclose(after, untrained(input_ids=tokens).logits, atol=1e-2)


def test_nothing_to_learn_is_said(folder: Path, tmp_path: Path) -> None:
    """Sequences without a learnt token are no training set."""
    from turngap.training import base, lean  # noqa: PLC0415 - torch may be missing

    with pytest.raises(UsageError, match="nothing to learn"):
        lean.train(base.load(str(folder)), _RECIPE, [Rendered(id="s", tokens=(1, 2), learnt=(0, 0))], [], tmp_path)
