"""Small files of a host without the engine: read in as few exchanges and processes as there can be.

One cat(1) gives many files, with a file between them whose content is known and found nowhere else: the boot id. What it says
of a file that it cannot read comes in that file's place. Names are listed by the shell itself, each ended by a NUL.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Sequence

from assay.frozen import dataclass, field
from assay.hosts.coarse_clock import ClockReading, CoarseClock
from assay.hosts.far_shell import FarShell, Printout, quoted
from assay.hosts.local import BOOT_ID

ERRORS = {os.strerror(number): number for number in sorted(errno.errorcode, reverse=True)} | {
    "Directory nonexistent": errno.ENOENT,
    "nonexistent directory": errno.ENOENT,
}
"""Reasons of tools, and of some shells, as numbers."""
COMPLAINT = re.compile(r"^[^\n]*: ([^:\n]+)\n?$")
UPTIME = "/proc/uptime"
TICK_NS = 10_000_000
"""/proc/uptime has hundredths of a second."""
SECOND_NS = 10**9

FUNCTIONS = r"""
assay_names() {
  for f in "$1"/* "$1"/.*; do
    [ -e "$f" ] || [ -h "$f" ] || continue
    printf '%s\0' "${f##*/}"
  done
}
assay_now() {
  if read -r u _ 2>/dev/null </proc/uptime; then printf '%s\n' "$u"; else date +%s%N; fi
}
"""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a look reads in its one exchange."""

    read: tuple[str, ...] = ()
    list: tuple[str, ...] = ()
    exists: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of it: texts or errors, names, whether there is something; and the question and the answer by our clock (ns)."""

    texts: dict[str, str | OSError] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    there: dict[str, bool] = field(default_factory=dict)
    asked_ns: int
    answered_ns: int


class Files:
    """Files of one host, through its first shell."""

    def __init__(self, shell: FarShell) -> None:
        self._shell = shell
        self._between = shell.ask(f"cat {BOOT_ID} 2>/dev/null").text
        self.clock = CoarseClock(self._now)
        self._kept: dict[str, tuple[Wishes, str]] = {}
        self._mutex = threading.Lock()

    def read(self, path: str) -> str:
        """Return the text of a file. Raises OSError."""
        return text_or_raise(text_or_error(path, self._shell.ask(f"cat -- {quoted(path)} 2>&1").text))

    def write(self, path: str, text: str) -> None:
        """Write a file as a whole. Raises OSError."""
        answer = self._shell.ask(f"{{ printf %s {quoted(text)} | cat >{quoted(path)}; }} 2>&1; printf '\\n%s' $?").text
        complaint, _, status = answer.rpartition("\n")
        if status != "0" or complaint:
            raise os_error(path, complaint)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty where there is none."""
        return names_of(self._shell.ask(f"assay_names {quoted(path)}").text)

    def exists(self, path: str) -> bool:
        """Return whether there is something at this path."""
        return bool(self._shell.ask(f"[ ! -e {quoted(path)} ] || printf 1").text)

    def all_of(self, name: str, wishes: Wishes) -> Found:
        """Everything in one exchange; a look of the same name that wishes the same is known to the shell already."""
        answer = self._shell.ask(self._call(name, wishes))
        before, _, rest = answer.text.partition("\n")
        bits, _, rest = rest.partition("\n")
        *lists, rest = rest.split("\0\0", len(wishes.list))
        texts, after = self._texts(wishes.read, rest.removeprefix("\0"))  # the end of the last name is no part of it
        for text in (before, after.strip()):
            self._learn(text, answer)
        return Found(
            texts=texts,
            names=dict(zip(wishes.list, map(names_of, lists), strict=True)),
            there=dict(zip(wishes.exists, (bit == "1" for bit in bits), strict=True)),
            asked_ns=answer.asked_ns,
            answered_ns=answer.answered_ns,
        )

    def _call(self, name: str, wishes: Wishes) -> str:
        with self._mutex:
            known, function = self._kept.get(name, (None, f"assay_look_{len(self._kept)}"))
            self._kept[name] = (wishes, function)
        return function if known == wishes else f"{function}() {{\n{self._script(wishes)}\n}}\n{function}"

    def _script(self, wishes: Wishes) -> str:
        lines = ["assay_now"]
        lines += [f"[ -e {quoted(path)} ] && printf 1 || printf 0" for path in wishes.exists]
        lines += ["echo"]
        lines += [f"assay_names {quoted(path)}; printf '\\0\\0'" for path in wishes.list]
        if wishes.read and self._between:
            lines += [f"cat -- {BOOT_ID} {' '.join(f'{quoted(path)} {BOOT_ID}' for path in wishes.read)} 2>&1"]
        else:
            lines += [f"cat -- {quoted(path)} 2>&1; printf '\\0\\n\\0'" for path in wishes.read]
        return "\n".join((*lines, "assay_now"))

    def _texts(self, paths: Sequence[str], rest: str) -> tuple[dict[str, str | OSError], str]:
        """Each file's text or error, and what came behind the last one."""
        if not paths:
            return {}, rest
        parts = rest.split(self._between) if self._between else ["", *rest.split("\0\n\0")]
        if len(parts) != len(paths) + 2:  # one of the files holds what is between them
            return {}, parts[-1]
        return {path: text_or_error(path, text) for path, text in zip(paths, parts[1:], strict=False)}, parts[-1]

    def _now(self) -> ClockReading:
        answer = self._shell.ask("assay_now")
        return reading_of(answer.text.strip(), answer)

    def _learn(self, text: str, answer: Printout) -> None:
        self.clock.learn(reading_of(text, answer))


def reading_of(text: str, answer: Printout) -> ClockReading:
    """Return a reading of the clock: seconds since boot with hundredths, or the wall clock with as much as date(1) gives."""
    seconds, point, hundredths = text.partition(".")
    if point:
        theirs_ns, tick_ns = int(seconds) * SECOND_NS + int(hundredths) * TICK_NS, TICK_NS
    elif seconds.isdecimal():
        theirs_ns, tick_ns = int(seconds), 1000
    else:  # a date(1) without %N
        theirs_ns, tick_ns = int(re.sub(r"\D.*", "", seconds) or 0) * SECOND_NS, SECOND_NS
    return ClockReading(asked_ns=answer.asked_ns, theirs_ns=theirs_ns, tick_ns=tick_ns, answered_ns=answer.answered_ns)


def text_or_error(path: str, text: str) -> str | OSError:
    """Return a text that cat(1) gave, or the error that it ends with: a line with its own name, the path and the reason."""
    end = text[text.rfind("\n", 0, -1) + 1 :]
    if end.startswith("cat: ") and path in end and (match := COMPLAINT.match(end)) and match[1] in ERRORS:
        return os_error(path, end)
    return text


def text_or_raise(found: str | OSError) -> str:
    """Return a text. Raises an error instead."""
    if isinstance(found, OSError):
        raise found
    return found


def os_error(path: str, complaint: str) -> OSError:
    """Return the error that a tool's complaint tells, EIO where it tells none."""
    match = COMPLAINT.match(complaint.strip().rpartition("\n")[2])
    number = ERRORS.get(match[1].strip(), errno.EIO) if match else errno.EIO
    return OSError(number, os.strerror(number) if number != errno.EIO else complaint.strip() or os.strerror(errno.EIO), path)


def names_of(text: str) -> tuple[str, ...]:
    """Return names that were each ended by a NUL, sorted."""
    return tuple(sorted(name for name in text.split("\0") if name not in ("", ".", "..")))


class SeenFiles:
    """Files as one look has found them all at once; what it was not asked for is read by itself."""

    def __init__(self, files: Files, name: str, wishes: Wishes) -> None:
        self._files, self.clock = files, files.clock
        self._found = files.all_of(name, wishes)
        self._went_on = False
        self._read: dict[str, None] = {}
        self._listed: dict[str, None] = {}
        self._tried: dict[str, None] = {}

    def read(self, path: str) -> str:
        """Return the text of a file. Raises OSError."""
        if path != BOOT_ID:
            self._read[path] = None
        return text_or_raise(self._found.texts[path]) if path in self._found.texts else self._more().read(path)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty where there is none."""
        self._listed[path] = None
        return self._found.names[path] if path in self._found.names else self._more().list(path)

    def exists(self, path: str) -> bool:
        """Return whether there is something at this path."""
        self._tried[path] = None
        return self._found.there[path] if path in self._found.there else self._more().exists(path)

    def write(self, path: str, text: str) -> None:
        """Write a file; whatever was read before may be another now."""
        self._files.write(path, text)

    def wishes(self) -> Wishes:
        """What the next look of this name should find."""
        return Wishes(read=tuple(self._read), list=tuple(self._listed), exists=tuple(self._tried))

    def span_ns(self) -> tuple[int, int]:
        """When it was looked, by that host's clock, and how long it took at most."""
        ended_ns = time.monotonic_ns() if self._went_on else self._found.answered_ns
        return self._found.asked_ns + self.clock.offset_ns(), ended_ns - self._found.asked_ns

    def _more(self) -> Files:
        self._went_on = True
        return self._files
