"""Generation of tokens: together as alone, with and without memory, greedy and by dice."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tinymodel

from turngap.errors import ConfigError
from turngap.models.asking import Answer, Ask

if TYPE_CHECKING:
    from turngap.models.generation import Generator

_END = 2


@pytest.fixture(scope="module", params=["full", "sliding"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model: one whose layers see everything, and one half of whose layers see 16 tokens."""
    tinymodel.require()
    settings = {
        "full": {},
        "sliding": {
            "layer_types": ["sliding_attention", "full_attention"],
            "sliding_window": 16,
            "use_sliding_window": True,
        },
    }
    return tinymodel.saved(tmp_path_factory.mktemp("model") / "base", seed=4, **settings[request.param])


def _generator(folder: Path, rows: int) -> Generator:
    from turngap.models.generation import Generator  # noqa: PLC0415 - torch may be missing

    return Generator(folder, rows=rows, stops=[_END])


def _run(generator: Generator, asks: list[Ask]) -> list[Answer]:
    """Answers in the order of the asks; each is begun as soon as there is a row, while others are under way."""
    numbers: dict[int, int] = {}
    found: dict[int, Answer] = {}
    waiting = list(enumerate(asks))
    while waiting or generator.busy:
        if waiting and generator.free:
            index, ask = waiting.pop(0)
            numbers[generator.begin(ask)] = index
        for number, answer in generator.step():
            found[numbers[number]] = answer
    return [found[index] for index in range(len(asks))]


def _prompts(count: int, seed: int = 0) -> list[tuple[int, ...]]:
    rng = random.Random(seed)
    policy = tuple(rng.randrange(3, 250) for _ in range(20))
    return [(*policy, *(rng.randrange(3, 250) for _ in range(rng.randint(1, 40)))) for _ in range(count)]


def _by_the_book(folder: Path, ask: Ask) -> list[int]:
    """What transformers' own generation says, without any of ours."""
    import torch  # noqa: PLC0415 - may be missing

    from turngap.models import hub  # noqa: PLC0415 - the same

    model: Any = hub.library().AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32)
    tokens = torch.tensor([ask.prompt])
    found = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=ask.most, do_sample=False, eos_token_id=_END
    )
    return [token for token in found[0, len(ask.prompt) :].tolist() if token != _END]


def test_it_says_what_transformers_says(folder: Path) -> None:
    """Token by token, for prompts of different lengths, together and one after the other."""
    asks = [Ask(prompt=prompt, most=12) for prompt in _prompts(6)]
    together = [list(one.tokens) for one in _run(_generator(folder, 4), asks)]
    alone = [list(one.tokens) for one in _run(_generator(folder, 1), asks)]
    assert together == alone == [_by_the_book(folder, ask) for ask in asks]
    assert len({tuple(one) for one in together}) > 2


def test_a_conversation_that_goes_on_costs_its_new_tokens(folder: Path) -> None:
    """The next prompt holds the last one and its answer: only what is new is read, and nothing else is said for it."""
    generator = _generator(folder, 2)
    prompt = _prompts(1)[0]
    first = _run(generator, [Ask(prompt=prompt, most=8)])[0]
    longer = (*prompt, *first.tokens, 9, 10, 11)
    second = _run(generator, [Ask(prompt=longer, most=8)])[0]
    assert first.reused == 0
    assert second.reused >= len(prompt) + len(first.tokens) - 1
    fresh = _run(_generator(folder, 1), [Ask(prompt=longer, most=8)])[0]
    assert second.tokens == fresh.tokens


def test_a_new_conversation_begins_from_what_another_one_shares(folder: Path) -> None:
    """Policy and tools are read once; taking them over changes no answer, and spoils no memory."""
    prompts = _prompts(3, seed=2)
    generator = _generator(folder, 3)
    answers = [_run(generator, [Ask(prompt=prompt, most=8)])[0] for prompt in prompts]
    assert [answer.reused for answer in answers] == [0, 20, 20]
    again = [_run(generator, [Ask(prompt=prompt, most=8)])[0] for prompt in prompts]
    assert [one.reused for one in again] == [len(prompt) - 1 for prompt in prompts]
    assert [one.tokens for one in again] == [one.tokens for one in answers]
    alone = [_run(_generator(folder, 1), [Ask(prompt=prompt, most=8)])[0].tokens for prompt in prompts]
    assert [one.tokens for one in answers] == alone


def test_dice_hang_on_the_request_alone(folder: Path) -> None:
    """A sampled answer is the same alone and in a batch; another seed says something else."""
    asks = [Ask(prompt=prompt, most=10, temperature=1.5, seed=7) for prompt in _prompts(4)]
    together = [one.tokens for one in _run(_generator(folder, 4), asks)]
    assert together == [_run(_generator(folder, 1), [ask])[0].tokens for ask in asks]
    others = [Ask(prompt=ask.prompt, most=10, temperature=1.5, seed=8) for ask in asks]
    assert together != [one.tokens for one in _run(_generator(folder, 4), others)]


def test_an_answer_ends_at_its_mark_or_where_it_is_cut(folder: Path) -> None:
    """A mark ends it and is not part of it; else it has as many tokens as allowed."""
    from turngap.models.generation import Generator  # noqa: PLC0415 - torch may be missing

    ask = Ask(prompt=_prompts(1)[0], most=10)
    plain = _run(Generator(folder, rows=1, stops=[]), [ask])[0]
    assert (len(plain.tokens), plain.ended, plain.generated) == (10, False, 10)
    mark = next(token for token in plain.tokens[1:] if token != plain.tokens[0])
    at = plain.tokens.index(mark)
    cut = _run(Generator(folder, rows=1, stops=[mark]), [ask])[0]
    assert (cut.tokens, cut.ended, cut.generated) == (plain.tokens[:at], True, at + 1)


def test_what_is_given_up_makes_room(folder: Path) -> None:
    """A dropped answer never comes, its row is free, and the others do not notice."""
    generator = _generator(folder, 2)
    asks = [Ask(prompt=prompt, most=6) for prompt in _prompts(2)]
    kept, dropped = generator.begin(asks[0]), generator.begin(asks[1])
    assert generator.free == 0
    with pytest.raises(IndexError):
        generator.begin(asks[0])
    generator.drop(dropped)
    assert generator.free == 1
    done = []
    while generator.busy:
        done += generator.step()
    assert [number for number, _ in done] == [kept]
    assert done[0][1].tokens == _run(_generator(folder, 1), asks[:1])[0].tokens


def test_long_prompts_are_read_in_pieces(folder: Path) -> None:
    """A prompt of more than one piece says what it says when read at once."""
    rng = random.Random(3)
    ask = Ask(prompt=tuple(rng.randrange(3, 250) for _ in range(1200)), most=6)
    assert list(_run(_generator(folder, 1), [ask])[0].tokens) == _by_the_book(folder, ask)


def test_other_kinds_of_memory_are_refused(tmp_path: Path) -> None:
    """A model with a layer that is no attention: refused by name, with the way out."""
    tinymodel.require()
    from turngap.models import hub  # noqa: PLC0415 - may be missing

    library = hub.library()
    config = library.Lfm2Config(
        vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, layer_types=["conv", "full_attention"], pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    library.Lfm2ForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="layers of conv are not generated with here; serve it"):
        _generator(tmp_path, 1)
