"""`turngap domain generate`: write a made-up database; the same one for the same seed and sizes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from turngap import jsonio
from turngap.domains.retail import schema
from turngap.domains.retail.generate import Sizes, generate
from turngap.domains.retail.spread import Spread
from turngap.errors import StoreError, UsageError

domain = typer.Typer(name="domain", add_completion=False, rich_markup_mode=None, help="Prepare domains to live in.")
_generate = typer.Typer(name="generate", rich_markup_mode=None, help="Write a made-up database of a domain.")
domain.add_typer(_generate)
_USUAL = Sizes()


@domain.callback()
def _domain() -> None:
    """Prepare domains to live in."""


@_generate.callback()
def _databases() -> None:
    """Write a made-up database of a domain."""


@_generate.command("retail")
def generate_retail(
    seed: Annotated[int, typer.Option(min=0, help="The same seed and sizes give the same database.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; standard output if not given.")
    ] = None,
    avoid: Annotated[
        list[Path] | None,
        typer.Option(metavar="DB", help="A database of which no id, name or e-mail may occur again; may be repeated."),
    ] = None,
    categories: Annotated[int, typer.Option(help="Products.")] = _USUAL.categories,
    variants: Annotated[str, typer.Option(metavar="LOW-HIGH", help="Variants of a product.")] = "5-20",
    variants_mean: Annotated[
        float | None, typer.Option(help="Of their number; 11 for 5-20, and as far up in another range.")
    ] = None,
    variants_sd: Annotated[
        float | None, typer.Option(help="Standard deviation of their number; 4 for 5-20, and in proportion.")
    ] = None,
    users: Annotated[int, typer.Option(help="Customers.")] = _USUAL.users,
    orders: Annotated[int, typer.Option(help="Orders of all customers together.")] = _USUAL.orders,
    items: Annotated[str, typer.Option(metavar="LOW-HIGH", help="Items of an order.")] = "1-5",
) -> None:
    """Write a made-up retail database, in the schema of tau2-bench's."""
    low, high = _range(variants, "--variants")
    usual = _USUAL.variants
    part = (high - low) / (usual.high - usual.low)
    spread = Spread(
        low,
        high,
        low + (usual.mean - usual.low) * part if variants_mean is None else variants_mean,
        usual.sd * part if variants_sd is None else variants_sd,
    )
    sizes = Sizes(categories=categories, variants=spread, users=users, orders=orders, items=_range(items, "--items"))
    if output is not None:
        _check_target(output, avoid or [])
    database = generate(seed, sizes, [schema.read(path) for path in avoid or []])
    text = jsonio.dumps(database.tables(), indent=2) + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    try:
        jsonio.write_atomic(output, text)
    except OSError as error:
        raise StoreError(f"{output}: cannot be written: {error.strerror}") from None
    pieces = sum(len(product.variants) for product in database.products.values())
    sys.stderr.write(
        f"turngap: {len(database.products)} products with {pieces} variants, {len(database.users)} users, "
        f"{len(database.orders)} orders written to {output}; use it as --domain 'retail?db={output}'\n"
    )


def _range(text: str, option: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text, re.ASCII)
    if found is None or int(found[1]) > int(found[2] or found[1]):
        raise UsageError(f"{option} should be LOW-HIGH, such as 5-20, not {text!r}")
    return int(found[1]), int(found[2] or found[1])


def _check_target(output: Path, avoid: list[Path]) -> None:
    if any(path.resolve() == output.resolve() for path in avoid):
        raise UsageError(f"{output}: is to be avoided and would be overwritten; name another file")
    if output.is_dir() or not output.parent.is_dir():
        raise UsageError(f"{output}: not a file in an existing folder; name one")
