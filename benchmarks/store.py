"""What the run directory costs: units a second, bytes on disk, and memory that does not grow with the run.

Run: ``python benchmarks/store.py [TRAJECTORIES]`` (default 4,000; 20,000 of 50 KB need 450 MB of disk and a minute).
Exits 1 when reading all scores and counting all units takes more than 200 MB.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from turngap.analysis.summary import summarise
from turngap.config import DataConfig, EvalConfig, ModelConfig
from turngap.data import Acted, AssistantMessage, Conversation, Prediction, Score, Trajectory, UserMessage
from turngap.runs import RunStore

UNITS = 10_000
WANTED_MB = 200
CONFIG = EvalConfig(data=DataConfig(paths=("x",)), model=ModelConfig(spec="openai/pelican"), protocols=("replay",))


def conversations(count: int) -> Iterator[Conversation]:
    """Conversations with one decision."""
    for number in range(count):
        messages = (UserMessage(content=f"hello {number}"), AssistantMessage(content="good day"))
        yield Conversation(id=f"c{number}", policy="Be kind. " * 40, messages=messages)


def trajectories(count: int) -> Iterator[Trajectory]:
    """Closed loops of about 50 KB of words."""
    chance = random.Random(1)
    words = [f"word{number}" for number in range(3000)]
    for number in range(count):
        events = tuple(
            Acted(message=AssistantMessage(content=" ".join(chance.choices(words, k=1250)))) for _ in range(5)
        )
        yield Trajectory(conversation=f"c{number}", events=events, completed=True, steps=5)


def scores(count: int) -> Iterator[Score]:
    """One replay score for each conversation."""
    for number in range(count):
        values = {"completed": 1.0, "steps": 5.0, "rejected": 0.0, "recovered": 0.0}
        yield Score(
            protocol="replay",
            conversation=f"c{number}",
            decision=None,
            kind="chat",
            success=True,
            cause=None,
            values=values,
        )


def peak_mb() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(what: str, count: int, work: Callable[[], object]) -> None:
    """Time something, and print it by unit."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what:44}{count:>8}{wall / count * 1e6:>11.1f}{cpu / count * 1e6:>11.1f}{peak_mb():>10.0f}")


def main(count: int) -> int:
    """Measure and print; the exit code."""
    print(f"{'':44}{'units':>8}{'wall us':>11}{'CPU us':>11}{'peak MB':>10}")
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        answer = Prediction(message=AssistantMessage(content="x" * 300), raw="y" * 600)
        with RunStore.create(directory, CONFIG) as store:
            show("take in conversations", count, lambda: store.add_conversations(conversations(count)))
            show(
                "commit predictions of 1 KB",
                UNITS,
                lambda: [store.put_prediction(f"c{number // 10}", number % 10, answer) for number in range(UNITS)],
            )
            show(
                "commit calls of 700 bytes",
                UNITS,
                lambda: [store.calls.put(f"{hash(number):064x}", b"z" * 700) for number in range(UNITS)],
            )
            show("look for calls", UNITS, lambda: [store.calls.get(f"{hash(number):064x}") for number in range(UNITS)])
            show(
                "make and commit trajectories of 50 KB",
                count,
                lambda: [store.put_trajectory(each.conversation, each) for each in trajectories(count)],
            )
            show("replace scores", count, lambda: store.replace_scores("replay", scores(count)))
            store.set_note("model", {"label": "pelican", "identity": {}})
            store.set_note("state", "finished")
        print(f"{'':44}{sum(path.stat().st_size for path in directory.iterdir()) / 2**20:>8.0f} MB on disk")
        with RunStore.create(directory, CONFIG) as store:
            show("compare the data on resume", count, lambda: store.add_conversations(conversations(count)))
            show("count what is done", count, lambda: (store.count_predictions(), store.replayed()))
        with RunStore.open(directory) as store:
            show("stream all scores", count, lambda: sum(1 for _ in store.scores()))
            show("sum up", count, lambda: summarise(store))
    return 0 if peak_mb() < WANTED_MB else 1


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000))
