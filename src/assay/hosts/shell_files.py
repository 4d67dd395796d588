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
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.frozen import dataclass, field
from assay.hosts.coarse_clock import ClockReading, CoarseClock
from assay.hosts.far_shell import FarShell, Printout, quoted
from assay.hosts.follow_ups import EVERY, Question, beside, following, new_in_lists
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

KINDS = ("read", "list", "exists", "real_path")
PATHS_AT_ONCE = 500
"""Of one realpath(1)."""

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
    real_path: tuple[str, ...] = ()

    def questions(self) -> tuple[Question, ...]:
        """All of it as questions."""
        return tuple((do, path) for do in KINDS for path in getattr(self, do))


def wishes_of(questions: Iterable[Question]) -> Wishes:
    """Return questions by their kind."""
    every = list(questions)
    return Wishes(**{do: tuple(path for kind, path in every if kind == do) for do in KINDS})


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of it: texts or errors, names, whether there is something; and the question and the answer by our clock (ns)."""

    texts: dict[str, str | OSError] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    there: dict[str, bool] = field(default_factory=dict)
    real: dict[str, str] = field(default_factory=dict)
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

    def real_path(self, path: str) -> str:
        """Return the path without symbolic links."""
        word = quoted(path)
        tools = f"realpath -m -- {word} || realpath {word} || readlink -f {word} || printf %s {word}"
        return self._shell.ask(f"{{ {tools}; }} 2>/dev/null").text.removesuffix("\n")

    def all_of(self, name: str, wishes: Wishes) -> Found:
        """Everything in one exchange; a look of the same name that wishes the same is known to the shell already."""
        answer = self._shell.ask(self._call(name, wishes))
        before, _, rest = answer.text.partition("\n")
        bits, _, rest = rest.partition("\n")
        *lists, rest = rest.split("\0\0", len(wishes.list))
        reals, _, rest = rest.removeprefix("\0").partition("\0\0") if wishes.real_path else ("", "", rest)
        real = [one for one in reals.split("\0") if one]
        texts, after = self._texts(wishes.read, rest.removeprefix("\0"))  # the end of the last name is no part of it
        for text in (before, after.strip()):
            self._learn(text, answer)
        return Found(
            texts=texts,
            names=dict(zip(wishes.list, map(names_of, lists), strict=True)),
            there=dict(zip(wishes.exists, (bit == "1" for bit in bits), strict=True)),
            real=dict(zip(wishes.real_path, real, strict=True)) if len(real) == len(wishes.real_path) else {},
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
        real = wishes.real_path
        for at in range(0, len(real), PATHS_AT_ONCE):
            lines.append(f"realpath -z -m -- {quoted(*real[at : at + PATHS_AT_ONCE])} 2>/dev/null")
        lines += ["printf '\\0\\0'"] if real else []
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


def answers_of(found: Found) -> dict[Question, object]:
    """Return what was found by its question."""
    kinds: dict[str, Mapping[str, object]] = {
        "read": found.texts,
        "list": found.names,
        "exists": found.there,
        "real_path": found.real,
    }
    return {(do, path): answer for do, answers in kinds.items() for path, answer in answers.items()}


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
        self._files, self._name, self.clock = files, name, files.clock
        self._found = files.all_of(name, wishes)
        self._ended_ns: int | None = self._found.answered_ns
        self._known: dict[Question, object] = answers_of(self._found)
        self._asked: dict[Question, None] = {}
        former = wishes.questions()
        self._tell_more(new_in_lists(former, list(self._follow_ups(former))))

    def read(self, path: str) -> str:
        """Return the text of a file. Raises OSError."""
        if path == BOOT_ID:
            return self._files.read(path)
        found = self._answer("read", path)
        return text_or_raise(found) if isinstance(found, str | OSError) else self._more().read(path)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty where there is none."""
        if not isinstance(found := self._answer("list", path), tuple):
            self._known["list", path] = found = self._more().list(path)
            self._ahead(self._follow_ups([("list", path)]))
        return found

    def exists(self, path: str) -> bool:
        """Return whether there is something at this path."""
        found = self._answer("exists", path)
        return found if isinstance(found, bool) else self._more().exists(path)

    def real_path(self, path: str) -> str:
        """Return the path without symbolic links."""
        found = self._answer("real_path", path)
        return found if isinstance(found, str) else self._more().real_path(path)

    def _answer(self, do: str, path: str) -> object:
        """Return what is known; None where it has to be asked by itself."""
        question = (do, path)
        self._asked[question] = None
        if question not in self._known:
            every = self._known.get(("list", EVERY))
            self._ahead(beside(question, every if isinstance(every, tuple) else ()))
        return self._known.get(question)

    def _ahead(self, questions: Iterable[Question]) -> None:
        """Find at once what is asked next, as far as it is not known, and then what follows the lists among it."""
        while unknown := [one for one in questions if one not in self._known]:
            self._tell_more(unknown)
            questions = list(self._follow_ups(unknown))

    def _tell_more(self, questions: Sequence[Question]) -> None:
        if questions:
            found = self._files.all_of(f"{self._name} further", wishes_of(dict.fromkeys(questions)))
            self._known |= dict.fromkeys(questions) | answers_of(found)
            self._ended_ns = None if self._ended_ns is None else found.answered_ns

    def _follow_ups(self, questions: Iterable[Question]) -> Iterator[Question]:
        for one in questions:
            names = self._known.get(one)
            yield from following(one, names if isinstance(names, tuple) else ())

    def write(self, path: str, text: str) -> None:
        """Write a file; whatever was read before may be another now."""
        self._files.write(path, text)

    def wishes(self) -> Wishes:
        """What the next look of this name should find."""
        return wishes_of(self._asked)

    def span_ns(self) -> tuple[int, int]:
        """When it was looked, by that host's clock, and how long it took at most."""
        ended_ns = time.monotonic_ns() if self._ended_ns is None else self._ended_ns
        return self._found.asked_ns + self.clock.offset_ns(), ended_ns - self._found.asked_ns

    def _more(self) -> Files:
        self._ended_ns = None
        return self._files
