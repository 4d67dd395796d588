"""A process that an agent started on its host: its lines come over the channel of the host."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Mapping, Sequence

from assay.catalogue import Listener
from assay.errors import LostHostError, MissingError, TrialError
from assay.hosts.exchange import Exchange, Message


class FarProcess:
    """One process; every method may be called by any thread, but `receive` by one."""

    def __init__(self, exchange: Exchange, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> None:
        """Start the command. Raises MissingError, OSError, LostHostError."""
        self._exchange = exchange
        self._name = argv[0]
        self._mutex = threading.Lock()
        self._lines: queue.SimpleQueue[tuple[str | None, int]] = queue.SimpleQueue()
        self._listener: Listener | None = None
        self._silent = False
        self._ended = threading.Event()
        self._status: int | None = None
        self._complaint = ""
        self._number = exchange.number()
        exchange.attend(self._number, self._hear)
        try:
            _, answer, _ = exchange.timed_as(self._number, "spawn", argv=list(argv), env=dict(env or {}), cwd=cwd)
        except BaseException:
            exchange.forget(self._number)
            raise
        if "missing" in answer:
            exchange.forget(self._number)
            raise missing(exchange.name, self._name)
        self.pid = int(answer["pid"])

    def send(self, line: str) -> None:
        """Send one line. Raises TrialError with the status and standard error where the command has ended; LostHostError."""
        if self._status is not None:
            said = self._complaint.strip() or "no output"
            raise TrialError(f"{self._exchange.name}: {self._name} has ended (status {self._status}): {said}")
        self._exchange.tell("send", process=self._number, line=line.rstrip("\n"))

    def receive(self, timeout_s: float) -> str | None:
        """Return the next line; None when the output has ended, or the host is lost. Raises TimeoutError."""
        if self._silent:
            return None
        try:
            line, _ = self._lines.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            raise TimeoutError(f"{self._exchange.name}: {self._name} gave no output for {timeout_s} s") from None
        self._silent = line is None
        return line

    def listen(self, heard: Listener) -> None:
        """Give every line to `heard`, in the thread that reads the channel: it returns at once and asks no host."""
        with self._mutex:
            while not self._lines.empty():
                heard(*self._lines.get())
            self._listener = heard

    def end_input(self) -> None:
        """End its standard input and nothing else: what it still says can be received."""
        with contextlib.suppress(LostHostError):
            self._exchange.tell("end_input", process=self._number)

    def kill(self) -> None:
        """End the whole process group and wait for its end; on a lost host the agent does it when its lease ends."""
        with contextlib.suppress(LostHostError):
            self._exchange.tell("kill", process=self._number)
            self._ended.wait()

    def wait(self, timeout_s: float | None = None) -> int:
        """End its input and wait; the exit status (negative: the signal). Raises TimeoutError, LostHostError."""
        self.end_input()
        if not self._ended.wait(timeout_s):
            raise TimeoutError(f"{self._exchange.name}: {self._name} still runs after {timeout_s} s")
        if self._status is None:
            raise self._exchange.lost() or LostHostError(f"host {self._exchange.name} is lost")
        return self._status

    def complaint(self) -> str:
        """Return the end of its standard error, known when it has ended."""
        return self._complaint

    def _hear(self, message: Message | None, at_ns: int) -> None:
        """Take a message of this process, in the thread that reads the channel."""
        if message is not None and "line" in message:
            self._give(message["line"], at_ns)
            return
        if message is not None:
            self._status, self._complaint = int(message["ended"]), str(message["stderr"])
            self._exchange.forget(self._number)
        self._give(None, at_ns)
        self._ended.set()

    def _give(self, line: str | None, at_ns: int) -> None:
        with self._mutex:
            if self._listener is not None:
                self._listener(line, at_ns)
            else:
                self._lines.put((line, at_ns))


def missing(host: str, command: str) -> MissingError:
    """Return the error for a command that a host does not have."""
    return MissingError(f"{host}: {command}: command not found. Install its package on that host.")
