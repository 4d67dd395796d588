"""The way to a far host by ssh: connections with checked host keys, and commands over them.

One thread with one event loop serves all connections. asyncssh is imported by the first of them: nobody else needs it. Nothing
but the end of a connection ends a channel: there is no keepalive, since the line under test may be full for a long time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from assay.errors import LostHostError, MissingError, RefusedError
from assay.hosts import own_connections
from assay.hosts.addresses import Address
from assay.hosts.ssh_channel import SshChannel

if TYPE_CHECKING:
    import asyncssh

AT_ONCE = 8
"""Connections that are being made at the same time; where all go through one gateway, its sshd refuses more than ten."""
CONNECT_S = 20.0
LOGIN_S = 30.0
CLOSE_S = 1.0
OPEN_S = 180.0
"""How long a channel may take, the wait for other connections included."""
LONG_S = 24 * 3600.0
"""A new key exchange in the middle of a trial would cost some milliseconds on both sides."""
KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
KINDS_OF_KEYS = 7
"""Trusted, authorities, revoked, and the same for X.509: what asyncssh's known hosts give."""
STANDARD_PORT = 22
LEAST_VERSION = (2, 24)
Result = TypeVar("Result")


class Loop:
    """An event loop in a thread of its own; made by the first call."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.connecting: asyncio.Semaphore | None = None

    def started(self) -> asyncio.AbstractEventLoop:
        """Return the loop, running."""
        with self._mutex:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self.connecting = asyncio.Semaphore(AT_ONCE)
                threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True).start()
            return self._loop

    def wait(self, work: Coroutine[Any, Any, Result], timeout_s: float) -> Result:
        """Do the work in the loop and wait for it. Raises what it raises, or TimeoutError. Not for the loop's own thread."""
        future = asyncio.run_coroutine_threadsafe(work, self.started())
        try:
            return future.result(timeout_s)
        except BaseException:
            future.cancel()
            raise


LOOP = Loop()


class Door:
    """The door to one host: commands start in it as channels, over as many connections as its sshd wants for them."""

    def __init__(self, name: str, address: Address) -> None:
        self.name, self.address = name, address
        self._connections: list[asyncssh.SSHClientConnection] = []
        self._moved: dict[asyncssh.SSHClientConnection, int] = {}
        self._opening: asyncio.Lock | None = None
        self._closed = False
        own_connections.DOORS.add(self)

    def open(self, command: str) -> SshChannel:
        """Start a command by the far user's login shell.

        Raises RefusedError where the host's key or our own is not accepted, MissingError where the host cannot be reached or
        asyncssh is missing.
        """
        import_asyncssh()
        return LOOP.wait(self.opened(command), OPEN_S)

    async def opened(self, command: str) -> SshChannel:
        """As `open`, in the loop."""
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            for connection in tuple(self._connections):
                channel = await self._channel(connection, command)
                if channel is not None:
                    return channel
            if self._closed:
                raise LostHostError(f"host {self.name} is lost: its connections were closed")
            connection = await self._connected()
            self._connections.append(connection)
            channel = await self._channel(connection, command)
        if channel is None:
            raise RefusedError(
                f"host {self.name}: its sshd allows no session for a command. Set MaxSessions of sshd_config to 10."
            )
        return channel

    @property
    def host_key(self) -> str:
        """The kind and fingerprint of the host's key; empty before the first connection."""
        keys = (connection.get_server_host_key() for connection in self._connections)
        return next((f"{key.get_algorithm()} {key.get_fingerprint('sha256')}" for key in keys if key is not None), "")

    def moved(self) -> int:
        """Return the bytes that its connections moved over interfaces, at least; one that has ended keeps its last count."""
        for connection in tuple(self._connections):
            self._moved[connection] = max(own_connections.passed(connection), self._moved.get(connection, 0))
        return sum(tuple(self._moved.values()))

    def close(self) -> None:
        """Close every connection, and with it all that was opened over it; the door stays closed."""
        with contextlib.suppress(TimeoutError):
            LOOP.wait(self.closed(), CONNECT_S)

    async def closed(self) -> None:
        """As `close`, in the loop."""
        self._closed = True
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()
        for connection in connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(connection.wait_closed(), CLOSE_S)
            connection.abort()

    async def _channel(self, connection: asyncssh.SSHClientConnection, command: str) -> SshChannel | None:
        """A channel over this connection; None where it takes no more, or has ended."""
        import asyncssh

        def made() -> asyncssh.SSHClientSession[bytes]:
            return cast("asyncssh.SSHClientSession[bytes]", SshChannel(asyncio.get_running_loop()))

        try:
            _, session = await connection.create_session(made, command, encoding=None)
        except asyncssh.ChannelOpenError:
            return None
        except (asyncssh.Error, OSError):
            self._connections = [one for one in self._connections if one is not connection]
            return None
        return cast("SshChannel", session)

    async def _connected(self) -> asyncssh.SSHClientConnection:
        """Connect, with few beside it."""
        assert LOOP.connecting is not None
        async with LOOP.connecting:
            return await _Connecting(self.name, self.address).connected()


class _Connecting:
    """One connection that is being made, and what was learned of the host's key before anything was sent."""

    def __init__(self, name: str, address: Address) -> None:
        self._name, self._address = name, address
        self._presented: asyncssh.SSHKey | None = None
        self._looked_for: tuple[str, int | None] = (address.host, address.port)
        self._trusted: frozenset[object] = frozenset()
        """Keys and authorities that known hosts have of it."""

    async def connected(self) -> asyncssh.SSHClientConnection:
        """Return the connection. Raises RefusedError and MissingError with words for the user."""
        import asyncssh

        try:
            base = await asyncssh.SSHClientConnectionOptions.construct(**self._settings())
            known_hosts = self._matching(asyncssh.read_known_hosts, _files(base.known_hosts))
            return await asyncssh.connect(
                self._address.host, options=base, known_hosts=known_hosts, client_factory=self._client()
            )
        except asyncssh.HostKeyNotVerifiable as error:
            raise self._refused_key(str(error)) from error
        except asyncssh.PermissionDenied as error:
            raise RefusedError(
                f"{self._where()}: sshd accepts no key of this user ({error.reason})."
                f" Add a key until this works without a password: {self._address.ssh} true"
            ) from error
        except (asyncssh.Error, OSError, TimeoutError, ValueError) as error:
            if self._trusted and await self._has_other_keys():
                raise self._refused_key(str(error)) from error
            raise MissingError(
                f"{self._where()}: no connection ({_reason(error)}). Check with: {self._address.ssh} true"
            ) from error

    def _settings(self) -> dict[str, object]:
        """What no configuration of ssh changes; nothing of it ever asks the user for anything."""
        chosen = {"port": self._address.port, "username": self._address.user}
        return {
            "host": self._address.host,
            "connect_timeout": CONNECT_S,
            "login_timeout": LOGIN_S,
            "keepalive_interval": 0,
            "rekey_seconds": LONG_S,
            "compression_algs": "none",
            "password_auth": False,
            "kbdint_auth": False,
            "ignore_encrypted": True,
            "agent_forwarding": False,
            **{key: value for key, value in chosen.items() if value is not None},
        }

    def _matching(self, read: Callable[[Sequence[str]], asyncssh.SSHKnownHosts], files: Sequence[str]) -> Callable[..., Any]:
        """What asyncssh asks for the keys of a host; notes the name it asked for, and whether anything is known of it."""
        known = read(files) if files else None

        def match(host: str, address: str, port: int | None) -> Sequence[Sequence[object]]:
            found: Sequence[Sequence[object]] = ((),) * KINDS_OF_KEYS if known is None else known.match(host, address, port)
            self._looked_for = (host, port)
            self._trusted = frozenset((*found[0], *found[1]))
            return found

        return match

    def _client(self) -> type[asyncssh.SSHClient]:
        import asyncssh

        connecting = self

        class Client(asyncssh.SSHClient):
            def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002
                connecting._presented = key
                return False

        return Client

    async def _has_other_keys(self) -> bool:
        """Whether the host presents another key where it was asked for one of a known kind, and hung up."""
        import asyncssh

        if self._presented is None:
            port = () if self._address.port is None else self._address.port
            with contextlib.suppress(asyncssh.Error, OSError):
                self._presented = await asyncssh.get_server_host_key(self._address.host, port)
        return self._presented is not None and self._presented not in self._trusted

    def _refused_key(self, reason: str) -> RefusedError:
        if self._presented is None:  # a revoked key, a certificate that has run out
            return RefusedError(f"{self._where()}: {reason}. Nothing was sent. Check known_hosts.")
        kind = self._presented.get_algorithm()
        print_of_key = f"{kind} {self._presented.get_fingerprint('sha256')}"
        host, port = self._looked_for
        entry = host if port in (None, STANDARD_PORT) else f"[{host}]:{port}"
        if not self._trusted:
            return RefusedError(
                f"{self._where()}: host key unknown: {print_of_key}. Nothing was sent."
                f" Compare it with the key on that machine, then accept it by: {self._address.ssh} true"
            )
        return RefusedError(
            f"{self._where()}: host key CHANGED: {print_of_key}. Nothing was sent. Another machine may answer there."
            f" If the change is legitimate: ssh-keygen -R '{entry}' && {self._address.ssh} true"
        )

    def _where(self) -> str:
        port = "" if self._address.port is None else f", port {self._address.port}"
        return f"host {self._name} ({self._address.host}{port})"


def _files(configured: object) -> list[str]:
    """The files of known hosts: those that ssh's configuration names, else the usual ones; no choice of it turns checks off."""
    named = configured if isinstance(configured, list) and configured else KNOWN_HOSTS
    paths = (Path(str(name)).expanduser() for name in named)
    return [str(path) for path in paths if path.is_file() and os.access(path, os.R_OK)]


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_S:.0f} s"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return str(getattr(error, "strerror", None) or getattr(error, "reason", None) or error or type(error).__name__)


def import_asyncssh() -> None:
    """Raise MissingError where asyncssh is not installed, or too old."""
    try:
        import asyncssh
    except ImportError as error:
        raise MissingError("asyncssh is not installed. Hosts by ssh need it: pip install 'assay-lab[fleet]'") from error
    version = tuple(int(part) for part in asyncssh.__version__.split(".")[:2] if part.isdecimal())
    if version < LEAST_VERSION:
        raise MissingError(f"asyncssh {asyncssh.__version__}: too old (2.24). Run pip install -U 'assay-lab[fleet]'.")
