"""Addresses and who answers them: what a ``*_routes`` module hands to `turngap.web.app`.

A handler is a plain function of a request that gives a response, both Starlette's. It runs in a thread of its own, may
take its time, and opens the stores that it reads. It raises ordinary errors: `Unknown` becomes "not found", `BadQuery`
"not understood", any other `TurngapError` a page with its one line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from turngap.errors import MissingExtra, UsageError

try:
    from starlette.requests import Request
    from starlette.responses import Response
except ImportError as error:
    raise MissingExtra(f"the viewer needs the package {error.name or 'fastapi'}: pip install 'turngap[view]'") from None

T = TypeVar("T")

Handler = Callable[[Request], Response]
Writer = Callable[[Request, bytes], Response]
"""The same for what is posted, which it is given."""


class BadQuery(UsageError):
    """The part of an address behind the question mark makes no sense."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of address."""

    path: str
    """With fields in braces for single segments, such as ``/r/{run}``; ``request.path_params`` has them."""
    handler: Handler
    writer: Writer | None = None
    """Who takes what is posted there. Its only field, if it has one, is ``{run}``."""
    copied: tuple[str, ...] | None = None
    """The query fields that tell pages of a static copy apart; links lose all others. None: not part of a copy."""


def ask(request: Request, kind: type[T]) -> T:
    """The query of a request as a Struct: texts become numbers and flags where its fields say so.

    Fields that are absent or empty have their default; unknown ones do not matter; of a repeated one the last counts.

    Raises:
        BadQuery: a value that its field cannot have.
    """
    given = {name: value for name, value in request.query_params.items() if value != ""}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadQuery(f"this address is not understood: {error}") from None
