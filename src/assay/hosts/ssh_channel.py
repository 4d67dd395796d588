"""A command on a far host as a channel of lines: what asyncssh hears of it, stamped when it came."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from typing import TYPE_CHECKING

from assay.catalogue import Listener

if TYPE_CHECKING:
    import asyncssh

FAREWELL_S = 10.0
"""How long a far end may take to undo what is left, after the end of its input."""
COMPLAINT_CHARACTERS = 2000
STDERR = 1
"""SSH_EXTENDED_DATA_STDERR of RFC 4254."""


class SshChannel:
    """A command on a far host, spoken to in lines; a session of asyncssh, which calls it in the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._lines: deque[tuple[str | None, int]] = deque()
        self._heard: Listener = lambda line, at_ns: self._lines.append((line, at_ns))
        self._came = asyncio.Event()
        self._over = asyncio.Event()
        self._rest = b""
        self._stderr = bytearray()
        self._reason = ""
        self.status: int | None = None
        """The exit status, as soon as it is known (negative: ended by a signal)."""

    def send(self, line: str) -> None:
        """Send one line. Raises OSError where the channel has ended."""
        if self._over.is_set():
            raise BrokenPipeError(self.complaint() or "the connection has ended")
        self._loop.call_soon_threadsafe(self.write, line.encode() + b"\n")

    def listen(self, heard: Listener) -> None:
        """Give every line to `heard`, in the loop's thread."""
        self._loop.call_soon_threadsafe(self._listen, heard)

    def end_input(self) -> None:
        """End the command's input."""
        self._loop.call_soon_threadsafe(self.write_end)

    def close(self) -> None:
        """End the command's input, wait for its end, and close the channel."""
        future = asyncio.run_coroutine_threadsafe(self.closed(), self._loop)
        with contextlib.suppress(TimeoutError):
            future.result(2 * FAREWELL_S)

    def complaint(self) -> str:
        """Return the end of what the command wrote on standard error, or why the connection ended."""
        said = self._stderr[-COMPLAINT_CHARACTERS:].decode(errors="replace").strip()
        return said or self._reason

    def write(self, data: bytes) -> None:
        """Send bytes; only in the loop's thread."""
        if self._channel is not None and not self._over.is_set():
            with contextlib.suppress(OSError):  # its end will be heard
                self._channel.write(data)

    def write_end(self) -> None:
        """As `end_input`; only in the loop's thread."""
        if self._channel is not None and not self._over.is_set():
            with contextlib.suppress(OSError):
                self._channel.write_eof()

    async def line(self) -> str | None:
        """Return the next line before anybody listens; None at the end."""
        while not self._lines:
            self._came.clear()
            await self._came.wait()
        if self._lines[0][0] is None:
            return None
        return self._lines.popleft()[0]

    def give_back(self, line: str) -> None:
        """Let this line be the next one."""
        self._lines.appendleft((line, time.monotonic_ns()))

    async def ended(self) -> None:
        """Wait for the end of the command."""
        await self._over.wait()

    async def closed(self) -> None:
        """As `close`."""
        self.write_end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), FAREWELL_S)
        if self._channel is not None and not self._over.is_set():
            self._channel.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), 1.0)
        self._end("closed")

    def _listen(self, heard: Listener) -> None:
        while self._lines:
            heard(*self._lines.popleft())
        self._heard = heard

    def _end(self, reason: str) -> None:
        if self._over.is_set():
            return
        self._over.set()
        self._reason = reason
        if self._rest:
            self._heard(self._rest.decode(errors="replace"), time.monotonic_ns())
            self._rest = b""
        self._heard(None, time.monotonic_ns())
        self._came.set()

    # From here on what asyncssh calls (asyncssh.SSHClientSession), in the loop's thread.

    def connection_made(self, channel: asyncssh.SSHClientChannel[bytes]) -> None:
        """Keep the channel."""
        self._channel = channel

    def data_received(self, data: bytes, kind: int | None) -> None:
        """Stamp what came and give its lines away."""
        at_ns = time.monotonic_ns()
        if kind == STDERR:
            self._stderr += data
            del self._stderr[: -2 * COMPLAINT_CHARACTERS]
            return
        *whole, self._rest = (self._rest + data).split(b"\n") if self._rest else data.split(b"\n")
        for line in whole:
            self._heard(line.decode(errors="replace"), at_ns)
        self._came.set()

    def eof_received(self) -> bool:
        """Keep our own side open until the command has ended."""
        return True

    def exit_status_received(self, status: int) -> None:
        """Keep the status."""
        self.status = status

    def exit_signal_received(self, signal: str, _dumped: bool, message: str, _language: str) -> None:  # noqa: FBT001 - asyncssh's
        """Keep the signal as a negative status."""
        import signal as signals

        self.status = -int(getattr(signals, f"SIG{signal}", signals.SIGKILL))
        self._stderr += message.encode()

    def connection_lost(self, error: Exception | None) -> None:
        """Hear the end of the command, or of the connection."""
        self._end(f"the connection ended: {error}" if error is not None else "")

    def session_started(self) -> None:
        """Do nothing: lines come when they come."""

    pause_writing = resume_writing = session_started

    def xon_xoff_requested(self, _client_can_do: bool) -> None:  # noqa: FBT001 - asyncssh's
        """Do nothing: there is no terminal."""
