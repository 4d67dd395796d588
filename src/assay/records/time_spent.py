"""Where the time of a load and of its server went, and what had most of it. Values, no sentence."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.experiment import Value
from assay.records.judgement import VerdictState

MOST = 0.5
"""So much of the time one thing must have to be called the limit."""


class Cause(StrEnum):
    """What the limit is."""

    CPU = "cpu"
    NO_CPU = "no-cpu"
    QUOTA = "cpu-quota"
    STARTS = "starts"
    LOCK = "lock"
    TURNS = "turns"
    SLEEP = "sleep"
    FLUSH = "flush"
    DEVICE = "device"
    ONE_REQUEST = "one-request"
    THROTTLE = "throttle"
    FILES = "files"
    METADATA = "metadata"
    PAGES = "pages"
    DIRTY = "dirty"
    CONNECT = "connect"
    NAMES = "names"
    LATE_ACKNOWLEDGEMENT = "late-acknowledgement"
    WINDOW = "window"
    READER = "reader"
    PATH_RATE = "path-rate"
    CONGESTION = "congestion"
    PATH_DELAY = "path-delay"
    PEER = "peer"
    POOL = "pool"
    FEW_REQUESTS = "few-requests"
    PIPE = "pipe"
    TERMINAL = "terminal"
    STOPPED = "stopped"
    NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True)
class TimePart:
    """What the threads of one process name did in one state."""

    process: str
    state: str
    share: float
    """Of the time of the group: all shares add up to 1."""
    error: float
    """Half of the 95 % interval of the share."""
    threads: float
    """How many were in that state, on average."""
    pieces: float = 1.0
    """How often it was found after a look that did not find it."""


@dataclass(frozen=True, kw_only=True)
class TimeLimit:
    """What had most of the time."""

    cause: Cause
    share: float
    """Of the time; of a lock, of the threads that have work."""
    error: float
    """Half of the 95 % interval of the share."""
    process: str = ""
    at_server: bool = False
    name: str = ""
    """Of a device, path, mount in user space or control group; of a lock the state of most threads that did not wait for it."""
    count: float | None = None
    """Of threads that wait, or of requests in flight; calls/s of a server in user space."""
    among: float | None = None
    """Of how many, or how many work meanwhile."""
    ns: float | None = None
    """A round trip; the least one of a path."""
    rate: float | None = None
    """Bytes a second over a path whose rate was the limit."""
    rest: TimeLimit | None = None
    """What had most of the time in which there was a CPU, where there was none for most of it."""

    @property
    def is_certain(self) -> bool:
        """Whether its share is more than half whatever the looks missed."""
        return self.share - self.error > MOST


@dataclass(frozen=True, kw_only=True)
class TimeSpent:
    """Where the time of a phase went at one combination of levels: means over the runs that count."""

    phase: str
    levels: Mapping[str, Value]
    measures: tuple[str, ...]
    """Names of the measures whose operations were done in the phase."""
    runs: int
    """With enough looks at the threads."""
    of: int
    """That many count."""
    load: tuple[TimePart, ...] = ()
    server: tuple[TimePart, ...] = ()
    devices: Mapping[str, float] = field(default_factory=dict)
    """Block device -> share of the time in which it had a request, of whomever."""
    limit: TimeLimit | None = None
    """What most runs name; None where nothing had most of the time."""
    alike: int = 0
    """Runs that name the limit, or none where there is none."""
    state: VerdictState = VerdictState.UNVERIFIED
    """SOUND: all runs name the same, and surely. UNVERIFIED: looks do not tell."""
    missing: str = ""
    """Why there are no looks; empty where there are."""
    server_missing: str = ""
    """Why nothing is known of a server that was to be looked at; empty where it is, or where there is none."""
