"""The way to a host by any command that gives standard input and output there: `kubectl exec -i POD --`, `podman exec -i NAME`.

Each thing that is opened is a process of that command of its own, whose words end with those of a shell. It has a session of its
own, so that Ctrl-C ends the experiment before it ends the way to undo it. Carriage returns that a terminal added at the ends of
lines are dropped: without them the answers are the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from assay.errors import LostHostError, MissingError
from assay.hosts.ssh import LOOP, OPEN_S
from assay.hosts.ssh_channel import STDERR, SshChannel

if TYPE_CHECKING:
    import asyncssh

READ_BYTES = 1 << 16
END_S = 5.0
"""How long a command may take to end after it was asked to, before it is killed."""


class ExecDoor:
    """The door to one host: a process of its command for each thing that is opened."""

    host_key = ""
    """The command decides whom it trusts."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name, self.command = name, tuple(command)
        self._open: list[_Pipes] = []
        self._closed = False

    def moved(self) -> int:
        """Return 0: the command's own connections are unknown."""
        return 0

    def open(self, command: str) -> SshChannel:
        """Start a command there: `exec` and its words. Raises MissingError where the way to it cannot be started."""
        return LOOP.wait(self.opened(command), OPEN_S)

    async def opened(self, command: str) -> SshChannel:
        """As `open`, in the loop."""
        if self._closed:
            raise LostHostError(f"host {self.name} is lost: its connections were closed")
        words = shlex.split(command)[1:]
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command, *words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            raise MissingError(f"host {self.name}: {self.command[0]}: {error.strerror}. Check `command` of [hosts].") from None
        pipes, channel = _Pipes(process), SshChannel(asyncio.get_running_loop())
        channel.connection_made(cast("asyncssh.SSHClientChannel[bytes]", pipes))
        self._open = [one for one in self._open if one.process.returncode is None] + [pipes]
        pipes.carry(channel)
        return channel

    def close(self) -> None:
        """End every command; the door stays closed."""
        with contextlib.suppress(TimeoutError):
            LOOP.wait(self.closed(), 2 * END_S)

    async def closed(self) -> None:
        """As `close`, in the loop."""
        self._closed = True
        left, self._open = self._open, []
        for one in left:
            one.write_eof()
        for one in left:
            await one.ended()


class _Pipes:
    """The standard streams of one command, as a channel of asyncssh would have them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._carried: asyncio.Task[None] | None = None

    def carry(self, channel: SshChannel) -> None:
        """Give the channel all that comes, then the status and the end."""
        self._carried = asyncio.create_task(self._carry(channel))

    def write(self, data: bytes) -> None:
        """Write to its standard input; its end will be heard of."""
        assert self.process.stdin is not None
        if not self.process.stdin.is_closing():
            self.process.stdin.write(data)

    def write_eof(self) -> None:
        """End its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> None:
        """End the command, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def ended(self) -> None:
        """Wait for its end, and end it where that does not come."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), END_S)
        self.close()

    async def _carry(self, channel: SshChannel) -> None:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        await asyncio.gather(self._pump(self.process.stdout, channel, None), self._pump(self.process.stderr, channel, STDERR))
        channel.exit_status_received(await self.process.wait())
        channel.connection_lost(None)

    async def _pump(self, stream: asyncio.StreamReader, channel: SshChannel, kind: int | None) -> None:
        held = b""
        while data := await stream.read(READ_BYTES):
            data = held + data
            held = b"\r" if data.endswith(b"\r") else b""  # its line feed may come with the next
            channel.data_received(data.removesuffix(held).replace(b"\r\n", b"\n"), kind)
        if held:
            channel.data_received(held, kind)
