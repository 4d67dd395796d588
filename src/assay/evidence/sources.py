"""Keys of evidence: whether there is evidence of a key, its source in words, and how to get it where it is missing."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from assay import catalogue
from assay.catalogue import Source
from assay.evidence import ladder
from assay.records import Direction, Observations, Phase, Rung

PROCESS = "a kernel with task I/O accounting (/proc/self/io), and root for other users' processes"
DEVICE = "a directory on a visible block device (not tmpfs, overlays or network file systems)"
SERVER = "server.pid_file or server.cgroup of the target, which name the server's processes (docs/targets/commands.md)"
TRACING = 'root, the package bpftrace, and observers = ["*", "tracepoints"] in the experiment (assay stat --observe tracepoints)'
WATCH = "watch"
"""The key of what imported results lack: a run that was watched."""

UNOBSERVED = (
    Source(keys=WATCH, words="a run that was watched", way="a run of the tool under `assay stat`"),
    Source(keys="L0.*", words="the load's own report", way="an engine of the lab, or a tool with a parser"),
    Source(keys="growth.*", words="growth of the written files, with their extents", way="a command under `assay stat`"),
    Source(
        keys="tcp.*",
        words="the kernel's state of the load's TCP connections (TCP_INFO)",
        way="Assay's own engine at both ends (net_stream, net_rr)",
    ),
    Source(
        keys="udp.*",
        words="datagrams that the receiver's socket buffer dropped (SO_MEMINFO)",
        way="Assay's own engine at both ends (net_udp)",
    ),
    Source(keys="lab.*", words="the lab's own CPU time", way="a run of `assay run`, which always records it"),
    Source(
        keys="fact:filesystem.free_share", words="the free space before the trial", way="a run of `assay run`, which records it"
    ),
    Source(keys="fact:target.*", words="the target's report of its server", way=SERVER),
)
"""Evidence that no observer gives."""


@functools.cache
def of(key: str) -> Source:
    """The source of an evidence key (`L9.flush`, `page_cache.dirty_bytes`, `fact:sysctl.vm.*`), as its observer says it."""
    declared = (source for observer in catalogue.observers_of(key) for source in observer.sources)
    fitting = (source for source in (*UNOBSERVED, *declared) if fits(key, source.keys))
    unknown = Source(keys=key, words=key, way="an observer that counts it: see `assay catalogue`")
    return max(fitting, key=lambda source: len(source.keys), default=unknown)


def fits(key: str, pattern: str) -> bool:
    """Return whether a pattern (`fact:device.*`, `own_*_bytes`) stands for a key; a `*` is anything, all else is itself."""
    head, *rest = pattern.split("*")
    if not rest:
        return key == pattern
    *between, tail = rest
    if not key.startswith(head):
        return False
    at = len(head)
    for part in between:
        found = key.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(key) - len(tail) >= at and key.endswith(tail)


def has(phase: Phase, observations: Observations, key: str) -> bool:
    """Whether there is evidence of a key (`L2.read`, `page_cache.dirty_bytes`, `fact:kernel.*`) in a phase."""
    kind, _, rest = key.partition(":")
    if kind == "fact":
        return any(fits(fact.key, rest) for fact in observations.facts)
    layer, _, metric = key.partition(".")
    if layer in set(Rung):
        return any(True for _ in observations.rung(phase.name, Rung(layer), Direction(metric)))
    return any(True for _ in observations.over_time(phase.name, layer, metric))


def has_anywhere(observations: Observations, key: str) -> bool:
    """Whether there is evidence of a key in any phase."""
    kind, _, rest = key.partition(":")
    if kind == "fact":
        return any(fits(fact.key, rest) for fact in observations.facts)
    layer, _, metric = key.partition(".")
    return any((reading.rung, reading.direction) == (layer, metric) for reading in observations.readings) or any(
        (series.layer, series.metric) == (layer, metric) for series in observations.series
    )


def words(key: str) -> str:
    """`L9 flushes that the devices completed`: the rung, where it is one, and what is counted."""
    rung = key.partition(".")[0]
    return f"{rung} {of(key).words}" if rung in set(Rung) else of(key).words


def named(phase: Phase, observations: Observations, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The evidence that there is of these keys, each once, in words and with the file, call or program that told it."""
    found: dict[str, dict[str, None]] = {}
    for key in keys:
        if has(phase, observations, key):
            who = (one for one in programs(phase, observations, key) if one.partition("(")[0] not in words(key))
            found.setdefault(words(key), {}).update(dict.fromkeys(who))
    return tuple(f"{word} ({', '.join(who)})" if who else word for word, who in found.items())


def programs(phase: Phase, observations: Observations, key: str) -> Iterator[str]:
    """Which file, call or program told it; where several count the same, the one that is used."""
    layer, _, metric = key.partition(".")
    if layer in set(Rung):
        step = ladder.passed(phase, observations, Rung(layer), Direction(metric))
        if step is not None:
            yield step.source.partition(":")[2] or step.source
        return
    for series in observations.over_time(phase.name, layer, metric):
        yield series.source.partition(":")[2] or series.source


def missing(phase: Phase, observations: Observations, keys: tuple[str, ...]) -> Iterator[str]:
    """Those of the keys of which there is no evidence."""
    for key in keys:
        upper = key.startswith(f"{Rung.UPPER_DEVICE}.")  # a stack of one device has none above it
        if not has(phase, observations, key) and not (upper and has(phase, observations, f"L9{key[2:]}")):
            yield key


def way(observations: Observations, key: str) -> str:
    """How to get missing evidence, after the reason why it is missing, where one is known; a reason may end with the remedy."""
    why = observations.why_missing(key)
    if why and why.endswith("."):
        return f"{words(key)} ({why.removesuffix('.')})"
    return f"{words(key)}{f' ({why})' if why else ''}, needs {of(key).way}"


@functools.cache
def on_request(key: str) -> tuple[str, ...]:
    """The observers that give this evidence and that `assay stat` runs on request alone; rungs it counts without."""
    if key.partition(".")[0] in set(Rung):
        return ()
    known = (
        observer for observer in catalogue.observers_of(key) if observer.watch is None and catalogue.LINUX in observer.systems
    )
    return tuple(observer.name for observer in known if any(fits(key, given) for given in observer.gives))
