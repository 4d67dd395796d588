"""The server: a socket of this machine, the token, and the loop until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import signal
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import MissingError, RefusedError, UsageError
from assay.machine import notebook_watchers
from assay.serve import confined

if TYPE_CHECKING:
    from starlette.types import ASGIApp

TOKEN_BYTES = 32
LEAST_TOKEN = 16
"""Letters of a token from a file."""
PRIORITY = 10
"""So much lower than usual: the machine may be measuring."""
MOST_OPEN = 200
GRACE_S = 2
MISSING = "found no {}; expected it to show a notebook in the browser; install assay-lab[serve]"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A server that listens, before its loop."""

    url: str
    """With the token: shown once, a cookie afterwards."""
    token: str
    is_local: bool
    """Whether only this machine can reach it."""
    is_counted: bool
    """Whether a running experiment finds us as its own."""
    is_confined: bool
    """Whether the kernel keeps us from all other files."""


def listen(bind: str, port: int) -> socket.socket:
    """Return a listening socket. Raises UsageError for a wrong address, RefusedError where the port is taken."""
    try:
        family, *_, address = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"found --bind {bind}; expected an address or a name of this machine ({error})") from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(MOST_OPEN)
    except OSError as error:
        listener.close()
        raise RefusedError(
            f"{bind} port {port}: not available ({error.strerror}). Name another --port; 0 takes a free one."
        ) from error
    return listener


def token_of(file: Path | None) -> str:
    """Return a fresh token, or the one in a file. Raises UsageError where others may read the file, or the token is short."""
    if file is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    try:
        found, mode = file.read_text(encoding="utf-8").strip(), file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"found --token-file {file}, which cannot be read ({error}); expected a file with a token") from error
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError(f"found {file}, which other users may read; expected a private file: chmod 600 {file}")
    if len(found) < LEAST_TOKEN or not all(letter.isalnum() or letter in "-_" for letter in found) or not found.isascii():
        raise UsageError(f"found a token in {file} that is not usable; expected at least {LEAST_TOKEN} letters, digits, - or _")
    return found


def is_loopback(bind: str) -> bool:
    """Return whether only this machine can reach an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(bind).is_loopback
    return bind == "localhost"


def serve(lab: Path, bind: str, port: int, token_file: Path | None, ready: Callable[[Opened], None]) -> None:
    """Serve a notebook until SIGINT or SIGTERM; `ready` is called once it listens.

    Raises MissingError without the libraries, UsageError, RefusedError.
    """
    token = token_of(token_file)
    library()
    listener = listen(bind, port)
    watching = None
    try:
        found = listener.getsockname()[1]
        name = f"[{bind}]" if ":" in bind else {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(bind, bind)  # noqa: S104
        watching = notebook_watchers.watch(lab.resolve())
        opened = Opened(
            url=f"http://{name}:{found}/?token={token}",
            token=token,
            is_local=is_loopback(bind),
            is_counted=watching is not None,
            is_confined=confined.version() > 0,
        )
        from assay.serve.app import application  # the library is there

        app = application(lab.resolve(), token, bind, found)
        with contextlib.suppress(KeyboardInterrupt):
            ready(opened)
            os.nice(PRIORITY)
            if opened.is_confined:
                confined.confine(lab.resolve())
            loop(app, listener)
    finally:
        listener.close()
        if watching is not None:
            os.close(watching)


def library() -> None:
    """Raises MissingError without the libraries."""
    for name in ("starlette", "uvicorn"):
        try:
            __import__(name)
        except ImportError:
            raise MissingError(MISSING.format(name)) from None


def loop(app: ASGIApp, listener: socket.socket) -> None:
    """Answer until a signal comes, also one that comes while the answering begins."""
    import uvicorn

    came: list[int] = []

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)  # its own handlers are there by now
            self.should_exit = self.should_exit or bool(came)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_OPEN,
        timeout_graceful_shutdown=GRACE_S,
    )
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        Server(config).run(sockets=[listener])
    finally:
        signal.signal(signal.SIGINT, before)
