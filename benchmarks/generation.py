"""What batches and memory are worth in `hf/`: tokens a second of several conversations at once against one by one.

Run: ``python benchmarks/generation.py [FOLDER] [--talks 6] [--decisions 4] [--tokens 20]``. Without a folder
`local/smollm2` is taken. The requests are decisions of the built-in sample on recorded history, in the order of the
conversations. Three runs have the same requests: everything anew for each request, one by one with memory, and all
conversations at once with memory. Answers are compared token by token at temperature 0. Rates are of processor seconds,
since other work on a machine stretches the clock.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from turngap import formats, samples
from turngap.config import DataConfig
from turngap.data import decisions
from turngap.models import hub
from turngap.models.asking import Answer, Ask
from turngap.models.templating import Templated, fitted
from turngap.training import base


def asks(templated: Templated, talks: int, count: int, tokens: int) -> list[list[Ask]]:
    """The requests of each conversation."""
    found = []
    for one in formats.read(DataConfig(paths=(str(samples.path()),), limit=talks)):
        chosen = list(decisions(one))[:count]
        prompts = [templated.prompt(one.policy, one.tools, one.messages[: decision.position]) for decision in chosen]
        found.append([Ask(prompt=tuple(templated.tokens(prompt)), most=tokens) for prompt in prompts])
    return found


def run(folder: Path, stops: frozenset[int], requests: list[list[Ask]], *, rows: int, memory: bool) -> list[Answer]:
    """All answers, in the order of the requests; prints what they cost."""
    from turngap.models.generation import Generator  # noqa: PLC0415 - imports torch, after `hub.prepare`

    generator = Generator(folder, rows=rows, stops=sorted(stops))
    waiting = [list(enumerate(talk)) for talk in requests]
    answers: dict[tuple[int, int], Answer] = {}
    under_way: dict[int, tuple[int, int]] = {}
    began, cpu = time.monotonic(), time.process_time()
    while any(waiting) or generator.busy:
        for talk, rest in enumerate(waiting):
            if rest and generator.free and all(talk != other for other, _ in under_way.values()):
                index, ask = rest.pop(0)
                if not memory:
                    generator.forget()
                under_way[generator.begin(ask)] = (talk, index)
        for number, answer in generator.step():
            answers[under_way.pop(number)] = answer
    wall, cpu = time.monotonic() - began, time.process_time() - cpu
    found = [answers[place] for place in sorted(answers)]
    tokens = sum(one.generated for one in found)
    print(
        f"{rows} at once, {'with' if memory else 'without'} memory: {len(found)} answers, {tokens} tokens, "
        f"{tokens / cpu:.1f} tokens per processor second, {tokens / wall:.1f} per second; "
        f"{sum(one.reused for one in found)} prompt tokens known",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--talks", type=int, default=6)
    parser.add_argument("--decisions", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=20)
    given = parser.parse_args()
    hub.prepare("torch", "transformers", purpose="this benchmark")
    folder = base.folder_of(given.folder or "local/smollm2")
    templated, _ = fitted(base.load_tokenizer(str(folder)))
    requests = asks(templated, given.talks, given.decisions, given.tokens)
    prompt = sum(len(ask.prompt) for talk in requests for ask in talk)
    print(f"{folder.name}: {sum(map(len, requests))} requests, {prompt} prompt tokens")
    alone = run(folder, templated.stops(), requests, rows=1, memory=True)
    together = run(folder, templated.stops(), requests, rows=given.talks, memory=True)
    anew = run(folder, templated.stops(), requests, rows=1, memory=False)
    for name, others in (("at once", together), ("anew", anew)):
        differ = sum(one.tokens != two.tokens for one, two in zip(alone, others, strict=True))
        print(f"{differ} of {len(alone)} answers differ between one by one with memory and {name}")


if __name__ == "__main__":
    main()
