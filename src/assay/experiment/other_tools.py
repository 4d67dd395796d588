"""The options of fio, iozone, elbencho and mdtest, and the knobs that do the same here: for the error about an unknown key.

Also what inventories of hosts call the keys of `[hosts]`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

HOMES = {
    "bulk_io": "workload bulk_io",
    "metadata": "workload metadata",
    "profile": "workload profile",
    "file": "an experiment file",
    "target": "a target",
    "host": "a host",
}
"""Where a counterpart belongs, in words."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of another tool and its counterpart."""

    tool: str
    knob: str
    also: str = ""
    """A value, or a second knob, that the counterpart needs."""
    home: str
    """What has the knob."""


def _of(tool: str, home: str, pairs: dict[str, str]) -> dict[str, Option]:
    """Return the options of one tool; a counterpart is a knob and, in brackets, what to know about it."""
    found = {}
    for name, counterpart in pairs.items():
        where, _, rest = counterpart.rpartition(": ")
        knob, _, also = rest.partition(" ")
        found[name] = Option(tool=tool, knob=knob, also=also, home=HOMES[where or home])
    return found


FIO = _of(
    "fio",
    "bulk_io",
    {
        "bs": "record_size",
        "blocksize": "record_size",
        "bssplit": "profile: profile",
        "rw": "operations (randread is random_read, randwrite random_write, randrw random_mix)",
        "readwrite": "operations (randread is random_read, randwrite random_write, randrw random_mix)",
        "iodepth": 'depth (with ioengine = "io_uring")',
        "iodepth_batch_complete_min": "batch",
        "iodepth_batch_complete": "batch",
        "numjobs": "workers (threads), or clients (processes)",
        "thread": "workers",
        "filesize": "size",
        "filename": "file",
        "directory": "target: path",
        "nrfiles": "metadata: count",
        "runtime": "duration",
        "time_based": "duration",
        "ramp_time": "until_steady",
        "steadystate": "until_steady",
        "ss": "until_steady",
        "startdelay": "start_delay",
        "io_size": "ops",
        "number_ios": "ops",
        "loops": "file: repeats",
        "rwmixread": "read_share",
        "rwmixwrite": "read_share (the rest is written)",
        "rate_iops": "rate",
        "rate_process": "arrivals",
        "thinktime": "think",
        "fsync": "flush_every",
        "fdatasync": 'flush_every (with flush_call = "fdatasync")',
        "end_fsync": 'flush = "end"',
        "fsync_on_close": 'flush = "end"',
        "sync_file_range": 'flush_call = "sync_file_range"',
        "buffered": "direct (the opposite)",
        "invalidate": 'cache = "cold"',
        "pre_read": 'cache = "warm"',
        "norandommap": 'order = "uniform"',
        "random_generator": "order",
        "randseed": "file: seed",
        "randrepeat": "file: seed",
        "buffer_compress_percentage": "compressible",
        "dedupe_percentage": "duplicates",
        "zero_buffers": "zeros",
        "do_verify": "verify",
        "cpus_allowed": "cpus",
        "cpumask": "cpus",
        "registerfiles": "register",
        "fixedbufs": "register",
        "group_reporting": "file: measures",
    },
)
IOZONE = _of(
    "iozone",
    "bulk_io",
    {
        "-r": "record_size",
        "-s": "size",
        "-t": "clients (processes), or workers (threads)",
        "-T": "workers",
        "-i": "operations (0 is write and rewrite, 1 read and reread, 2 random_read and random_write)",
        "-I": "direct",
        "-o": 'sync = "dsync"',
        "-e": 'flush = "end"',
        "-B": 'ioengine = "mmap"',
        "-k": 'ioengine = "io_uring"',
        "-H": 'ioengine = "io_uring"',
        "-j": "stride",
        "-J": "think",
        "-O": "file: measures (ops_per_s)",
        "-f": "file",
        "-F": 'sharing = "file-each"',
        "-P": "cpus",
        "-n": "file: factors (the levels of size)",
        "-g": "file: factors (the levels of size)",
        "-y": "file: factors (the levels of record_size)",
        "-q": "file: factors (the levels of record_size)",
        "-+w": "duplicates",
        "-+d": 'verify = "all"',
    },
)
ELBENCHO = _of(
    "elbencho",
    "bulk_io",
    {
        "-b": "record_size",
        "block": "record_size",
        "-s": "size",
        "-t": "workers",
        "threads": "workers",
        "-n": "metadata: spread",
        "dirs": "metadata: spread",
        "-N": "metadata: count",
        "files": "metadata: count",
        "-w": 'operations = ["write"]',
        "-r": 'operations = ["read"]',
        "-d": 'metadata: operations = ["mkdir"]',
        "mkdirs": 'metadata: operations = ["mkdir"]',
        "-F": 'metadata: operations = ["unlink"]',
        "delfiles": 'metadata: operations = ["unlink"]',
        "-D": 'metadata: operations = ["rmdir"]',
        "deldirs": 'metadata: operations = ["rmdir"]',
        "stat": 'metadata: operations = ["stat"]',
        "rand": 'operations = ["random_read"]',
        "randamount": "ops",
        "rwmixpct": "read_share",
        "timelimit": "duration",
        "limitread": "rate (operations, not bytes)",
        "limitwrite": "rate (operations, not bytes)",
        "dropcache": 'cache = "cold"',
        "mmap": 'ioengine = "mmap"',
        "zones": "cpus",
        "cores": "cpus",
        "blockvarpct": "compressible",
        "hosts": "file: hosts",
        "iterations": "file: repeats",
        "-i": "file: repeats",
    },
)
MDTEST = _of(
    "mdtest",
    "metadata",
    {
        "-n": "count",
        "-I": "count",
        "-b": "spread",
        "-z": "spread",
        "-w": "file_bytes",
        "-i": "file: repeats",
        "-d": "target: path",
        "-u": 'directories = "own"',
        "-C": 'operations = ["create"]',
        "-T": 'operations = ["stat"]',
        "-E": 'operations = ["open"]',
        "-r": 'operations = ["unlink"]',
        "-D": 'object = "directory"',
        "-F": 'object = "file"',
        "-y": 'operations (add "fsync")',
    },
)
TOOLS = (FIO, IOZONE, ELBENCHO, MDTEST)
ANSIBLE = _of(
    "ansible",
    "host",
    {
        "ansible_host": "address",
        "ansible_user": "address (USER@HOST)",
        "ansible_ssh_user": "address (USER@HOST)",
        "ansible_port": "address (HOST:PORT)",
        "ansible_connection": "via",
    },
)
SSH = _of(
    "ssh_config",
    "host",
    {
        "hostname": "address",
        "user": "address (USER@HOST)",
        "port": "address (HOST:PORT)",
        "identityfile": "address (a Host of ~/.ssh/config)",
        "proxyjump": "address (a Host of ~/.ssh/config)",
    },
)
INVENTORIES = _of(
    "other inventories",
    "host",
    {"ip": "address", "host": "address", "hosts": "addresses", "fqdn": "address", "addr": "address", "nodes": "addresses"},
)
HOSTS = (ANSIBLE, SSH, INVENTORIES)
"""What others call the keys of a host."""


def counterpart(name: str, known: Collection[str], tools: Collection[Mapping[str, Option]] = TOOLS) -> str | None:
    """Return what an option of another tool is called here, for each tool that has it; None for a name of no tool.

    `known` are the keys of the table at hand: a counterpart that is not among them is named with its home.
    """
    bare = name.lstrip("-")
    keys = (f"-{bare}",) if len(bare) == 1 else (bare, name)
    found = [(key, options[key]) for options in tools for key in keys if key in options]
    return ", or ".join(dict.fromkeys(_words(key, option, known) for key, option in found)) or None


def _words(key: str, option: Option, known: Collection[str]) -> str:
    """Return `record_size (bs in fio)`."""
    named = f"{option.knob} {option.also}".rstrip()
    if option.knob not in known:
        named += f" of {option.home}"
    return f"{named} ({key} in {option.tool})"
