"""What can go wrong, by what the reader can do about it.

    AssayError
    ├── UsageError          the words of the call are wrong           -> exit 2
    │   ├── InputErrors     a file has mistakes, all of them at once  -> exit 2
    │   └── ObstacleErrors  hosts lack what an experiment wants, all  -> exit 2
    ├── MissingError        this machine lacks something              -> exit 1, says how to get it
    ├── RefusedError        we may not, or it would be unsafe         -> exit 1, says what would allow it
    ├── BusyError           somebody else holds it                    -> exit 1, says who
    ├── LostHostError       a host does not answer any more           -> the run is partial; also an OSError
    ├── TrialError          the system under test or the load failed  -> the run is kept as failed
    ├── DamagedError        a file of the notebook cannot be read     -> that trial is named and left out
    └── EvidenceError       an observer met text it does not know     -> the rules that need it are unverified

Every message says what was found, what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.frozen import dataclass


class AssayError(Exception):
    """Anything that Assay itself reports; the text is meant for the user."""

    exit_status = 1


class UsageError(AssayError):
    """The words of the call, or of a file, are wrong."""

    exit_status = 2


def refuse(mistakes: Sequence[str]) -> None:
    """Raise UsageError with all these mistakes; do nothing without any."""
    if mistakes:
        raise UsageError("\n".join(mistakes))


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake in an input file: where, what was found, what was expected."""

    file: str
    line: int | None
    column: int | None
    found: str
    expected: str
    obstacle: str = ""
    """In place of both: what a host has against what stands there."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.obstacle or f'found {self.found}; expected {self.expected}'}"


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """What a host has against an experiment: where the experiment's file has it (keys from its top), and the words."""

    at: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        return self.text


class ObstacleErrors(UsageError):
    """All that the hosts of an experiment have against it."""

    def __init__(self, obstacles: Iterable[Obstacle]) -> None:
        self.obstacles = tuple(obstacles)
        super().__init__("\n".join(dict.fromkeys(str(one) for one in self.obstacles)))


class InputErrors(UsageError):
    """All mistakes of one input file, in the order in which they stand."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda m: (m.file, m.line or 0, m.column or 0)))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


class MissingError(AssayError):
    """The machine lacks something; the text says how to get it."""


class RefusedError(AssayError):
    """Not permitted or not safe; the text says what would allow it."""


class BusyError(AssayError):
    """Another process holds what is needed; the text names it."""


class LostHostError(AssayError, ConnectionError):
    """A host does not answer any more; the text names it. Reading and running both raise it."""


class TrialError(AssayError):
    """The system under test or the load failed during a trial."""


class DamagedError(AssayError):
    """A stored file cannot be read; the text names it."""


class EvidenceError(AssayError):
    """An observer or parser met text that it does not know."""
