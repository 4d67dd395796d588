"""Data of the engine `bulk`: how far they compress, how they are verified, and when they are flushed.

With verification every write labels its blocks with their file, offset and phase (the generation). A read after a phase
that wrote the whole file expects exactly that generation, so a lost write is found too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.records import Direction
from assay.settings.access import MIX, OPERATIONS
from assay.settings.knobs import Values, choice, fraction, in_bytes, integer, messages, names, number, ratio, share, text

BLOCK = 4096
"""Bytes of one labelled and verified unit."""
LAYOUT_GENERATION = 0

DATA = (
    ratio("compressible", "compression ratio of the data that are written", 1.0, (1, 5)),
    share("duplicates", "share of records that are copies of another record", 0.0),
    share("zeros", "share of records that contain only zeros", 0.0),
    choice("verify", "check the content of reads: none, sample (1 record in 64) or all", "none", "sample", "all"),
)


def is_verified(values: Values) -> bool:
    """Return True if the content of any read is checked."""
    return text(values, "verify") != "none"


def repeats(values: Values) -> bool:
    """Return True if some records have equal content."""
    return fraction(values, "duplicates") + fraction(values, "zeros") > 0


def data_setting(values: Values, name: str, *, fills: bool) -> dict[str, object]:
    """Return the engine's data settings of one operation; with `fills`, phases that can write the whole file do so."""
    pattern, setting = OPERATIONS[name], dict[str, object]()
    if pattern.writes:
        setting["data"] = content(values)
        setting["describe"] = is_verified(values)
    if is_verified(values):
        setting["generation"] = generation(names(values, "operations"), name, fills=fills)
    return {**setting, "verify": text(values, "verify")} if pattern.reads else setting


def layout_setting(values: Values) -> dict[str, object]:
    """Return the engine's data settings of the layout."""
    described = {"describe": True, "generation": LAYOUT_GENERATION} if is_verified(values) else {}
    return {"data": content(values), **described}


def content(values: Values) -> object:
    """Return the content of the data: `unique` (incompressible), or its ratio and shares."""
    shape = {name: fraction(values, name) for name in ("compressible", "duplicates", "zeros")}
    return shape if shape["compressible"] > 1 or repeats(values) else "unique"


def generation(chosen: Sequence[str], name: str, *, fills: bool) -> int | None:
    """Return the generation that a phase writes, or expects to read; None if several are possible.

    The layout is generation 0; a writing phase has its position among the operations, from 1.
    """
    if name == MIX:
        return None
    if OPERATIONS[name].writes:
        return 1 + chosen.index(name)
    before = [other for other in chosen[: chosen.index(name)] if OPERATIONS[other].writes]
    if not before:
        return LAYOUT_GENERATION
    whole = fills and OPERATIONS[before[-1]].engine in ("write", "rewrite")
    return 1 + chosen.index(before[-1]) if whole else None


def data_mistakes(values: Values) -> tuple[str, ...]:
    """Return mistakes: shares above 100 %, and verification of data without labels."""
    chosen, record = names(values, "operations"), integer(values, "record_size")
    reads = any(OPERATIONS[name].reads for name in chosen)
    zeros, duplicates = fraction(values, "zeros"), fraction(values, "duplicates")
    verified, own = is_verified(values), values["file"] is None
    mistakes = (
        (zeros + duplicates > 1, "found zeros and duplicates above 100 % together; expected at most 100 %"),
        (not own and content(values) != "unique", "found compressible, duplicates or zeros with an existing file; expected none"),
        (verified and not own, "found verify with an existing file; expected none: its correct content is unknown"),
        (verified and not reads, "found verify without reads; expected a read among the operations"),
        (
            verified and record % BLOCK,
            f"found verify with record_size {in_bytes(record)}; expected a multiple of {in_bytes(BLOCK)}",
        ),
        (
            verified and repeats(values),
            "found verify with duplicates or zeros; expected one of them: labels make every block unique",
        ),
    )
    return messages(mistakes)


FLUSH = (
    choice("flush", "flush inside the measured time: never, at the end, or after each write", "none", "end", "each"),
    number("flush_every", "flush after this many writes of a worker, and at its end"),
    choice(
        "flush_call", "system call of a flush; sync_file_range makes nothing durable", "fsync", "fdatasync", "sync_file_range"
    ),
)


def is_flushed(values: Values) -> bool:
    """Return True if anything is flushed."""
    return text(values, "flush") != "none" or integer(values, "flush_every") > 0


def is_durable(values: Values) -> bool:
    """Return True if a flush waits until the device confirms the data are durable."""
    return text(values, "flush_call") != "sync_file_range"


def flush_name(values: Values, name: str) -> str | None:
    """Return the name of an operation's flushes; None if it has none.

    `flush`, or `writeback` if the call makes nothing durable; prefixed by the operation's name if several operations write.
    """
    if not OPERATIONS[name].writes or not is_flushed(values):
        return None
    word = "flush" if is_durable(values) else "writeback"
    several = sum(OPERATIONS[other].writes for other in names(values, "operations")) > 1
    return f"{name}_{word}" if several else word


def flush_directions(values: Values, name: str) -> Mapping[str, Direction]:
    """Return the direction of an operation's flush; empty if it makes nothing durable."""
    called = flush_name(values, name)
    return {called: Direction.FLUSH} if called and is_durable(values) else {}


def flush_setting(values: Values, name: str) -> dict[str, object]:
    """Return the engine's flush settings of one operation."""
    called = flush_name(values, name)
    if called is None:
        return {"flush": "none", "flush_name": None}
    often = integer(values, "flush_every") or text(values, "flush")
    return {"flush": often, "flush_call": text(values, "flush_call"), "flush_name": called}


def flush_mistakes(values: Values) -> tuple[str, ...]:
    """Return mistakes: flushes without writes, two flush intervals, or a call that does not fit."""
    writes = any(OPERATIONS[name].writes for name in names(values, "operations"))
    often, call = text(values, "flush"), text(values, "flush_call")
    mistakes = (
        (is_flushed(values) and not writes, "found flush without writes; expected none"),
        (integer(values, "flush_every") and often != "none", f"found flush_every with flush {often}; expected one of them"),
        (call != "fsync" and not is_flushed(values), f"found flush_call {call} without flush; expected flush or flush_every"),
        (
            not is_durable(values) and text(values, "ioengine") == "mmap",
            "found flush_call sync_file_range with ioengine mmap; expected fsync: a mapping is flushed by msync",
        ),
    )
    return messages(mistakes)
