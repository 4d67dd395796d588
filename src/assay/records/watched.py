"""An external command as it was watched from before its exec to after the drain: `assay stat`."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass
from assay.records.evidence import Observations
from assay.records.place import Place


@dataclass(frozen=True, kw_only=True)
class OtherKinds:
    """What a tree moved that is of no file: through pipes and sockets, from devices of characters."""

    read_bytes: int = 0
    """Of what its calls of read(2) read."""
    device_bytes: int = 0
    """Of these from devices of characters, such as /dev/zero."""
    received_bytes: int | None = None
    sent_bytes: int | None = None
    """Through sockets, by whatever call, without what processes of the tree sent each other; None where nobody counted."""
    unsure_bytes: int = 0
    """Read of a file again, or through a socket: nobody counted which."""


@dataclass(frozen=True, kw_only=True)
class TreeAccount:
    """What a command's whole process tree used, as the kernel charged it.

    Waited-for children are in their parent's account when it ends; detached ones come to the watcher, which adopts them. What
    could not be collected is counted in `lost`, never guessed.
    """

    rchar: int
    wchar: int
    syscr: int
    syscw: int
    read_bytes: int
    write_bytes: int
    """Charged when a page is made dirty, not when it is written (AUDIT 0.3)."""
    cancelled_write_bytes: int
    cpu_user_ns: int
    cpu_system_ns: int
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    max_rss_bytes: int
    """Of the largest process; the kernel counts what it had before its exec too, so it is never below the watcher's own."""
    processes: int
    """How many ended and were collected by the watcher itself; those waited for inside the tree are in their accounts."""
    lost: int = 0
    """How many were seen to exist and could not be collected; any makes the totals a lower bound."""
    lost_reason: str | None = None
    own_read_bytes: int = 0
    """What its programs made storage read of themselves (libraries), which `read_bytes` does not have."""
    doubtful_read_bytes: int = 0
    """Of `read_bytes` what may be of further program files, whose former state is not known."""
    beside_data_read_bytes: int = 0
    """Of the doubtful ones on disks that hold data, too."""
    cpu_wait_ns: int | None = None
    """How long its tasks were ready without a CPU, all together; None where not every one told."""
    kinds: OtherKinds | None = None
    """What it moved that is of no file; None where nobody can tell."""


@dataclass(frozen=True, kw_only=True)
class OpenedFile:
    """A regular file or block device that the command opened, with what it holds after the command's end.

    Libraries and settings of the system, which any program reads for itself, are left out.
    """

    path: str
    written: bool
    size_bytes: int
    dirty_bytes: int | None
    """Dirty or under write-back at exit (cachestat); None where it cannot be known."""
    cached_before_bytes: int | None
    """In the page cache before the command ran; None for files that were not known to be touched by then."""
    cached_after_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class FileGrowth:
    """A file that the command made or made longer, and what of it is no data of its own after the drain."""

    path: str
    bytes: int
    hole_bytes: int = 0
    unwritten_bytes: int = 0
    """Allocated and never written."""
    shared_bytes: int = 0
    """In extents of other files, too."""
    linked_bytes: int = 0
    """Of a file that was there before and got a further or another name."""

    @property
    def empty_bytes(self) -> int:
        """How much longer it is without data."""
        return min(self.bytes, self.hole_bytes + self.unwritten_bytes + self.shared_bytes + self.linked_bytes)


@dataclass(frozen=True, kw_only=True)
class Lived:
    """A call of a tool in a script, as its process was met in the tree while it ran. Times are relative to the exec."""

    argv: tuple[str, ...]
    from_ns: int
    """Its start, to one tick of the kernel's clock (10 ms), and never later than that: what cannot be told apart is the same."""
    to_ns: int
    """When it was first seen to be gone."""
    slack_ns: int = 0
    """How much earlier it may have ended: the time since it was last seen."""


@dataclass(frozen=True, kw_only=True)
class Stream:
    """What came out of one of the command's streams and was passed on; at most its first and last mebibytes are kept."""

    text: str
    truncated: bool
    refused: str = ""
    """Why it could not be passed on to our own stream; empty where all was, or where its reader had enough."""


@dataclass(frozen=True, kw_only=True)
class HttpAnswers:
    """Answers of HTTP that arrived, a sample."""

    statuses: Mapping[int, int]
    """Status -> how many had it."""
    empty: int
    """Those without a byte behind their headers."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """One execution. Times are CLOCK_MONOTONIC relative to the exec; the observations name one phase, `stat.command`."""

    argv: tuple[str, ...]
    directory: str
    status: int | None
    """Exit status; None where a signal ended it."""
    signal: int | None
    started_utc: str
    ended_utc: str
    t0_mono_ns: int
    elapsed_ns: int
    """From exec to the end of the last process of the tree."""
    stdout: Stream
    stderr: Stream
    result: str | None
    """The text of the file into which the tool wrote its result."""
    account: TreeAccount | None
    account_missing: str | None
    files: tuple[OpenedFile, ...]
    grown: tuple[FileGrowth, ...] = ()
    """Files that were made, made longer or named anew, as far as their former size is known."""
    files_missing: str | None
    """Why it is not known which files were touched, or not of all."""
    drain_ns: int | None
    """How long the flush of the written files took right after the end; None where nothing was known to be written."""
    drained_bytes: int | None
    places: tuple[Place, ...]
    """The file systems of the working directory, of the arguments and of the touched files, with their device stacks."""
    observations: Observations
    own_cpu_ns: int
    """What the watcher itself used of the processor until the end of the drain."""
    is_connected: bool = False
    """Whether a process of it was seen with a connection to another machine."""
    holds_socket: bool = False
    """Whether a process of it was seen with a socket."""
    http: HttpAnswers | None = None
    """Answers of the server that its words name, as far as they were seen; None where nobody looked."""
    lived: tuple[Lived, ...] = ()
    """The calls that were asked for, by their starts; none where they were too short to be met."""
