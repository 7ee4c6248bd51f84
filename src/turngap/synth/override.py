"""What a person adds to a tool graph and takes out of it: a TOML file.

::

    [[add]]                      # an edge that probing cannot see
    source = "book_reservation"
    target = "cancel_reservation"
    field = "reservation_id"     # optional: the whole result where it is left out
    parameter = "reservation_id"

    [[remove]]                   # every edge that fits what is said here
    source = "get_order_details"
    target = "get_item_details"

Both are checked against the domain's tools when the graph is built; a removal that removes nothing is an error.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from turngap import jsonio
from turngap.errors import DataError


class Addition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An edge to add; see `turngap.synth.graph.Edge`."""

    source: str
    target: str
    parameter: str
    field: str = ""


class Removal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Edges to take out: those that have every value given here."""

    source: str | None = None
    target: str | None = None
    field: str | None = None
    parameter: str | None = None

    def given(self) -> dict[str, str]:
        """What is said, by name."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class Overrides(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Additions and removals, in the order of the file."""

    add: tuple[Addition, ...] = ()
    remove: tuple[Removal, ...] = ()
    file: str = ""
    """Where they stand, for errors."""


def read(path: Path) -> Overrides:
    """Read a file of overrides.

    Raises:
        DataError: it cannot be read, is no TOML, or says something else than described above.
    """
    file = str(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert({**document, "file": file}, Overrides)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=file) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"no TOML: {error}", file=file) from None
    except msgspec.ValidationError as error:
        problem, where = jsonio.misfit(error)
        raise DataError(problem, file=file, field=where.strip(".")) from None
