"""A channel carries whole lines to a far end and back: the seam between a far host and the way to it (a child, ssh, Dask)."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Protocol

from assay.catalogue import Listener

PIPE_BYTES = 1 << 16
FAREWELL_S = 10.0
"""How long a far end may take to undo what is left after the end of its input."""
LOOK_AGAIN_MS = 100
"""How soon a thread that waits for room in a pipe sees that the channel was closed."""
COMPLAINT_BYTES = 2000


class Channel(Protocol):
    """Lines to a far end and back. Every method may be called by any thread."""

    def send(self, line: str) -> None:
        """Send one line (without its end). Never waits for the far end; raises OSError where the channel has ended."""
        ...

    def listen(self, heard: Listener) -> None:
        """Give every line to `heard` in a thread of the channel's, with our clock as early as it is known; None at the end.

        Called once. Lines that came before are kept until then. `heard` returns at once and never raises.
        """
        ...

    def close(self) -> None:
        """End the far end's input, wait some seconds for its end, and end it. May be called twice."""
        ...

    def complaint(self) -> str:
        """Return the end of what the far end, or the way to it, wrote on standard error; empty where nothing is known."""
        ...


class LocalChannel:
    """A command of this machine as the far end, in a process group of its own."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Start the command. Raises OSError."""
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the channel
        self._process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=None if env is None else {**os.environ, **env},
            process_group=0,
            bufsize=PIPE_BYTES,
        )
        assert self._process.stdin is not None
        self.pid = self._process.pid
        self._input = self._process.stdin.fileno()
        os.set_blocking(self._input, False)
        self._mutex = threading.Lock()
        self._waiting = bytearray()
        self._open, self._closed = True, False
        self._complaint = ""
        self._reader: threading.Thread | None = None

    def send(self, line: str) -> None:
        """Send one line; a thread sends what the pipe has no room for. Raises OSError."""
        data = line.encode() + b"\n"
        with self._mutex:
            if not self._open:
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
            in_turn = bool(self._waiting)
            sent = 0 if in_turn else self._write(data)
            self._waiting += data[sent:]
            if self._waiting and not in_turn:
                threading.Thread(target=self._send_waiting, name=f"lines to {self.pid}", daemon=True).start()

    def listen(self, heard: Listener) -> None:
        """Read lines in a thread of its own."""
        self._reader = threading.Thread(target=self._hear, args=(heard,), name=f"lines of {self.pid}", daemon=True)
        self._reader.start()

    def close(self) -> None:
        """End its input, wait for its end, kill it where that does not come."""
        with self._mutex:
            if self._closed:
                return
            self._open, self._closed = False, True
            self._waiting.clear()
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._kill()
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(FAREWELL_S)
        self.complaint()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()

    def complaint(self) -> str:
        """Return the end of its standard error."""
        with self._mutex:
            if not self._stderr.closed:
                descriptor = self._stderr.fileno()
                start = max(0, os.fstat(descriptor).st_size - COMPLAINT_BYTES)
                self._complaint = os.pread(descriptor, COMPLAINT_BYTES, start).decode(errors="replace")
            return self._complaint

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._input, data)
        except BlockingIOError:
            return 0

    def _send_waiting(self) -> None:
        room = select.poll()
        room.register(self._input, select.POLLOUT)
        while True:
            room.poll(LOOK_AGAIN_MS)
            with self._mutex:
                if not self._open:
                    return
                try:
                    del self._waiting[: self._write(self._waiting)]
                except OSError:  # it has ended, which the reader hears
                    self._waiting.clear()
                if not self._waiting:
                    return

    def _hear(self, heard: Listener) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            heard(line.rstrip(b"\n").decode(errors="replace"), time.monotonic_ns())
        with self._mutex:
            self._open = False
        heard(None, time.monotonic_ns())
