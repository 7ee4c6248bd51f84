"""What tests of reports share: hostile texts, a run that holds them, and a document that is nothing but them."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from turngap.config import DataConfig, EvalConfig, ModelConfig, ReplayConfig
from turngap.engines import Quiet
from turngap.protocols.evaluate import Services, evaluate
from turngap.report.document import (
    Cell,
    Chart,
    Column,
    Document,
    Failed,
    Failures,
    Line,
    Mark,
    Passage,
    Section,
    Table,
)

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "$\\href{javascript:alert(1)}{go}$",
    "<scratchpad>secret plan</scratchpad> ok <b>bold</b> &amp; 1 < 2",
    "\"'><svg onload=alert(1)>",
    "<!-- <script>",
    "{{ 7 * 7 }}{% raw %}",
    "שלום, ההזמנה שלך היא BK-1042!",
    "left \u202eright to left override\u202c and back",
)
"""SEC-07, VIEW-01: markup, scripts, links, formulas, templates, and text that runs from right to left."""
PROBE = "".join(HOSTILE)


def evaluated(directory: Path, data: Path, model: str, **other: Any) -> Path:
    """Evaluate a model on a file; the run directory."""
    config = EvalConfig(data=DataConfig(paths=(str(data),)), model=ModelConfig(spec=model), **other)
    with ThreadPoolExecutor(1) as thread:  # a browser that is open occupies this thread's event loop
        thread.submit(lambda: asyncio.run(evaluate(config, directory, Services(progress=Quiet())))).result()
    return directory


def hostile_data(path: Path, record: dict[str, Any]) -> Path:
    """Conversations whose ids, messages, results, argument keys and values are hostile."""
    records = []
    for at, text in enumerate(HOSTILE):
        one = json.loads(json.dumps(record))
        one["id"] = f"{text} {at}"
        messages = one["messages"]
        messages[1]["content"] += f" {text}"
        messages[2]["tool_calls"][0]["function"]["arguments"] = json.dumps({"booking_id": text, f"key {text}": 1})
        messages[3]["content"] = text + "x" * (200_000 if at == 0 else 10)
        messages[4]["content"] = f"{text}\r\n\ttab and line"
        records.append(json.dumps(one))
    path.write_text("\n".join(records), encoding="utf-8")
    return path


def hostile_run(tmp_path: Path, record: dict[str, Any], model: str = "baseline/noisy?p_text=0&p_tool=0") -> Path:
    """A run over `hostile_data` in which every replay fails, with every section of a report."""
    data = hostile_data(tmp_path / "hostile.jsonl", record)
    return evaluated(
        tmp_path / "<b>run</b>",
        data,
        model,
        protocols=("text", "turn", "strict", "replay", "workflow", "horizon"),
        replay=ReplayConfig(after_failure="continue"),
    )


def hostile_document() -> Document:
    """Hostile text in every place where a document has text."""
    marks = tuple(
        Mark(series=text, at=other, value=0.5, low=0.25, high=0.75, n=4)
        for text in HOSTILE
        for other in (PROBE, "plain")
    )
    numbers = tuple(Mark(series=text, at=at, value=0.5, expected=at == 2) for text in HOSTILE for at in (1, 2))
    table = Table(
        caption=PROBE,
        columns=(Column(title=PROBE, group=PROBE), Column(title="n", number=True)),
        rows=((Cell(text=PROBE, note=PROBE, kind="head"), Cell(text="1", kind="number")),),
    )
    common: dict[str, Any] = {"title": PROBE, "alt": PROBE, "value_title": PROBE, "at_title": PROBE}
    names = {"at_order": (PROBE, "plain"), "series_order": HOSTILE, "marks": marks}
    charts = (
        Chart(name="points", kind="points", **common, **names),
        Chart(name="bars", kind="bars", **common, **names),
        Chart(name="lines", kind="lines", **common, series_order=HOSTILE, marks=numbers),
        Chart(name="ranks", kind="ranks", data=table, **common, **names),
    )
    line = Line(who="agent", label=PROBE, text=PROBE, mark=PROBE, good=False, more=3)
    failed = Failed(
        conversation=PROBE,
        category=PROBE,
        place=PROBE,
        reason=PROBE,
        notes=(PROBE,),
        before=(line,),
        sides=(Passage(title=PROBE, lines=(), nothing=PROBE), Passage(title=PROBE, lines=(line, Line(who="result")))),
        tables=(table, msgspec.structs.replace(table, folded=True)),
        folds=(Passage(title=PROBE, lines=(msgspec.structs.replace(line, at=PROBE),)),),
    )
    section = Section(
        key="all",
        title=PROBE,
        lead=(PROBE,),
        findings=(PROBE,),
        tables=(table,),
        charts=charts,
        failures=(Failures(run=PROBE, shown=(failed,), total=2, noun=PROBE),),
        notes=(PROBE,),
    )
    return Document(title=PROBE, subtitle=PROBE, sections=(section,), made_with=PROBE)
