"""How quick the viewer is on a large run: index, first paint, filters, search and scrolling at 100,000 conversations.

Run: ``python benchmarks/viewer.py [CONVERSATIONS] [--keep FOLDER] [--again]`` (default 100,000: some minutes, 2 GB of
disk; ``--keep`` keeps the run, and uses it again; ``--again`` uses its index, too). The conversations are packaged
samples, cut to a few decisions and evaluated once; copies of them, with an id and a ticket number of their own, are
written straight into a store. With Chromium and Playwright what a person sees is measured too. Figures are wall time,
so other work on the machine only ever lengthens them; beside answers of the server stands the CPU time of asking and
answering. Exits 1 when a first paint takes a second or more, or a filter or search 300 ms or more.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec

from turngap import samples
from turngap.analysis.summary import summarise, to_document
from turngap.config import DataConfig, EvalConfig, ModelConfig, ReplayConfig
from turngap.data import Conversation, Prediction, Score, Trajectory, UserMessage, segments
from turngap.engines import Quiet
from turngap.protocols.evaluate import Services, evaluate
from turngap.runs.blob import pack
from turngap.runs.store import DATABASE, RunStore
from turngap.web import guarding
from turngap.web.app import create
from turngap.web.indexing import Indexer, folder
from turngap.web.serving import Bound
from turngap.web.shelf import Shelf

UNITS = 100_000
WANTED_PAINT, WANTED_ANSWER = 1000.0, 300.0  # milliseconds
DECISIONS = 3  # at most, of each conversation
MODEL = ModelConfig(spec="baseline/noisy?p_text=0.9&p_tool=0.7")
PAGES = {
    "list, again": "r/r1",
    "list, in the middle": "r/r1?at=50000",
    "overview": "",
}
ASKED = {
    "filter by result": "protocol=replay&result=failed",
    "filter by two results": "protocol=turn&result=passed&protocol=workflow&result=failed",
    "filter by category": "category=wrong_tool",
    "filter by tool": "tool=get_order&tool=cancel_order",
    "filter by length": "min=3&max=3",
    "search for one ticket": "q=ticket%2077777",
    "search for a word": "q=cancel",
    "search for a phrase": "q=%22order+LF%22",
    "search for beginnings": "q=retur*+blank*",
    "search and filter": "q=order&protocol=replay&result=failed&in=own",
    "sort by length": "sort=-length",
    "sort by id": "sort=-id",
}


class Template(msgspec.Struct, frozen=True):
    """A conversation with everything that a run holds of it."""

    conversation: Conversation
    predictions: dict[int, Prediction]
    trajectory: Trajectory
    scores: tuple[tuple[str, Score], ...]


def cut(conversation: Conversation) -> Conversation:
    """The first turns of a conversation, with the tools that they use."""
    end = 0
    made = 0
    for turn in segments(conversation):
        made += len(turn.decisions)
        if end and made > DECISIONS:
            break
        end = turn.end
    kept = conversation.messages[:end]
    used = {call.name for message in kept for call in getattr(message, "calls", ())}
    tools = tuple(tool for tool in conversation.tools if tool.name in used)
    return msgspec.structs.replace(conversation, messages=kept, tools=tools, policy=conversation.policy[:200])


def templates(place: Path) -> list[Template]:
    """Evaluate the cut samples once."""
    with RunStore.create(place / "source", config()) as store:
        from turngap import formats  # noqa: PLC0415 - only here

        found = formats.read(DataConfig(paths=(str(samples.path()),)))
        store.add_conversations(map(cut, found))
        cuts = list(store.conversations())
    data = place / "cut.jsonl"
    from turngap.formats.writer import write_openai  # noqa: PLC0415 - only here

    write_openai(cuts, data)
    asyncio.run(evaluate(config(data), place / "small", Services(progress=Quiet())))
    made = []
    with RunStore.open(place / "small") as store:
        scores: dict[str, list[tuple[str, Score]]] = {}
        for scorer, score in store.scores():
            scores.setdefault(score.conversation, []).append((scorer, score))
        for conversation in store.conversations():
            predictions = store.predictions(conversation.id)
            trajectory = store.trajectory(conversation.id)
            assert isinstance(trajectory, Trajectory)
            given = {at: one for at, one in predictions.items() if isinstance(one, Prediction)}
            made.append(Template(conversation, given, trajectory, tuple(scores[conversation.id])))
    return made


def config(data: Path = Path("samples")) -> EvalConfig:
    """What the run says it was asked for."""
    return EvalConfig(data=DataConfig(paths=(str(data),)), model=MODEL, replay=ReplayConfig(after_failure="continue"))


def build(directory: Path, count: int) -> None:
    """Write a run of so many conversations."""
    with tempfile.TemporaryDirectory() as place:
        made = templates(Path(place))

    def name(number: int) -> str:
        return f"{made[number % len(made)].conversation.id}/{number:06}"

    def conversations() -> Iterator[Conversation]:
        for number in range(count):
            one = made[number % len(made)].conversation
            first = next(at for at, message in enumerate(one.messages) if isinstance(message, UserMessage))
            said = UserMessage(content=f"{one.messages[first].content} This is about ticket {number}.")
            messages = (*one.messages[:first], said, *one.messages[first + 1 :])
            yield msgspec.structs.replace(one, id=name(number), messages=messages)

    def scores(scorer: str) -> Iterator[Score]:
        for number in range(count):
            for owner, score in made[number % len(made)].scores:
                if owner == scorer:
                    yield msgspec.structs.replace(score, conversation=name(number))

    with RunStore.create(directory, config()) as store:
        store.add_conversations(conversations())
    with sqlite3.connect(directory / DATABASE) as connection:
        connection.executemany(
            "INSERT INTO prediction VALUES (?, ?, 0, ?)",
            (
                (name(number), at, pack(one))
                for number in range(count)
                for at, one in made[number % len(made)].predictions.items()
            ),
        )
        connection.executemany(
            "INSERT INTO trajectory VALUES (?, 0, ?)",
            (
                (
                    name(number),
                    pack(msgspec.structs.replace(made[number % len(made)].trajectory, conversation=name(number))),
                )
                for number in range(count)
            ),
        )
    connection.close()
    with RunStore.open(directory, write=True) as store:
        for scorer in sorted({owner for one in made for owner, _ in one.scores}):
            store.replace_scores(scorer, scores(scorer))
        store.set_note("state", "finished")
    with RunStore.open(directory) as store:
        store.write_metrics(to_document(summarise(store)))


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[str]:
    """A server of its own for the run; what it keeps in memory is gone afterwards."""
    with Bound("127.0.0.1", 0) as bound:
        server = bound.server(create(Shelf.open([directory]), guarding.local()))
        thread = threading.Thread(target=server.run, kwargs={"sockets": bound.sockets})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield bound.address
        finally:
            server.should_exit = True
            thread.join()


class Answer(msgspec.Struct, frozen=True):
    """What the server said."""

    body: bytes
    wall: float
    """Milliseconds until all of it was there."""
    cpu: float
    """Milliseconds that this process worked for it, asking included."""


def timed(address: str) -> Answer:
    """Ask for something."""
    began, worked = time.perf_counter(), time.process_time()
    with urlopen(address, timeout=60) as answer:
        body = answer.read()
    return Answer(body, 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - worked))


def until_rows(address: str) -> float:
    """Milliseconds until a page has rows, asked for as often as it takes."""
    spent = 0.0
    while True:
        one = timed(address)
        spent += one.wall
        if b'aria-posinset="1"' in one.body:
            return spent


def told(what: str, milliseconds: float, wanted: float | None = None, more: str = "") -> bool:
    """Print a figure; whether it is what is wanted."""
    good = wanted is None or milliseconds < wanted
    bound = "" if wanted is None else f"  < {wanted:.0f}{'' if good else '  MISSED'}"
    print(f"{what:44}{milliseconds:>10.1f} ms{bound}{more}", flush=True)
    return good


def measure_index(directory: Path) -> None:
    """Build the index from nothing, without anybody asking meanwhile."""
    shutil.rmtree(folder(os.environ), ignore_errors=True)
    run = Shelf.open([directory]).runs[0]
    indexer = Indexer(run, folder(os.environ))
    began, worked = time.perf_counter(), time.process_time()
    indexer.start()
    while not indexer.index.columns.count:
        time.sleep(0.001)
    told("index: first rows", 1000 * (time.perf_counter() - began))
    stage, since = "", began
    while not indexer.progress.complete:
        now = indexer.progress
        if now.problem:
            raise SystemExit(now.problem)
        if now.stage != stage:
            if stage:
                told(f"index: {stage}", 1000 * (time.perf_counter() - since))
            stage, since = now.stage, time.perf_counter()
        time.sleep(0.05)
    told(f"index: {stage}", 1000 * (time.perf_counter() - since))
    told("index: all of it", 1000 * (time.perf_counter() - began), more=f"  CPU {time.process_time() - worked:.0f} s")
    size = sum(file.stat().st_size for file in folder(os.environ).iterdir())
    print(f"index: {size / 1e6:.0f} MB for a run of {(directory / DATABASE).stat().st_size / 1e6:.0f} MB")
    indexer.stop()


def measure_server(directory: Path) -> bool:
    """Answers of a server that has just begun, then of one that is warm."""
    with serving(directory) as address:
        good = told("server: list with rows, first of all", until_rows(f"{address}r/r1"), WANTED_PAINT)
        for what, path in PAGES.items():
            one = timed(f"{address}{path}")
            more = f"  CPU {one.cpu:.0f}, {len(one.body) / 1000:.0f} kB"
            good &= told(f"server: {what}", one.wall, WANTED_PAINT, more)
        for what, query in ASKED.items():
            tries = [timed(f"{address}api/r/r1/units?{query}&facets=1") for _ in range(5)]
            window = msgspec.json.decode(tries[0].body)["window"]
            again = statistics.median(one.wall for one in tries[1:])
            more = f"  CPU {tries[0].cpu:.0f}, again {again:.1f}, {window['total']:,} units"
            good &= told(f"server: {what}", tries[0].wall, WANTED_ANSWER, more)
    return good


def measure_browser(directory: Path) -> bool:
    """What a person sees."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - may be missing
    except ImportError:
        print("browser: not measured, playwright is not installed")
        return True
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("browser: not measured, there is no Chromium")
        return True
    good = True
    with serving(directory) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for what in ("first of all", "again"):
            page.goto(f"{address}r/r1")
            page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            good &= told(f"browser: first contentful paint, {what}", paint, WANTED_PAINT)
            page.wait_for_selector("#units a")
            told(f"browser: rows, {what}, at most", page.evaluate("performance.now()"))
        page.wait_for_selector("#result-replay", state="attached")
        good &= told("browser: choose a result", acted(page, CHOOSE, ["replay", "failed"]), WANTED_ANSWER)
        good &= told("browser: and a tool", acted(page, TICK, "get_order"), WANTED_ANSWER)
        spent = acted(page, TYPE, "ticket 77777")
        good &= told("browser: search, typing pause included", spent, WANTED_ANSWER + 150)
        page.goto(f"{address}r/r1")
        page.wait_for_timeout(500)
        good &= told("browser: jump to the middle", acted(page, SCROLL, 0.5), WANTED_ANSWER)
        rows = page.locator("#units li").count()
        print(f"browser: {rows} rows exist of {page.locator('#total').inner_text()}")
        browser.close()
    return good


# Each does something and gives the milliseconds until the page shows what came of it.
_UNTIL = """
const until = (condition) => new Promise((resolve) => {
  const done = () => resolve(performance.now() - began);
  const look = () => (condition() ? requestAnimationFrame(done) : setTimeout(look, 4));
  look();
});
const total = document.getElementById('total').textContent;
const waiting = () => document.querySelector('#units .waiting') !== null;
const changed = () => document.getElementById('total').textContent !== total && !waiting();
const began = performance.now();
"""
CHOOSE = """
const select = document.getElementById(`result-${given[0]}`);
select.value = given[1];
select.dispatchEvent(new Event('change', { bubbles: true }));
return until(changed);
"""
TICK = """
document.querySelector(`input[name="tool"][value="${given}"]`).click();
return until(changed);
"""
TYPE = """
const field = document.getElementById('q');
field.value = given;
field.dispatchEvent(new Event('input', { bubbles: true }));
return until(changed);
"""
SCROLL = """
scrollTo(0, document.documentElement.scrollHeight * given);
await new Promise((resolve) => setTimeout(resolve, 32));
return until(() => !waiting());
"""


def acted(page: Any, script: str, given: object) -> float:
    """Milliseconds that something took in the page."""
    spent: float = page.evaluate(f"async (given) => {{ {_UNTIL} {script} }}", given)
    return spent


def main(arguments: list[str]) -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=UNITS)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TURNGAP_CACHE"] = str((options.keep or Path(temporary)) / "cache")
        directory: Path = (options.keep or Path(temporary)) / f"run-{options.count}"
        if not directory.exists():
            began = time.perf_counter()
            build(directory, options.count)
            print(f"a run of {options.count:,} conversations, made in {time.perf_counter() - began:.0f} s")
        if not options.again:
            measure_index(directory)
        good = measure_server(directory)
        good &= measure_browser(directory)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
