"""Peak memory of `turngap inspect` on a large JSONL file, against a small one.

    python benchmarks/inspect_memory.py [MEGABYTES]

Writes a file of chat-completions records (tools, several calls, oddities, personal data) to a temporary folder,
inspects it in a fresh process, and prints CPU seconds, megabytes a second and the peak resident memory of that process.
A reader that held the file would need several times its size; the peak must not grow with it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name.replace('_', ' ')} of the boat hire",
            "parameters": {"type": "object", "properties": {"id": {"type": "string"}, "text": {"type": "string"}}},
        },
    }
    for name in ("get_booking", "move_booking", "add_note", "find_customer")
]


def record(number: int, source: random.Random) -> dict:
    words = " ".join(source.choices(["boat", "lake", "morning", "seats", "Ünïcode", "deposit", "harbour"], k=40))
    messages: list[dict] = [{"role": "system", "content": f"You work for a boat hire. {words}"}]
    for turn in range(source.randint(2, 8)):
        messages.append(
            {"role": "user", "content": f"Booking BK-{number}-{turn}, mail ann{number}@example.org. {words}"}
        )
        call = {"id": f"c{turn}", "type": "function", "function": {"name": source.choice(_TOOLS)["function"]["name"]}}
        call["function"]["arguments"] = json.dumps({"id": f"BK-{number}"}) if source.random() > 0.02 else '{"id": '
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        if source.random() > 0.02:
            messages.append(
                {"role": "tool", "tool_call_id": f"c{turn}", "content": json.dumps({"ok": True, "text": words})}
            )
        messages.append({"role": "assistant", "content": f"Done. {words}"})
    return {"messages": messages, "tools": _TOOLS}


def write(path: Path, size: int) -> int:
    source = random.Random(0)
    count = 0
    with path.open("w", encoding="utf-8") as stream:
        while stream.tell() < size:
            stream.write(json.dumps(record(count, source), ensure_ascii=False) + "\n")
            count += 1
    return count


def measure(path: Path) -> tuple[float, float, dict]:
    """CPU seconds, peak resident MiB, and the report."""
    out = path.with_suffix(".report")
    with out.open("wb") as stream:
        child = subprocess.Popen([sys.executable, "-m", "turngap", "inspect", str(path), "--json"], stdout=stream)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, child.returncode
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, json.loads(out.read_text())


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        for size in (2, megabytes):
            path = Path(folder) / f"{size}.jsonl"
            count = write(path, size * 10**6)
            seconds, peak, report = measure(path)
            assert report["read"] == count, (report["read"], count)
            print(
                f"{path.stat().st_size / 1e6:7.1f} MB, {count:6d} conversations: {seconds:6.1f} s CPU, "
                f"{path.stat().st_size / 1e6 / seconds:5.1f} MB/s, peak {peak:6.1f} MiB"
            )


if __name__ == "__main__":
    main()
