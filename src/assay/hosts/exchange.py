"""Questions to an agent and its answers over one channel, by any thread; whether the host is still there.

Each question has a number, and its answer comes to whoever asked. A thread renews the lease. A host is lost when its channel
ends, when it sends what is no message, or when nothing came from it for a lease.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from assay.errors import LostHostError, RefusedError
from assay.hosts.channel import Channel

LEASE_S = 30.0
HELLO_S = 30.0
"""How long an agent may take to say its first line."""
ENDED = "its connection ended"
RENEWALS = 3
"""Times that the lease is renewed before it would end."""
UNASKED = 0
"""The number of a question that wants no answer."""
SHOWN = 80
"""Characters of a damaged line that an error shows."""

Message = Mapping[str, Any]
Answer = tuple[Message, int]
"""A message, and our clock when it came (ns)."""
Hearer = Callable[[Message | None, int], None]
"""Takes what comes from a process, None where the host is lost, and our clock (ns)."""


class Asking(Protocol):
    """Answers questions about a host."""

    def ask(self, do: str, **fields: object) -> Message:
        """Return the answer. Raises OSError, RefusedError; LostHostError, which is both an AssayError and an OSError."""
        ...


class Exchange:
    """One agent. Ends with `close`."""

    def __init__(self, name: str, channel: Channel, *, lease_s: float = LEASE_S, hello_s: float = HELLO_S) -> None:
        """Wait for the agent's first line and take the lease. Raises LostHostError where it does not come in time."""
        self.name = name
        self._channel = channel
        self._lease_ns = round(lease_s * 1e9)
        self._mutex = threading.Lock()
        self._numbers = itertools.count(UNASKED + 1)
        self._waiting: dict[int, queue.SimpleQueue[Answer | None]] = {}
        self._processes: dict[int, Hearer] = {}
        self._lost: LostHostError | None = None
        self.hello: Message = {}
        self._greeted: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._noise: list[str] = []
        self._heard_ns = time.monotonic_ns()
        self._reader = 0
        self._over = threading.Event()
        channel.listen(self._hear)
        self._greet(hello_s)
        self._renew()
        self._keeper = threading.Thread(target=self._keep, name=f"lease of {name}", daemon=True)
        self._keeper.start()

    def ask(self, do: str, **fields: object) -> Message:
        """Return the answer to a question. Raises as `Asking` says."""
        return self.timed(do, **fields)[1]

    def timed(self, do: str, **fields: object) -> tuple[int, Message, int]:
        """Return an answer between our clock just before the question went out and when the answer came (ns)."""
        return self.timed_as(self.number(), do, **fields)

    def timed_as(self, number: int, do: str, **fields: object) -> tuple[int, Message, int]:
        """Return the same for a question of this number."""
        assert threading.get_ident() != self._reader, "found a question in the thread that hears answers; it would wait for ever"
        line, answers = self._line(number, do, fields), queue.SimpleQueue[Answer | None]()
        with self._mutex:
            self._raise_if_lost()
            self._waiting[number] = answers
        asked_ns = time.monotonic_ns()
        self._send(line)
        answer = answers.get()
        if answer is None:
            self._raise_if_lost()
            raise AssertionError("found no answer of a host that is not lost")
        return asked_ns, self.checked(answer[0]), answer[1]

    def checked(self, answer: Message) -> Message:
        """Return an answer that is none of an error. Raises OSError, whose file name begins with the host, or RefusedError."""
        told = answer.get("error")
        if told is None:
            return answer
        text, number, path = told.get("message"), told.get("errno"), told.get("path") or ""
        if number is None:
            raise RefusedError(f"{self.name}: {text}{f': {path}' if path else ''}")
        raise OSError(number, os.strerror(number), f"{self.name}:{path}")

    def tell(self, do: str, **fields: object) -> None:
        """Have something done that has no answer. Raises LostHostError."""
        line = self._line(UNASKED, do, fields)
        with self._mutex:
            self._raise_if_lost()
        self._send(line)

    def number(self) -> int:
        """Return the number of the next question."""
        return next(self._numbers)

    def attend(self, number: int, hearer: Hearer) -> None:
        """Give everything that comes from a process to `hearer`, until `forget`."""
        with self._mutex:
            self._processes[number] = hearer

    def forget(self, number: int) -> None:
        """Hear no more of a process."""
        with self._mutex:
            self._processes.pop(number, None)

    def lost(self) -> LostHostError | None:
        """Return why the host is lost; None while it is there."""
        return self._lost

    def lose(self, reason: str) -> None:
        """Give the host up: whoever waits for it hears so, and later questions raise LostHostError."""
        with self._mutex:
            if self._lost is not None:
                return
            self._lost = LostHostError(f"host {self.name} is lost: {reason}")
            waiting, processes = list(self._waiting.values()), list(self._processes.values())
            self._waiting.clear()
            self._processes.clear()
        now_ns = time.monotonic_ns()
        for answers in (self._greeted, *waiting):
            answers.put(None)
        for hearer in processes:
            hearer(None, now_ns)
        self._over.set()

    def close(self) -> None:
        """End the agent, which undoes what is left, and wait for its end some seconds. May be called twice."""
        self.lose("its connection was closed")
        self._keeper.join()

    def _greet(self, hello_s: float) -> None:
        """Wait for the first message. Raises LostHostError."""
        try:
            self._greeted.get(timeout=hello_s)
        except queue.Empty:
            self.lose(f"its agent did not answer for {hello_s:g} s{self._complaint()}")
        if self._lost is not None:
            self._channel.close()
            self._raise_if_lost()

    def _hear(self, line: str | None, at_ns: int) -> None:
        """Take one line, in the channel's thread, which must not end by any of them."""
        self._reader = threading.get_ident()
        if line is None:
            self.lose(f"{ENDED}{self._complaint()}")
            return
        self._heard_ns = at_ns
        message = parsed(line)
        try:
            if message is None:
                self._take_noise(line)
            else:
                self._take(message, at_ns)
        except Exception as error:  # a message without what it should have, or a listener that fails
            self.lose(f"found {line[:SHOWN]!r}; expected a message ({error!r})")

    def _take(self, message: Message, at_ns: int) -> None:
        if "id" in message:
            with self._mutex:
                answers = self._waiting.pop(message["id"], None)
            if answers is not None:
                answers.put((message, at_ns))
        elif "process" in message:
            hearer = self._processes.get(message["process"])
            if hearer is not None:
                hearer(message, at_ns)
        elif message.get("type") == "hello":
            self.hello = message
            self._greeted.put((message, at_ns))
        else:
            self.lose(f"it found a damaged line: {message['message']}")

    def _take_noise(self, line: str) -> None:
        """Before its first line a login shell may say anything; after it a line that is no message is damage."""
        if self.hello:
            self.lose(f"found {line[:SHOWN]!r} from its agent; expected a message. The line was damaged on its way")
        else:
            self._noise = [*self._noise[-9:], line[:SHOWN]]

    def _keep(self) -> None:
        """Renew the lease until the host is lost, then let go of the channel."""
        step_s, asked_ns = self._lease_ns / RENEWALS / 1e9, time.monotonic_ns()
        while not self._over.wait(wait_s := min(step_s, self._left_s())):
            slept_s = (time.monotonic_ns() - asked_ns) / 1e9 - wait_s
            if self._left_s() <= 0:
                self.lose(self._why_silent(slept_s))
                break
            asked_ns = time.monotonic_ns()
            with contextlib.suppress(OSError):
                self._renew()
        self._channel.close()

    def _why_silent(self, slept_s: float) -> str:
        """Return why the lease ended: a process that was stopped itself has heard nothing from anybody."""
        lease_s = self._lease_ns / 1e9
        if slept_s >= lease_s / 2:
            return f"Assay itself was stopped for {slept_s:.0f} s, and its lease of {lease_s:g} s ended"
        return f"nothing came from it for {lease_s:g} s"

    def _left_s(self) -> float:
        return max(0.0, (self._heard_ns + self._lease_ns - time.monotonic_ns()) / 1e9)

    def _renew(self) -> None:
        """Ask for another lease; any line that comes shows that the host is there, so nobody waits for this one."""
        self._send(self._line(self.number(), "lease", {"for_ns": self._lease_ns}))

    def _line(self, number: int, do: str, fields: Mapping[str, object]) -> str:
        line = json.dumps({"id": number, "do": do, **fields}, ensure_ascii=False, separators=(",", ":"))
        try:
            line.encode()
        except UnicodeEncodeError:  # half a character, such as a name of a file that is no text
            raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ), f"{self.name}:{fields.get('path', '')!r}") from None
        return line

    def _send(self, line: str) -> None:
        try:
            self._channel.send(line)
        except OSError as error:
            what = (
                ENDED if error.errno in (errno.EPIPE, errno.ECONNRESET) else f"it cannot be reached ({error.strerror or error})"
            )
            self.lose(f"{what}{self._complaint()}")
            self._raise_if_lost()

    def _raise_if_lost(self) -> None:
        if self._lost is not None:
            raise LostHostError(str(self._lost))

    def _complaint(self) -> str:
        words = " ".join((*self._noise, self._channel.complaint())).strip()
        return f": {words}" if words else ""


def parsed(line: str) -> dict[str, Any] | None:
    """Return a line as a message; None where it is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
