"""The retail domain, from what a person types: ``retail``, ``retail?seed=3`` or ``retail?db=FILE``.

A seed stands for the database that `turngap domain generate retail --seed` writes with its usual sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from turngap.domains.api import Domain
from turngap.domains.loading import DomainSpec
from turngap.domains.retail import schema
from turngap.domains.retail.generate import generate
from turngap.domains.retail.rules import RULES
from turngap.domains.retail.tools import TOOLS, Shop
from turngap.errors import UsageError


def build(spec: DomainSpec) -> Domain:
    """The domain that a spec names.

    Raises:
        UsageError: an option is unknown or makes no sense. DataError: the file is no retail database.
    """
    spec.only("seed", "db")
    if "db" in spec.options:
        if "seed" in spec.options:
            raise UsageError(f"domain {spec.text!r}: a database is either read (db) or made (seed); give one of them")
        return retail(_tables(schema.read(Path(spec.options["db"]))))
    seed = spec.options.get("seed", "0")
    if not (seed.isascii() and seed.isdigit()):
        raise UsageError(f"domain {spec.text!r}: seed should be a whole number, not {seed!r}")
    return retail(lambda: _tables(generate(int(seed))))


def retail(database: Any) -> Domain:
    """The domain on a database: its tables, or a function that makes them."""
    return Domain(
        name="retail",
        policy=files(__package__).joinpath("policy.md").read_text(encoding="utf-8"),
        state=Shop,
        database=database,
        tools=TOOLS,
        rules=RULES,
    )


def _tables(database: schema.Database) -> Mapping[str, Any]:
    return {"products": database.products, "users": database.users, "orders": database.orders}
