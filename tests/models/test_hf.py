"""`hf/FOLDER`: models of transformers as agents, in batches over conversations, with all that other models have."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tinymodel

from turngap import jsonio
from turngap.config import ModelConfig
from turngap.data import AssistantMessage, Finish, Prediction, decisions
from turngap.errors import ConfigError, ContextOverflow, EndpointError, UsageError
from turngap.models import Model, ModelContext, Request, Seat, build
from turngap.runs.cache import SharedCache


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that talks nonsense, always the same."""
    tinymodel.require()
    return tinymodel.saved(tmp_path_factory.mktemp("model") / "tiny", seed=11)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learnt three conversations by heart."""
    tinymodel.require()
    from turngap.training import base, lean  # noqa: PLC0415 - torch may be missing
    from turngap.training.fitting import prepare  # noqa: PLC0415 - the same
    from turngap.training.recipe import Recipe  # noqa: PLC0415 - the same

    root = tmp_path_factory.mktemp("trained")
    recipe = Recipe(epochs=60, batch=3, learning_rate=1e-2, precision="fp32", save=10_000, whole=True)
    loaded = base.load(str(tinymodel.saved(root / "base", initializer_range=0.05, hidden_size=64, head_dim=32)))
    prepared = prepare(tinymodel.examples(root / "examples", 4), loaded.tokenizer, recipe)
    found = lean.train(loaded, recipe, prepared.learnt, [], root / "checkpoints")
    found.model.save_pretrained(root / "model")
    loaded.tokenizer.save_pretrained(root / "model")
    return root / "model"


def _requests(count: int) -> list[Request]:
    return [
        Request(
            policy=one.policy,
            tools=one.tools,
            messages=one.messages[: decision.position],
            seat=Seat(conversation=one.id, protocol="gold", decision=decision.index),
        )
        for one in map(tinymodel.talk, range(count))
        for decision in decisions(one)
    ]


def _config(folder: Path, **settings: Any) -> ModelConfig:
    return ModelConfig(spec=f"hf/{folder}", **{"max_tokens": 24, **settings})


async def _ask(model: Model, requests: list[Request]) -> list[Prediction]:
    try:
        return list(await asyncio.gather(*map(model.act, requests)))
    finally:
        await model.aclose()


async def test_many_at_once_and_one_by_one_say_the_same(folder: Path) -> None:
    """At temperature 0 all answers of a batch of eight are those of a batch of one, verbatim."""
    together = await _ask(build(_config(folder, concurrency=8)), _requests(5))
    alone = await _ask(build(_config(folder, concurrency=1)), _requests(5))
    assert [one.raw for one in together] == [one.raw for one in alone]
    assert len({one.raw for one in alone}) > 5
    assert all(one.usage.completion_tokens <= 24 for one in alone)
    # Later turns of a conversation, and the policy of others, are not read again.
    assert sum(one.usage.cached_tokens for one in alone) > 0.5 * sum(one.usage.prompt_tokens for one in alone)


async def test_what_was_learnt_is_said(trained: Path) -> None:
    """After a minute's training it calls and speaks where that is due, and is read as any other model is."""
    model = build(_config(trained, max_tokens=64))
    learnt = [tinymodel.talk(number) for number in range(4)]
    found = await _ask(model, _requests(4))
    wanted = [decision.reference for one in learnt for decision in decisions(one)]
    assert [[call.name for call in one.message.calls] for one in found] == [
        [call.name for call in one.calls] for one in wanted
    ]
    exact = [
        (said.message.content, [call.arguments for call in said.message.calls])
        == (due.content, [call.arguments for call in due.calls])
        for said, due in zip(found, wanted, strict=True)
    ]
    assert all(exact[3::4])  # "Done."
    assert any(exact[0::4] + exact[2::4])  # a call with its arguments
    assert {one.finish for one in found} == {Finish.STOP}
    calls = [one for one in found if one.message.calls]
    assert {one.dialect for one in calls} == {"hermes"}
    assert jsonio.loads(calls[0].raw)["content"].startswith("<tool_call>")


async def test_sampled_answers_are_repeatable_and_differ_by_trial(folder: Path) -> None:
    """At temperature 1 a repeated run says the same; another trial or seed something else."""
    requests = _requests(2)
    config = _config(folder, temperature=1.0, seed=3)
    first = [one.raw for one in await _ask(build(config), requests)]
    assert first == [one.raw for one in await _ask(build(config), requests)]
    others = [msgspec.structs.replace(one, seat=msgspec.structs.replace(one.seat, trial=1)) for one in requests]
    assert first != [one.raw for one in await _ask(build(config), others)]
    assert first != [one.raw for one in await _ask(build(_config(folder, temperature=1.0, seed=4)), requests)]


async def test_a_prompt_that_does_not_fit_is_an_overflow(folder: Path) -> None:
    """Longer than the context: said so; where room is left for some tokens, the answer is cut there."""
    request = _requests(1)[0]
    with pytest.raises(ContextOverflow, match="for a context of 50"):
        await _ask(build(_config(folder, context_length=50)), [request])
    whole = (await _ask(build(_config(folder)), [request]))[0]
    room = whole.usage.prompt_tokens + 3
    cut = (await _ask(build(_config(folder, context_length=room)), [request]))[0]
    assert (cut.finish, cut.usage.completion_tokens) == (Finish.LENGTH, 3)


async def test_answers_are_kept_in_the_call_cache(folder: Path, tmp_path: Path) -> None:
    """The second run reads them, marked as cached, and loads no model."""
    cache = SharedCache(tmp_path / "calls.sqlite")
    requests = _requests(1)
    first = await _ask(build(_config(folder), ModelContext(cache=cache)), requests)
    second = await _ask(build(_config(folder), ModelContext(cache=cache)), requests)
    cache.close()
    assert [one.raw for one in first] == [one.raw for one in second]
    assert ([one.cached for one in first], [one.cached for one in second]) == ([False] * 4, [True] * 4)


async def test_a_closed_model_can_be_asked_again(folder: Path) -> None:
    """`aclose` frees it; a later request loads it anew. What is under way when it closes is given up, not left hanging."""
    model = build(_config(folder))
    first = await _ask(model, _requests(1))
    again = await _ask(model, _requests(1))
    assert [one.raw for one in first] == [one.raw for one in again]
    task = asyncio.ensure_future(model.act(_requests(1)[0]))
    await asyncio.sleep(0.01)
    await model.aclose()
    with pytest.raises(EndpointError, match="before the answer was complete"):
        await task


async def test_a_request_that_is_given_up_harms_no_other(folder: Path) -> None:
    """Cancelled requests leave their rows; the others get their answers."""
    model = build(_config(folder, concurrency=2, max_tokens=200))
    tasks = [asyncio.ensure_future(model.act(request)) for request in _requests(2)]
    await asyncio.sleep(0.2)
    for task in tasks[:4]:
        task.cancel()
    found = await asyncio.wait_for(asyncio.gather(*tasks[4:]), 60)
    await model.aclose()
    alone = await _ask(build(_config(folder, concurrency=1, max_tokens=200)), _requests(2)[4:])
    assert [one.raw for one in found] == [one.raw for one in alone]


def test_identity_is_the_weights_and_the_settings(folder: Path, tmp_path: Path) -> None:
    """A copy in a folder of the same name is the same model; other weights, or another setting, are another one."""
    copy = shutil.copytree(folder, tmp_path / "copy" / folder.name)
    other = tinymodel.saved(tmp_path / "other" / folder.name, seed=12)
    ours = build(_config(folder)).identity()
    assert ours == build(_config(copy)).identity()
    assert ours != build(_config(other)).identity()
    assert ours != build(_config(folder, max_tokens=25)).identity()
    assert str(folder.parent) not in jsonio.dumps(ours)


async def test_the_manner_of_the_training_is_kept(folder: Path, tmp_path: Path) -> None:
    """turngap.json in the folder says how to ask; one that cannot be read is an error, not ignored."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    manner = {"manner": {"template": "{{ messages | length }} said<|im_end|>"}}
    (copy / "turngap.json").write_text(jsonio.dumps(manner), encoding="utf-8")
    found = (await _ask(build(_config(copy)), _requests(1)[1:2]))[0]
    plain = (await _ask(build(_config(folder)), _requests(1)[1:2]))[0]
    assert found.usage.prompt_tokens < 12 < plain.usage.prompt_tokens
    (copy / "turngap.json").write_text('{"manner": {"templates": ""}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"turngap\.json: does not say how the model is asked"):
        await _ask(build(_config(copy)), _requests(1)[:1])


@pytest.mark.parametrize(
    ("spec", "settings", "said"),
    [
        ("hf/nowhere", {}, "no config.json"),
        ("hf/{}?bits=4", {}, "only option is numbers"),
        ("hf/{}?numbers=int8", {}, "only option is numbers"),
        ("hf/{}", {"extra_body": {"top_k": 5}}, "for servers"),
        ("hf/{}", {"tool_parser": "morse"}, "unknown --tool-parser"),
    ],
)
def test_specs_that_make_no_sense_are_refused(folder: Path, spec: str, settings: dict[str, Any], said: str) -> None:
    """Before anything is loaded, in one line."""
    with pytest.raises(UsageError, match=said):
        build(ModelConfig(spec=spec.format(folder), **settings))


async def test_weights_that_cannot_be_loaded_fail_every_request(folder: Path, tmp_path: Path) -> None:
    """A damaged file: each request gets the reason, none hangs."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "model.safetensors").write_bytes(b"no weights")
    model = build(_config(copy))
    found = await asyncio.gather(*(model.act(request) for request in _requests(1)[:2]), return_exceptions=True)
    await model.aclose()
    assert [type(one) for one in found] == [ConfigError, ConfigError]
    assert "transformers cannot load it" in str(found[0])


async def test_an_empty_answer_of_its_own_can_go_back(folder: Path) -> None:
    """A history with an empty and with a malformed answer of the model is rendered, not refused."""
    request = _requests(1)[2]
    broken = msgspec.structs.replace(tinymodel.talk(0).messages[1], content="")
    assert isinstance(broken, AssistantMessage)
    call = msgspec.structs.replace(broken.calls[0], arguments=None, raw="{half", error="cut")
    messages = (
        request.messages[0],
        AssistantMessage(content=""),
        request.messages[0],
        AssistantMessage(calls=(call,)),
        request.messages[2],
    )
    found = await _ask(build(_config(folder)), [msgspec.structs.replace(request, messages=messages)])
    assert found[0].usage.prompt_tokens > 20
