"""Which part of which file each worker of the engine `bulk` uses: files of their own, or one that they share."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from assay.catalogue import Knob, KnobKind, Order, Unit
from assay.records import EndpointKind
from assay.settings.knobs import Values, choice, in_bytes, integer, names, number, quantity, switch, text, told
from assay.settings.patterns import OPERATIONS

MIB = 1 << 20
DEFAULT_SIZE = 64 * MIB
MOST_RECORD = 1 << 30
SECTOR = 512
"""Direct I/O in less than this is refused by most file systems, but not by all."""

REGION = (
    quantity("record_size", "bytes of one operation", Unit.BYTES, 64 << 10, (1, MOST_RECORD)),
    quantity("size", "bytes of a file; 64 MiB, or all of an existing file", Unit.BYTES),
    switch("split", "size is the total of all clients and workers"),
    choice("sharing", "a file for each worker, or one file for all", "file-each", "one-file"),
    choice(
        "layout",
        "how one file is shared: a stretch each, record by record in turn, or dealt out",
        "segments",
        "interleaved",
        "random",
    ),
    number("workers", "threads of each client", 1, (1, 1024)),
    Knob(name="file", kind=KnobKind.PATH, help="an existing file to read, and only that; relative: below the target's directory"),
    switch("overwrite", "lay the files out first, so that writes are overwrites"),
)


def is_shared(values: Values) -> bool:
    """Whether all workers use one file."""
    return text(values, "sharing") == "one-file" or values["file"] is not None


def is_a_file(order: Order) -> bool:
    """Whether the target gives all clients one file of ours instead of a directory."""
    return order.endpoints[0].kind is EndpointKind.FILE


def shared_path(order: Order) -> str:
    """The one file of all workers, where they share one that is ours."""
    address = order.endpoints[0].address
    return address if is_a_file(order) else f"{address}/{order.workload}.data"


def existing(order: Order, values: Values) -> str | None:
    """The existing file that is read, below the target's directory where its path is relative; None where the files are ours."""
    return None if values["file"] is None else posixpath.join(order.endpoints[0].address, text(values, "file"))


def region(order: Order, values: Values, layout: str, who: tuple[int, int]) -> Mapping[str, object]:
    """The part of a file that one worker (of one client) uses, apart from all others.

    Size 0 = all that an existing file has. What is shared in another layout than segments is told to all as a whole, with the
    number of the part: the engine takes one record in so many, or deals them out.
    """
    client, worker = who
    workers = integer(values, "workers")
    parts, part = workers * len(order.endpoints), client * workers + worker
    if values["file"] is not None and values["size"] is None:
        return {"path": existing(order, values), "offset": 0, "size": 0, "part": part, "parts": parts}
    size, record = integer(values, "size", DEFAULT_SIZE), integer(values, "record_size")
    shared = existing(order, values) or shared_path(order)
    in_one = is_shared(values) or is_a_file(order)
    own = f"{order.endpoints[client].address}/{order.workload}-{client}-{worker}.data"
    if in_one and layout != "segments":
        return {"path": shared, "offset": 0, "size": size, "part": part, "parts": parts}
    if not in_one and not values["split"]:
        parts, part = 1, 0
    records = size // record
    start, end = records * part // parts * record, records * (part + 1) // parts * record
    if in_one:
        return {"path": shared, "offset": start, "size": end - start}
    return {"path": own, "offset": 0, "size": end - start}


def regions(order: Order, values: Values, layout: str, client: int) -> tuple[Mapping[str, object], ...]:
    """The parts of all workers of one client."""
    return tuple(region(order, values, layout, (client, worker)) for worker in range(integer(values, "workers")))


def paths(order: Order, values: Values) -> tuple[str, ...]:
    """The files of all workers of all clients, each once."""
    used = (one["path"] for client in range(len(order.endpoints)) for one in regions(order, values, "segments", client))
    return tuple(dict.fromkeys(str(path) for path in used))


def layout_record(values: Values) -> int:
    """Bytes of one write of the layout: about 1 MiB.

    With direct I/O an odd number of records (one, where they are no whole sectors): what the file system refuses of those is
    then refused of it too, before anything is written. Where records are to be like others, one, so that their shares are met.
    """
    record = integer(values, "record_size")
    if values.get("duplicates") or values.get("zeros") or (values["direct"] and record % SECTOR):
        return record
    return record * (max(0, MIB // record - 1) | 1) if values["direct"] else MIB


def files(values: Values, clients: int) -> int:
    """How many files of `size` bytes there are together."""
    return 1 if values["split"] or text(values, "sharing") == "one-file" else integer(values, "workers") * clients


def region_mistakes(values: Values) -> tuple[str, ...]:
    """Sizes that do not fit, and writes to what is not ours."""
    own, layout = values["file"] is None, text(values, "layout")
    size, record = integer(values, "size", DEFAULT_SIZE), integer(values, "record_size")
    writes = [name for name in names(values, "operations") if OPERATIONS[name].writes]
    least = record * (integer(values, "workers") if is_shared(values) or values["split"] else 1)
    is_sized = own or values["size"] is not None
    mistakes = (
        (not own and writes, f"found {', '.join(writes)} on an existing file; expected reads only: it is never written"),
        (not own and values["overwrite"], "found overwrite with an existing file; expected one of them"),
        (is_sized and size % record, f"found size {in_bytes(size)}; expected a multiple of record_size ({in_bytes(record)})"),
        (
            is_sized and size < least,
            f"found size {in_bytes(size)}; expected at least {in_bytes(least)}, a record for each worker",
        ),
        (
            layout != "segments" and not is_shared(values),
            f"found layout {layout} with a file for each worker; expected sharing one-file, or an existing file",
        ),
    )
    return told(mistakes)
