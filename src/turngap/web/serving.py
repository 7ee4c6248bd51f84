"""A socket, and the server on it: binds at once and says so, serves until it is interrupted.

Nothing is logged: addresses hold what a person looks at, and once the token. An internal error is one line, as
everywhere in turngap.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from ipaddress import ip_address
from typing import Self

from turngap.errors import MissingExtra, UsageError
from turngap.web.guarding import App

try:
    import uvicorn
except ImportError as error:
    raise MissingExtra(f"the viewer needs the package {error.name or 'uvicorn'}: pip install 'turngap[view]'") from None

_SECONDS_TO_END = 1


class Bound:
    """A port that is ours."""

    def __init__(self, host: str, port: int) -> None:
        """Take the port; 0 takes one that is free.

        Raises:
            UsageError: the port is in use or may not be used, or the host is none of this machine's.
        """
        try:
            family, _, _, _, place = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE if not host else 0
            )[0]
        except (OSError, UnicodeError) as error:
            raise UsageError(f"--host {host}: {_reason(error)}; name an address of this machine") from None
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            # A port of a server that has just ended may be taken again; one that somebody listens at may not.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(place)
            self._socket.listen(128)
        except OSError as error:
            self._socket.close()
            raise UsageError(
                f"--port {port} on {host}: {_reason(error)}; name another one, or leave it out for a free one"
            ) from None
        self.host = host
        self.port: int = self._socket.getsockname()[1]

    @property
    def is_local(self) -> bool:
        """Whether this machine alone can reach it."""
        return ip_address(self._socket.getsockname()[0].partition("%")[0]).is_loopback

    @property
    def address(self) -> str:
        """Where a browser finds it, ending in a slash."""
        place = ip_address(self._socket.getsockname()[0].partition("%")[0])
        name = socket.gethostname() if place.is_unspecified else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/"

    def server(self, app: App) -> uvicorn.Server:
        """A server for an application; `serve` or a thread of the caller's runs it on `sockets`."""
        logger = logging.getLogger("uvicorn.error")
        logger.handlers = [_OneLine()]
        logger.propagate = False
        logger.setLevel(logging.ERROR)
        return uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,  # nobody stands before us whose word about the caller could be taken
                lifespan="off",
                ws="none",
                h11_max_incomplete_event_size=64 * 1024,
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )

    @property
    def sockets(self) -> list[socket.socket]:
        """For `uvicorn.Server.run`."""
        return [self._socket]

    def serve(self, app: App) -> None:
        """Serve until the process is interrupted; raises what the interruption raises."""
        self.server(app).run(sockets=self.sockets)

    def close(self) -> None:
        """Give the port back. Harmless when repeated."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _OneLine(logging.Handler):
    """Tells of an internal error on one line; ``TURNGAP_DEBUG=1`` shows where it came from."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            sys.stderr.write(f"turngap: {record.getMessage()}\n")
            return
        if os.environ.get("TURNGAP_DEBUG"):
            sys.excepthook(type(error), error, error.__traceback__)
            return
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""  # noqa: PTH119 - the name alone
        sys.stderr.write(
            f"turngap: a page failed{where}: {type(error).__name__} (TURNGAP_DEBUG=1 shows all; please report this)\n"
        )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
