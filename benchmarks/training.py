"""The lean loop against TRL's trainer: the same data and recipe, the loss curves side by side and the tokens a second.

Run: ``python benchmarks/training.py [--base new:qwen3?hidden=128] [--talks 24] [--steps 8] [--rounds 2]``; with
``--base local/smollm2 --talks 8 --steps 2`` it takes minutes. Both learn whole conversations of the built-in sample,
all decisions at once. The engines take turns, so that other work on the machine falls on both; of the rounds the best
counts, in processor seconds and in seconds. Exits 1 when a loss differs by more than 0.02 nats in float32 or 0.1 in
bfloat16, or the lean loop is the slower one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from turngap import formats, samples
from turngap.config import DataConfig
from turngap.data import Conversation
from turngap.models import hub
from turngap.models.templating import fitted
from turngap.training import base
from turngap.training.moment import Moment
from turngap.training.recipe import RECIPES, Recipe, overridden
from turngap.training.rendering import Rendered, Renderer
from turngap.training.vocabulary import texts_of

ENGINES = ("lean", "trl")
WANTED = {"fp32": 0.02, "bf16": 0.1}


class Run(msgspec.Struct, frozen=True):
    losses: list[float]
    cpu: float
    """Tokens per processor second, from the end of the first step on."""
    wall: float
    """The same per second."""


def run(engine: str, spec: str, talks: list[Conversation], recipe: Recipe) -> Run:
    from turngap.training import lean, sft  # noqa: PLC0415 - import torch, after `hub.prepare`

    loaded = base.load(spec, texts_of(talks))
    renderer = Renderer(fitted(loaded.tokenizer)[0])
    rendered = [one for one in map(renderer.conversation, talks) if isinstance(one, Rendered)]
    losses: list[float] = []
    times: list[tuple[float, float]] = []

    def watch(moment: Moment) -> None:
        losses.append(moment.loss)
        times.append((time.process_time(), time.monotonic()))

    with tempfile.TemporaryDirectory() as scratch:
        train = {"lean": lean.train, "trl": sft.train}[engine]
        found = train(loaded, recipe, rendered, [], Path(scratch), watch=watch)
    share = found.tokens * (len(losses) - 1) / len(losses)
    cpu, wall = (end - begin for begin, end in zip(times[0], times[-1], strict=True))
    return Run(losses, share / max(cpu, 1e-9), share / max(wall, 1e-9))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", default="new:qwen3?hidden=128&layers=4")
    parser.add_argument("--talks", type=int, default=24)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--precision", choices=list(WANTED), default="fp32")
    parser.add_argument("--set", action="append", default=[], help="of the recipe laptop, as for turngap train")
    given = parser.parse_args()
    hub.prepare("torch", "transformers", "trl", purpose="this benchmark")
    talks = list(formats.read(DataConfig(paths=(str(samples.path()),), limit=given.talks)))
    recipe = overridden(RECIPES["laptop"], [f"precision={given.precision}", "save=1000000", *given.set])
    recipe = msgspec.structs.replace(recipe, epochs=given.steps * recipe.batch / len(talks))
    runs: dict[str, list[Run]] = {engine: [] for engine in ENGINES}
    for _ in range(given.rounds):
        for engine in ENGINES:
            runs[engine].append(run(engine, given.base, talks, recipe))
            last = runs[engine][-1]
            print(f"{engine}: {last.cpu:,.0f} tokens per processor second, {last.wall:,.0f} per second", flush=True)
    ours, theirs = (runs[engine][0].losses for engine in ENGINES)
    for step, (one, two) in enumerate(zip(ours, theirs, strict=True), 1):
        print(f"step {step}: loss {one:.5f} lean, {two:.5f} trl")
    apart = max(abs(one - two) for one, two in zip(ours, theirs, strict=True))
    best = {engine: max(one.cpu for one in found) for engine, found in runs.items()}
    ratio = best["lean"] / best["trl"]
    print(f"{given.base}, {given.precision}: losses differ by at most {apart:.2g}; lean is {ratio:.2f} times as quick")
    sys.exit(apart > WANTED[given.precision] or ratio < 1)


if __name__ == "__main__":
    main()
