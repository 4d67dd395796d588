"""What is asked of the watching of one command, what is known before its exec, and what becomes known while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from assay.catalogue import Host, Observer
from assay.records import Place, Server
from assay.watch import files
from assay.watch.process_tree import Tree
from assay.watch.relay import Tee
from assay.watch.traces import Trail

QUIET_NS = 250_000_000
LINGER_NS = 5_000_000_000


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What is to be run and how it is to be watched."""

    argv: tuple[str, ...]
    directory: str = "."
    result_file: str | None = None
    """The file into which the tool writes its result; read after the command's end."""
    programs: frozenset[str] = frozenset()
    """Programs whose calls in the tree are to be known one by one."""
    observers: tuple[str, ...] = ()
    """Their names; none: those that declare when they watch a command (`Observer.watch`)."""
    kept: bool = False
    """Whether the run is kept, to be compared with others."""
    more: tuple[str, ...] = ()
    """Observers that are asked for by name, whatever they cost."""
    server: Server | None = None
    """The server that the command is a client of, where it is a process of this machine."""
    pass_through: bool = True
    """Whether its output goes on to our own standard output and standard error."""
    quiet_ns: int = QUIET_NS
    """How long others are watched before the exec, for the rate at which they use the same devices."""
    linger_ns: int = LINGER_NS
    """How long processes that outlive the command are waited for; then their account is a lower bound."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What is known before the exec."""

    host: Host
    ask: Ask
    directory: str
    was: tuple[files.Before, ...]
    places: tuple[Place, ...]
    observers: tuple[Observer, ...]
    tees: tuple[Tee, Tee]
    tree: Tree
    inherited: dict[str, bool]
    result_was: files.Identity | None = None
    """The file into which the tool is to write its result, as it was before."""


@dataclass(kw_only=True)
class Life:
    """What becomes known while the command runs."""

    pid: int
    trail: Trail
    started_utc: str = ""
    ended_utc: str = ""
    t0_ns: int = 0
    ended_ns: int = 0
    status: int | None = None
    """As wait4 gives it; None while the command runs."""
    hurried: bool = False
    """Whether we were told to end after the command had ended."""

    @property
    def elapsed_ns(self) -> int:
        """From exec to the end of the last process."""
        return self.ended_ns - self.t0_ns
