"""Where a prepared target is, which server is behind it, what a client is given of it, and what observers look at."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.evidence import Direction
from assay.records.experiment import Value

IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
"""File systems without a device, which store files in the page cache alone."""
USER_SPACE = ("fuse", "fuseblk", "virtiofs")
"""File systems for which another process answers, also by a type as fuse.sshfs: what is read from them counts for no reader."""
STACKED = ("overlay", "fuse")
"""How the types of file systems begin that lie on another one."""


class EndpointKind(StrEnum):
    """What a client is given to work on."""

    DIRECTORY = "directory"
    FILE = "file"
    DEVICE = "device"
    SOCKET = "socket"
    URL = "url"
    BUCKET = "bucket"
    STORE = "store"
    """Whole files, by a client program that the target or the workload names."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """What one client uses: a directory, a file of ours, a device, a socket address or a URL."""

    kind: EndpointKind
    address: str
    details: Mapping[str, Value] = field(default_factory=dict)
    """What else a client needs to use it: a bucket, a base, a version of a protocol.

    Of a bucket: `bucket`, `prefix`, `config` (of rclone), `key_file`. For the programs of a transfer: `put` and `get`, their
    argument lists, `env` (NAME=value), and `data`: where the server keeps the files, on the target's host.
    Of a directory server: `base`, `bind_dn`, `password_file`, `writable_base` (the entry below which Assay may write; empty:
    nowhere) and `population` (template, entries and seed of the people in it, as JSON; empty: not ours).
    """


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit that is known beforehand: declared by a target or by the experiment's [limits]."""

    device: str
    direction: Direction
    bytes_per_s: int | None = None
    ops_per_s: int | None = None
    declared_by: str = ""


@dataclass(frozen=True, kw_only=True)
class ServerNode:
    """One process tree of a server with its data on one host, as the experiment describes it.

    What the experiment leaves out is None or empty.
    """

    host: str = "local"
    pid_file: str | None = None
    """Holds the process id of the server, first of its children too."""
    cgroup: str | None = None
    """A control group all of whose processes are the server's."""
    data: tuple[str, ...] = ()
    """Its data: files, or directories whose files are meant."""
    address: str | None = None
    """The IP address that its clients use."""
    requests: tuple[str, ...] = ()
    """A command that prints how many requests it has answered; the last number counts."""
    software: str | None = None
    """What it is (`slapd`, `389-ds`), where its counters are known by type."""
    monitor: tuple[tuple[str, ...], ...] = ()
    """Commands that print its counters by type; each is one connection with a bind and a search."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server with its nodes, each on a host."""

    nodes: tuple[ServerNode, ...]

    def on(self, host: str) -> tuple[ServerNode, ...]:
        """The nodes on a host."""
        return tuple(node for node in self.nodes if node.host == host)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that clients use, each once."""
        return tuple(dict.fromkeys(node.address for node in self.nodes if node.address))


@dataclass(frozen=True, kw_only=True)
class Box:
    """A machine between the two ends of a workload: a network namespace of the target's host."""

    pid: int
    """A process in it."""
    interfaces: tuple[str, ...]
    """Of either side, the load's first."""
    threads: tuple[int, ...] = ()
    """The kernel's threads that do its work and nothing else."""
    shaped: bool = False
    """Whether it has shapers."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a prepared target is: its address, the stack of block devices below it (upper first), its limits."""

    target: str
    host: str
    kind: EndpointKind
    address: str
    devices: tuple[str, ...] = ()
    """Kernel names, from the device the file system is on down to the lowest visible (`loop0`, `vda`)."""
    backing_files: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    filesystem: str | None = None
    private: Mapping[str, Value] = field(default_factory=dict)
    """What the target's own later calls need (image path, loop number, argument lists)."""
    server: Server | None = None
    storage: str | None = None
    """The directory on the target's host that holds its data, whatever clients use; None: the address, of a directory."""
    box: Box | None = None
    """The machine that the target put between load and server."""
    volatile: str | None = None
    """Of a stacked file system that writes into one in memory (an overlay whose upper layer is in tmpfs) the type of that one.

    Of a block device that is in memory itself its name at the end: `zram0`, `tmpfs below loop0`.
    """
    tape: str | None = None
    """The tape drive that it is, as the kernel names it: `st0`."""

    @property
    def memory(self) -> str | None:
        """The type of the file system in memory that takes what is written; None where a disk does, or it is not known."""
        return self.filesystem if self.is_in_memory else self.volatile

    @property
    def is_in_memory(self) -> bool:
        """Whether the file system stores its files in memory alone."""
        return self.filesystem in IN_MEMORY

    @property
    def memory_device(self) -> str | None:
        """The lowest block device where it is in memory itself, with what holds it; None where it is not known to be."""
        named = self.volatile if self.devices else None
        return named if named is not None and named.split(" ")[-1] == self.devices[-1] else None

    @property
    def is_in_user_space(self) -> bool:
        """Whether another process answers for the file system."""
        return (self.filesystem or "").partition(".")[0] in USER_SPACE

    @property
    def is_on_disk(self) -> bool:
        """Whether the file system is neither in memory nor stacked on another one."""
        return not self.is_in_memory and not (self.filesystem or "").startswith(STACKED)

    @property
    def directory(self) -> str | None:
        """The directory that holds its data; None where none is known."""
        return self.storage or (self.address if self.address and self.kind is EndpointKind.DIRECTORY else None)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What an observer looks at during one phase."""

    pids: tuple[int, ...] = ()
    serving: tuple[int, ...] = ()
    """Those of `pids` that answer the others: a workload of two ends."""
    paths: tuple[str, ...] = ()
    """Data files, for cachestat and FIEMAP (backing files of image targets are in `backing_files`)."""
    backing_files: tuple[str, ...] = ()
    directory: str | None = None
    devices: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    cgroups: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    box: Box | None = None
    """The machine between load and server, on the target's host."""
    server: tuple[ServerNode, ...] = ()
    """The nodes of the target's server on this host."""
    reaches: tuple[str, ...] = ()
    """The addresses of the target's server that clients on this host use."""
    line: int | None = None
    """The process of the line between load and server."""
    tapes: tuple[str, ...] = ()
    """Tape drives that the load uses (`st0`)."""
    notebook: str | None = None
    """Where this host keeps the notebook: who watches it there works for the lab."""
