"""One /bin/sh on a far host: scripts go to its standard input, and what they print comes back in one piece.

A script is constant text with quoted words: what a name holds is never executed. Each answer ends with a line that has the
shell's secret token and the number of the question, so an answer that nobody waits for any more is recognised and dropped.
"""

from __future__ import annotations

import errno
import shlex
import threading
import time
from collections.abc import Callable
from typing import Protocol

from assay.errors import LostHostError
from assay.frozen import dataclass
from assay.hosts.channel import Channel

ANSWER_S = 30.0
"""The lease: a host that has not answered for so long is lost."""


class Session(Channel, Protocol):
    """A channel to one command, whose input alone can be ended."""

    def end_input(self) -> None:
        """End the command's input and nothing else."""
        ...


Taker = Callable[[str, int], bool]
"""Is given a line and our clock at which it came (ns), in the channel's thread."""


@dataclass(frozen=True, kw_only=True)
class Printout:
    """What a script printed, and our clock before it was sent and after its last line came (ns)."""

    text: str
    asked_ns: int
    answered_ns: int


class FarShell:
    """A shell that answers one script after another; from any thread."""

    def __init__(self, name: str, session: Session, token: str) -> None:
        self._name, self._session, self._token = name, session, token
        self._turn = threading.Lock()
        self._state = threading.Condition()
        self._number = 0
        self._lines: list[str] = []
        self._answer: tuple[str, int] | None = None
        self._taken: Taker | None = None
        self._ended = False
        self._last_line = self._reason = ""
        session.listen(self._hear)

    @property
    def lost(self) -> bool:
        """Whether no answer can come any more."""
        return self._ended

    def ask(self, script: str, timeout_s: float | None = ANSWER_S, taken: Taker | None = None) -> Printout:
        """Run a script and wait for its end. Raises LostHostError where the shell ended or the lease runs out.

        With another time than the lease, TimeoutError where it takes longer; None waits for ever.

        `taken` is given each line when it comes, and says whether it is left out of the answer.
        """
        with self._turn:
            with self._state:
                self._number += 1
                self._lines, self._answer, self._taken = [], None, taken
                self._last_line = f"{self._token} {self._number}"
            asked_ns = time.monotonic_ns()
            self._send(f"{script}\nprintf '\\n%s %s\\n' {self._token} {self._number}")
            text, answered_ns = self._wait(timeout_s)
        return Printout(text=text, asked_ns=asked_ns, answered_ns=answered_ns)

    def give_up(self, reason: str = "") -> None:
        """Let everybody who waits hear that no answer will come; an earlier reason counts."""
        self._reason = self._reason or reason
        self._hear(None, time.monotonic_ns())

    def failure(self) -> LostHostError:
        """Return why no answer can come any more."""
        reason = self._reason or self._session.complaint() or "its shell ended"
        return LostHostError(f"host {self._name} is lost: {reason}")

    def close(self) -> None:
        """End its input, on which it ends."""
        self._session.close()

    def _wait(self, timeout_s: float | None) -> tuple[str, int]:
        with self._state:
            came = self._state.wait_for(lambda: self._answer is not None or self._ended, timeout_s)
            if self._answer is not None:
                return self._answer
        if not came and timeout_s != ANSWER_S:
            raise TimeoutError(errno.ETIMEDOUT, f"host {self._name}: no answer for {timeout_s} s")
        if not came:
            self.give_up(f"no answer for {timeout_s:g} s")
        raise self.failure()

    def _send(self, script: str) -> None:
        try:
            self._session.send(script)
        except OSError as error:
            raise self.failure() from error

    def _hear(self, line: str | None, at_ns: int) -> None:
        with self._state:
            if line is None:
                self._ended = True
            elif line == self._last_line:
                self._answer = "\n".join(self._lines), at_ns
            elif line.startswith(self._token):  # the end of an answer that nobody waits for
                self._lines = []
                return
            else:
                if self._taken is None or not self._taken(line, at_ns):
                    self._lines.append(line)
                return
            self._state.notify_all()


def quoted(*words: str) -> str:
    """Return words as the shell takes them literally. Raises ValueError for a NUL, which no word can hold."""
    if any("\0" in word for word in words):
        raise ValueError("embedded null byte")
    return shlex.join(words)
