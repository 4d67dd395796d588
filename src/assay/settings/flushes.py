"""Flushes inside the clock: how often, by which call, what they are called and whether what they leave behind is durable."""

from __future__ import annotations

from collections.abc import Mapping

from assay.records import Direction
from assay.settings.knobs import Values, choice, integer, names, number, text, told
from assay.settings.patterns import OPERATIONS

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
            not is_durable(values) and text(values, "ioengine") == "mmap",
            "found flush_call sync_file_range with ioengine mmap; expected fsync: a mapping is flushed by msync",
        ),
    )
    return told(mistakes)
