"""What the engine `bulk` writes, and whether what it reads is that: how far data can be made smaller, and verification.

Where records are verified, every write describes its blocks: which place of which file, by which phase (its generation).
A read that follows on a phase that wrote everything looks for just that generation, so that a lost write is found too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.records import Direction
from assay.settings.knobs import Values, choice, fraction, in_bytes, integer, names, number, ratio, share, text, told
from assay.settings.patterns import MIX, OPERATIONS

BLOCK = 4096
"""What is described and verified as one."""
LAYOUT_GENERATION = 0

DATA = (
    ratio("compressible", "how many times smaller a compressor makes the data", 1.0, (1, 5)),
    share("duplicates", "share of records that are copies of others", 0.0),
    share("zeros", "share of records that are all zeros", 0.0),
    choice("verify", "look whether what is read was written there: nothing, one record in 64, all", "none", "sample", "all"),
)


def is_verified(values: Values) -> bool:
    """Whether any record that is read is looked at."""
    return text(values, "verify") != "none"


def repeats(values: Values) -> bool:
    """Whether some records are like others."""
    return fraction(values, "duplicates") + fraction(values, "zeros") > 0


def data_setting(values: Values, name: str, *, fills: bool) -> dict[str, object]:
    """What the engine is told of the data of one operation; `fills`: whether phases that can write the whole file do so."""
    pattern, told_of = OPERATIONS[name], dict[str, object]()
    if pattern.writes:
        told_of["data"] = written(values)
        told_of["describe"] = is_verified(values)
    if is_verified(values):
        told_of["generation"] = generation(names(values, "operations"), name, fills=fills)
    return {**told_of, "verify": text(values, "verify")} if pattern.reads else told_of


def layout_setting(values: Values) -> dict[str, object]:
    """What the engine is told of the data of the layout."""
    described = {"describe": True, "generation": LAYOUT_GENERATION} if is_verified(values) else {}
    return {"data": written(values), **described}


def written(values: Values) -> object:
    """What the data are like: all different and as dense as can be, or less so."""
    shape = {name: fraction(values, name) for name in ("compressible", "duplicates", "zeros")}
    return shape if shape["compressible"] > 1 or repeats(values) else "unique"


def generation(chosen: Sequence[str], name: str, *, fills: bool) -> int | None:
    """The generation that a phase writes, or that must be where it reads; None where it may be one of several.

    A phase that writes has its place among the operations, from 1 on; the layout, before all, has 0.
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
    """Shares that are more than all, and verification of what nothing has described."""
    chosen, record = names(values, "operations"), integer(values, "record_size")
    reads = any(OPERATIONS[name].reads for name in chosen)
    zeros, duplicates = fraction(values, "zeros"), fraction(values, "duplicates")
    verified, own = is_verified(values), values["file"] is None
    mistakes = (
        (zeros + duplicates > 1, "found zeros and duplicates of more than 100 % together; expected at most that"),
        (not own and written(values) != "unique", "found compressible, duplicates or zeros with an existing file; expected none"),
        (verified and not own, "found verify with an existing file; expected none: what should be in it is not known"),
        (verified and not reads, "found verify without reads; expected a read among the operations"),
        (
            verified and record % BLOCK,
            f"found verify with record_size {in_bytes(record)}; expected a multiple of {in_bytes(BLOCK)}",
        ),
        (
            verified and repeats(values),
            "found verify with duplicates or zeros; expected one of them: a block that says where it is, is unique",
        ),
    )
    return told(mistakes)


FLUSH = (
    choice("flush", "flush inside the clock: never, at the end, after each write", "none", "end", "each"),
    number("flush_every", "flush after so many writes of a worker, and at its end what is left"),
    choice("flush_call", "sync_file_range writes back and makes nothing durable", "fsync", "fdatasync", "sync_file_range"),
)


def is_flushed(values: Values) -> bool:
    """Whether anything is flushed."""
    return text(values, "flush") != "none" or integer(values, "flush_every") > 0


def is_durable(values: Values) -> bool:
    """Whether a flush waits until the device says that it keeps the data."""
    return text(values, "flush_call") != "sync_file_range"


def flush_name(values: Values, name: str) -> str | None:
    """What the flushes of an operation are called; None = it has none.

    `flush`, or `writeback` where the call makes nothing durable, with the operation's name before it where several write.
    """
    if not OPERATIONS[name].writes or not is_flushed(values):
        return None
    word = "flush" if is_durable(values) else "writeback"
    several = sum(OPERATIONS[other].writes for other in names(values, "operations")) > 1
    return f"{name}_{word}" if several else word


def flush_directions(values: Values, name: str) -> Mapping[str, Direction]:
    """The flush of an operation as a flush; nothing where it makes nothing durable: then it is the write that goes on."""
    called = flush_name(values, name)
    return {called: Direction.FLUSH} if called and is_durable(values) else {}


def flush_setting(values: Values, name: str) -> dict[str, object]:
    """What the engine is told of the flushes of one operation."""
    called = flush_name(values, name)
    if called is None:
        return {"flush": "none", "flush_name": None}
    often = integer(values, "flush_every") or text(values, "flush")
    return {"flush": often, "flush_call": text(values, "flush_call"), "flush_name": called}


def flush_mistakes(values: Values) -> tuple[str, ...]:
    """Flushes of nothing, told twice, or by a call that does not fit."""
    writes = any(OPERATIONS[name].writes for name in names(values, "operations"))
    often, call = text(values, "flush"), text(values, "flush_call")
    mistakes = (
        (is_flushed(values) and not writes, "found flush without writes; expected none"),
        (integer(values, "flush_every") and often != "none", f"found flush_every with flush {often}; expected one of them"),
        (call != "fsync" and not is_flushed(values), f"found flush_call {call} without flush; expected flush or flush_every"),
        (
            not is_durable(values) and text(values, "io_path") == "mmap",
            "found flush_call sync_file_range with io_path mmap; expected fsync: a mapping is flushed by msync",
        ),
    )
    return told(mistakes)
