"""I/O interface between the engine `bulk` and a file: system calls, io_uring, mmap or C stdio, and the queue depth."""

from __future__ import annotations

from assay.catalogue import Unit
from assay.settings.knobs import Values, choice, in_bytes, integer, messages, names, number, quantity, switch, text
from assay.settings.patterns import OPERATIONS, STDIO

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
    number("batch", "io_uring: completions to wait for in one call; half of depth", None, (1, MOST_DEPTH)),
    choice(
        "register", "io_uring: register files and buffers; probe: with direct, if the kernel supports it", "probe", "on", "off"
    ),
    quantity("stdio_buffer", "C stdio: buffer size; 4 KiB", Unit.BYTES, None, (1, 1 << 30)),
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
