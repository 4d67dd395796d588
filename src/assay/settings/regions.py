"""Regions of the engine `bulk`: the part of a file that each worker uses, in its own file or in a shared one."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from assay.catalogue import Knob, KnobKind, Order, Unit
from assay.records import EndpointKind
from assay.settings.access import OPERATIONS
from assay.settings.knobs import Values, choice, in_bytes, integer, messages, names, number, quantity, switch, text

MIB = 1 << 20
DEFAULT_SIZE = 64 * MIB
MOST_RECORD = 1 << 30
PAGE = 4096
SECTOR = 512
"""Most file systems, but not all, refuse direct I/O of less."""

REGION = (
    quantity("record_size", "bytes of one operation", Unit.BYTES, 64 << 10, (1, MOST_RECORD)),
    quantity("size", "bytes of a file; default 64 MiB, or the whole of an existing file", Unit.BYTES),
    switch("split", "size is the total of all clients and workers"),
    choice("sharing", "one file for each worker, or one file for all", "file-each", "one-file"),
    choice(
        "layout",
        "how workers share one file: a contiguous segment each, records in turn, or records at random",
        "segments",
        "interleaved",
        "random",
    ),
    number("workers", "threads of each client", 1, (1, 1024)),
    Knob(name="file", kind=KnobKind.PATH, help="existing file to read, never written; relative to the target's directory"),
    switch("overwrite", "create the files before the measurement, so that writes overwrite"),
)


def is_shared(values: Values) -> bool:
    """Return True if all workers use one file."""
    return text(values, "sharing") == "one-file" or values["file"] is not None


def is_a_file(order: Order) -> bool:
    """Return True if the target gives all clients one file instead of a directory."""
    return order.endpoints[0].kind is EndpointKind.FILE


def shared_path(order: Order) -> str:
    """Return the file that all workers share, if Assay creates it."""
    address = order.endpoints[0].address
    return address if is_a_file(order) else f"{address}/{order.workload}.data"


def existing(order: Order, values: Values) -> str | None:
    """Return the existing file to read, relative to the target's directory; None if Assay creates the files."""
    return None if values["file"] is None else posixpath.join(order.endpoints[0].address, text(values, "file"))


def region(order: Order, values: Values, layout: str, who: tuple[int, int]) -> Mapping[str, object]:
    """Return the part of a file that one worker of one client uses; parts do not overlap.

    Size 0 = the whole of an existing file. In other layouts than segments every worker gets the whole region and the number of
    its part; the engine then selects the records.
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
    """Return the regions of all workers of one client."""
    return tuple(region(order, values, layout, (client, worker)) for worker in range(integer(values, "workers")))


def paths(order: Order, values: Values) -> tuple[str, ...]:
    """Return the files of all workers of all clients, each once."""
    used = (one["path"] for client in range(len(order.endpoints)) for one in regions(order, values, "segments", client))
    return tuple(dict.fromkeys(str(path) for path in used))


def layout_record(values: Values) -> int:
    """Return the bytes of one write of the layout: with buffered I/O one record, in whole pages; with direct I/O about 1 MiB.

    A buffered write makes folios of its own size, and on ext4 a later small write into a large folio takes five times as long.
    So the page cache holds what an application with these records leaves there.
    With direct I/O an odd number of records (one record, if it is not a multiple of the sector): the file system then refuses the
    layout too, before anything is written. With duplicates or zeros one record, so that the shares are exact.
    """
    record = integer(values, "record_size")
    if values.get("duplicates") or values.get("zeros") or (values["direct"] and record % SECTOR):
        return record
    return record * (max(0, MIB // record - 1) | 1) if values["direct"] else min(MIB, record * -(-PAGE // record))


def files(values: Values, clients: int) -> int:
    """Return the number of files of `size` bytes."""
    return 1 if values["split"] or text(values, "sharing") == "one-file" else integer(values, "workers") * clients


def region_mistakes(values: Values) -> tuple[str, ...]:
    """Return mistakes: sizes that do not fit, and writes to an existing file."""
    own, layout = values["file"] is None, text(values, "layout")
    size, record = integer(values, "size", DEFAULT_SIZE), integer(values, "record_size")
    writes = [name for name in names(values, "operations") if OPERATIONS[name].writes]
    least = record * (integer(values, "workers") if is_shared(values) or values["split"] else 1)
    is_sized = own or values["size"] is not None
    mistakes = (
        (not own and writes, f"found {', '.join(writes)} on an existing file; expected reads only: Assay never writes it"),
        (not own and values["overwrite"], "found overwrite with an existing file; expected one of them"),
        (is_sized and size % record, f"found size {in_bytes(size)}; expected a multiple of record_size ({in_bytes(record)})"),
        (
            is_sized and size < least,
            f"found size {in_bytes(size)}; expected at least {in_bytes(least)}, one record for each worker",
        ),
        (
            layout != "segments" and not is_shared(values),
            f"found layout {layout} with a file for each worker; expected sharing one-file, or an existing file",
        ),
    )
    return messages(mistakes)
