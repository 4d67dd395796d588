"""Access of the engine `bulk` to a file: its operations, the records and their order, the I/O interface and the queue depth.

`OPERATIONS` maps the name of each operation, as in the knob `operations`, to its `Pattern`. The results of `random_mix` have two
operations, `random_read` and `random_write`; `result_operations` returns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from assay.catalogue import Unit
from assay.records import Direction
from assay.settings.knobs import (
    Values,
    choice,
    fraction,
    in_bytes,
    integer,
    messages,
    names,
    number,
    quantity,
    share,
    switch,
    text,
)

STDIO = "stdio_"
"""Prefix of operations that use the buffer of C stdio."""
MIX = "random_mix"
USUAL_STRIDE = 17
"""Default stride in records, as in iozone."""

PATTERN = (
    choice(
        "order", "random operations: uniform (any record) or permutation (every record once a pass)", "uniform", "permutation"
    ),
    quantity("stride", "stride_read: bytes from record to record, a multiple of record_size; default 17 records", Unit.BYTES),
    share("read_share", "random_mix: share of reads"),
)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """An operation: its name in the engine, and its effect on the file."""

    engine: str
    reads: bool = False
    writes: bool = False
    random: bool = False
    fills: bool = False
    """It may create the file, and writes every record once."""
    keeps: bool = False
    """It needs the file's content to exist already."""


OPERATIONS: Mapping[str, Pattern] = MappingProxyType(
    {
        "write": Pattern(engine="write", writes=True, fills=True),
        "rewrite": Pattern(engine="rewrite", writes=True, keeps=True),
        "read": Pattern(engine="read", reads=True, keeps=True),
        "reread": Pattern(engine="reread", reads=True, keeps=True),
        "random_write": Pattern(engine="random_write", writes=True, random=True),
        "random_read": Pattern(engine="random_read", reads=True, random=True, keeps=True),
        MIX: Pattern(engine="random_mix", reads=True, writes=True, random=True, keeps=True),
        "backward_read": Pattern(engine="backward_read", reads=True, keeps=True),
        "record_rewrite": Pattern(engine="record_rewrite", writes=True, keeps=True),
        "stride_read": Pattern(engine="stride_read", reads=True, keeps=True),
        "stdio_write": Pattern(engine="write", writes=True, fills=True),
        "stdio_rewrite": Pattern(engine="rewrite", writes=True, keeps=True),
        "stdio_read": Pattern(engine="read", reads=True, keeps=True),
        "stdio_reread": Pattern(engine="reread", reads=True, keeps=True),
    }
)


def result_operations(name: str) -> Mapping[str, Direction]:
    """Return the operation names in the results with their directions: the operation, or the two parts of a mix."""
    if name == MIX:
        return {"random_read": Direction.READ, "random_write": Direction.WRITE}
    return {name: Direction.WRITE if OPERATIONS[name].writes else Direction.READ}


def pattern_setting(values: Values, name: str) -> dict[str, object]:
    """Return the engine's access pattern settings of one operation."""
    pattern = OPERATIONS[name]
    setting = {"operation": pattern.engine, "name": next(iter(result_operations(name)))}
    if pattern.random:
        setting["order"] = text(values, "order")
    if name == MIX:
        return {**setting, "write_name": "random_write", "read_share": fraction(values, "read_share")}
    if pattern.engine == "stride_read":
        return {**setting, "stride": integer(values, "stride", USUAL_STRIDE * integer(values, "record_size"))}
    return dict(setting)


def pattern_mistakes(values: Values) -> tuple[str, ...]:
    """Return mistakes: operations that exclude each other, and knobs that no operation uses."""
    chosen = names(values, "operations")
    mistakes = (
        (not chosen, "found no operations; expected at least one"),
        (
            len(set(chosen)) < len(chosen),
            f"found operations {', '.join(chosen)}; expected each at most once (use rewrite, reread)",
        ),
        *((MIX in chosen and half in chosen, _twice(half)) for half in result_operations(MIX)),
        (MIX in chosen and values.get("read_share") is None, 'found random_mix without read_share; expected one such as "67 %"'),
        (MIX not in chosen and values.get("read_share") is not None, "found read_share without random_mix; expected none"),
        (
            text(values, "order") == "permutation" and not any(OPERATIONS[name].random for name in chosen),
            "found order permutation without a random operation; expected uniform",
        ),
    )
    return (*messages(mistakes), *_stride_mistakes(values, chosen))


def _twice(half: str) -> str:
    return f"found {half} and random_mix, which also reports {half}; expected separate workloads"


def _stride_mistakes(values: Values, chosen: Sequence[str]) -> tuple[str, ...]:
    stride, record = integer(values, "stride"), integer(values, "record_size")
    if not stride:
        return ()
    size = integer(values, "size")
    mistakes = (
        ("stride_read" not in chosen, "found stride without stride_read; expected none"),
        (stride < record, f"found stride {in_bytes(stride)}; expected at least record_size ({in_bytes(record)})"),
        (
            stride > record and stride % record,
            f"found stride {in_bytes(stride)}; expected a multiple of record_size ({in_bytes(record)})",
        ),
        (size and stride >= size, f"found stride {in_bytes(stride)}; expected less than size ({in_bytes(size)})"),
    )
    return messages(mistakes)


MOST_DEPTH = 4096
MOST_QUEUED = 4 << 30
"""Highest number of requests, and of bytes, in flight for each worker."""
STDIO_BYTES = 4096
"""Default buffer of C stdio: the block size of most file systems."""
STREAMED = ("write", "rewrite", "read", "reread")
"""Operations that C stdio supports: a stdio stream is sequential."""

PATH = (
    choice("ioengine", "pread and pwrite, io_uring, a memory mapping, or C stdio", "psync", "io_uring", "mmap", "stdio"),
    number("depth", "io_uring: requests in flight of each worker", 1, (1, MOST_DEPTH)),
    number("batch", "io_uring: completions to wait for in one call; default half of depth", None, (1, MOST_DEPTH)),
    choice(
        "register", "io_uring: register files and buffers; probe: with direct, if the kernel supports it", "probe", "on", "off"
    ),
    quantity("stdio_buffer", "C stdio: buffer size; default 4 KiB", Unit.BYTES, None, (1, 1 << 30)),
    switch("direct", "open with O_DIRECT"),
    choice("sync", "open with O_DSYNC", "none", "dsync"),
)


def path_setting(values: Values, name: str) -> dict[str, object]:
    """Return the engine's I/O interface settings of one operation."""
    sync = text(values, "sync") if OPERATIONS[name].writes else "none"
    opened = {"direct": values["direct"], "sync": sync}
    if through_stdio(values, name):
        return {"path": "stdio", "stdio_buffer": integer(values, "stdio_buffer", STDIO_BYTES), **opened}
    path = {"path": text(values, "ioengine")}
    if path["path"] != "io_uring":
        return {**path, **opened}
    depth = integer(values, "depth", 1)
    return {**path, "depth": depth, "batch": batch(values), "register": text(values, "register"), **opened}


def through_stdio(values: Values, name: str) -> bool:
    """Return True if an operation uses C stdio: by its own name, or by the knob for all operations."""
    return name.startswith(STDIO) or text(values, "ioengine") == "stdio"


def batch(values: Values) -> int:
    """Return the completions to wait for in one call: as requested, else half of the depth.

    With half, one system call submits many requests, and the target still has the other half queued.
    """
    return integer(values, "batch", max(1, integer(values, "depth", 1) // 2))


def path_mistakes(values: Values) -> tuple[str, ...]:
    """Return mistakes: knobs of another I/O interface, and more in flight than the engine supports."""
    path, depth, record = text(values, "ioengine"), integer(values, "depth", 1), integer(values, "record_size")
    rings, maps, wanted = path == "io_uring", path == "mmap", integer(values, "batch")
    stdio = [name for name in names(values, "operations") if through_stdio(values, name)]
    unlike = [name for name in stdio if name.removeprefix(STDIO) not in STREAMED]
    mistakes = (
        (depth > MOST_DEPTH, f"found depth {depth}; expected at most {MOST_DEPTH}"),
        (not rings and depth > 1, f"found depth {depth} with ioengine {path}; expected io_uring, or more workers"),
        (not rings and wanted, f"found batch with ioengine {path}; expected io_uring"),
        (not rings and text(values, "register") != "probe", f"found register with ioengine {path}; expected io_uring"),
        (rings and wanted > depth, f"found batch {wanted}; expected at most depth ({depth})"),
        (rings and record * depth > MOST_QUEUED, f"found {in_bytes(record * depth)} in flight; expected at most 4 GiB a worker"),
        (maps and values["direct"], "found direct with ioengine mmap; expected one of them: mmap uses the page cache"),
        (maps and text(values, "sync") != "none", "found sync with ioengine mmap; expected flush: a mapping is flushed by msync"),
        (stdio and path not in ("psync", "stdio"), f"found {', '.join(stdio)} with ioengine {path}; expected psync or stdio"),
        (unlike, f"found {', '.join(unlike)} with ioengine stdio; expected {', '.join(STREAMED)}: a stdio stream is sequential"),
        (stdio and values["direct"], f"found {', '.join(stdio)} with direct; expected one of them: stdio uses a buffer"),
        (
            stdio and text(values, "layout") != "segments",
            f"found {', '.join(stdio)} with layout {text(values, 'layout')}; expected segments: a stdio stream is sequential",
        ),
        (
            not stdio and integer(values, "stdio_buffer"),
            "found stdio_buffer without a stdio_ operation or ioengine stdio; expected none",
        ),
    )
    return messages(mistakes)
