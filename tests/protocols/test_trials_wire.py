"""Trials over the wire: what servers are asked, and what the call cache makes of repetition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import boats
import msgspec
from boats import DateGrader
from chatserver import ChatServer, Step, call, text

from turngap import models, users
from turngap.analysis.rollout import summarise
from turngap.config import ModelConfig, Prices, RolloutConfig, TaskConfig
from turngap.data import Message, Spoken, Trajectory
from turngap.engines import Quiet
from turngap.protocols.evaluate import Services, model_context
from turngap.protocols.trials import Cast, perform
from turngap.runs.cache import SharedCache
from turngap.runs.store import RunStore

Start = Callable[..., ChatServer]


def _config(agent: ChatServer, user: ChatServer | None = None, **changes: Any) -> RolloutConfig:
    def at(server: ChatServer, spec: str) -> ModelConfig:
        prices = Prices(prompt=1.0, completion=1.0)
        return ModelConfig(
            spec=spec, base_url=server.url, api_key_env="NO_SUCH_KEY", temperature=1.0, give_up_after=5, prices=prices
        )

    config = RolloutConfig(
        domain="boats",
        tasks=TaskConfig(path="tasks.json"),
        model=at(agent, "openai/m"),
        user=ModelConfig(spec="scripted") if user is None else at(user, "llm/openai/u"),
        trials=4,
        max_steps=12,
    )
    return msgspec.structs.replace(config, **changes)


async def _roll(directory: Path, config: RolloutConfig, cache: SharedCache | None = None) -> list[Trajectory]:
    with RunStore.create(directory, config) as store:
        store.add_tasks([boats.task(1)])
        context = model_context(store, config, Services(progress=Quiet(), cache=cache))
        cast = Cast(
            model=models.build(config.model, context),
            domain=boats.DOMAIN,
            simulator=users.build(config.user, context),
            grader=DateGrader(),
        )
        try:
            await perform(store, cast, Quiet())
        finally:
            await cast.aclose()
        return [one.result for one in store.trials.of("move-1") if isinstance(one.result, Trajectory)]


def _different(_body: dict[str, Any], count: int) -> Step:
    """A server that never says the same twice."""
    return text(f"Answer number {count}. Which date would you like?")


def _said(trajectory: Trajectory) -> tuple[Message, ...]:
    return trajectory.messages()


async def test_trials_are_independent_and_repeat_for_nothing(tmp_path: Path, chat_server: Start) -> None:
    """RUN-06: four trials at temperature 1 are four conversations; a second run repeats them exactly, unasked."""
    agent, user = chat_server(_different), chat_server(lambda _, count: text(f"On the {count}th, please."))
    config = _config(agent, user, max_steps=3)
    with SharedCache(tmp_path / "calls.sqlite") as cache:
        first = await _roll(tmp_path / "one", config, cache)
        asked = (len(agent.requests), len(user.requests))
        second = await _roll(tmp_path / "two", config, cache)
    assert len({_said(one) for one in first}) == 4
    assert [_said(one) for one in second] == [_said(one) for one in first]
    assert (len(agent.requests), len(user.requests)) == asked and asked[0] == 12
    assert [one.usage.cost for one in second] == [one.usage.cost for one in first]
    assert all((one.usage.cost or 0) > 0 for one in first)
    assert second[0].metadata["user_usage"]["cost"] == first[0].metadata["user_usage"]["cost"]
    with RunStore.open(tmp_path / "two") as store:
        (row,) = summarise(store).per_task
    usage = [one.metadata["user_usage"] for one in second]
    assert row.user_tokens == sum(one["prompt_tokens"] + one["completion_tokens"] for one in usage) / 4 > 0


async def test_every_turn_is_asked_alike(tmp_path: Path, chat_server: Start) -> None:
    """USR-09: policy, tools, sampling settings and seed are the same in every turn; seeds differ between trials."""
    script = [text("Which date?"), call("get_booking", {"booking_id": "BK-1"}), text("Which seat?"), text("Goodbye.")]
    agent = chat_server(lambda _, count: script[count % 4])
    config = _config(agent, trials=3)
    model = msgspec.structs.replace(config.model, seed=40, concurrency=1, extra_body={"top_p": 0.5})
    await _roll(tmp_path / "run", msgspec.structs.replace(config, model=model))
    standing: dict[int, set[str]] = {}
    for body in agent.requests:
        assert body["messages"][0] == {"role": "system", "content": boats.POLICY}
        same = {key: value for key, value in body.items() if key != "messages"}
        standing.setdefault(body["seed"], set()).add(str(same))
    assert set(standing) == {40, 41, 42} and all(len(kinds) == 1 for kinds in standing.values())
    assert len(agent.requests) >= 9


async def test_exactly_one_user_message_opens_a_trial(tmp_path: Path, chat_server: Start) -> None:
    """USR-07: one opening, then agent and user take turns; each turn is stored once."""
    trajectories = await _roll(tmp_path / "run", _config(chat_server(_different), trials=1))
    kinds = [type(event) for event in trajectories[0].events]
    assert kinds[:2].count(Spoken) == 1
    assert all(one is not other for one, other in pairwise(kinds))
