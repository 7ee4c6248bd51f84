"""A made-up shop of 30 customers, as a file, for tests of synthesis."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from turngap import jsonio
from turngap.domains.retail.generate import Sizes, generate


@cache
def _database(seed: int) -> bytes:
    return jsonio.encode(generate(seed, Sizes(categories=25, users=30, orders=120)).tables())


def made_shop(folder: Path, seed: int = 5) -> str:
    """Write a database into a folder; the spec of its domain."""
    path = folder / f"shop{seed}.json"
    path.write_bytes(_database(seed))
    return f"retail?db={path}"
