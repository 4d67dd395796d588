"""Imports the population of a directory server with the server's own offline tool: slapadd or ns-slapd ldif2db.

The target has `state = "stopped"`: it was set up, its settings were read back while it ran, and its database is empty.
The place of the importer in its file is the progress. Afterwards the entries of the database are counted against the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Workload, resolved
from assay.errors import EvidenceError, refuse
from assay.records import Direction, Endpoint, EndpointKind, PhasePlan, Value
from assay.settings.knobs import choice, integer

OPERATION, FLUSH, COUNT, IMPORTER = "import", "flush", "count", "importer"
NONE, INSIDE, APART = "none", "inside", "apart"
STOPPED = "stopped"
TRAILER = re.compile(r"^assay-import entries=(\d+) bytes=(\d+)$", re.MULTILINE)
COUNTED = re.compile(r"^entries (\d+) of \d+$", re.MULTILINE)
OWN_FIGURE = re.compile(r"Import complete\.\s+Processed (\d+) entries in (\d+) seconds")
"""What ns-slapd says of itself; slapadd shows its meter on a terminal only."""
KNOBS = (
    choice("flush", "none, inside the clock, or apart: a phase of its own after the import", NONE, INSIDE, APART),
    *PLACEMENT,
)
FLUSH_FILES = 'find "$0" -type f -exec sync -- {} +'


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the import, and the flush where it is apart, with their default figures."""
    apart = {FLUSH: "elapsed_ns"} if resolved(KNOBS, knobs)["flush"] == APART else {}
    return {OPERATION: "ops_per_s", **apart}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is wrong: an import has one client."""
    clients = integer(knobs, "clients", 1)
    return () if clients == 1 else (f"found clients = {clients}; expected 1: one import fills one database",)


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the import, perhaps its flush, and the count of its entries. Raises UsageError for another target or state."""
    flush, endpoint = resolved(KNOBS, order.knobs)["flush"], order.endpoints[0]
    if endpoint.details:  # a plan asks before any target is there
        refuse(list(_unfit(order.workload, endpoint)))
    details = endpoint.details
    follow = {"path": details.get("ldif"), "entries": details.get("ldif_entries"), "bytes": details.get("ldif_bytes")}
    files = details.get("data_files")
    paths = tuple(str(path) for path in files) if isinstance(files, tuple) else ()
    imported = PhasePlan(
        name=OPERATION,
        operations=(OPERATION,),
        directions={OPERATION: Direction.WRITE},
        settings=({**_command("/bin/sh", str(details.get("importer")), str(flush)), "follow": follow},),
        data_files=paths,
        flush_in_clock=flush == INSIDE,
        is_drained=flush != APART,
    )
    return (imported, *_flush(paths, str(details.get("storage"))) * (flush == APART), _count(str(details.get("counter"))))


def _unfit(workload: str, endpoint: Endpoint) -> Iterator[str]:
    if not endpoint.details.get("importer"):
        kinds = "ldap_openldap or ldap_389ds, which Assay fills"
        yield f"workload {workload}: found target {endpoint.address}; expected kind = {kinds}"
    elif endpoint.details.get("state") != STOPPED:
        yield f"workload {workload}: found a target with state = {endpoint.details.get('state')}; expected state = {STOPPED}"


def _flush(paths: tuple[str, ...], storage: str) -> tuple[PhasePlan, ...]:
    return (
        PhasePlan(
            name=FLUSH,
            operations=(FLUSH,),
            directions={FLUSH: Direction.WRITE},
            settings=(_command("/bin/sh", "-c", FLUSH_FILES, storage),),
            data_files=paths,
            flush_in_clock=True,
            is_first=False,
        ),
    )


def _count(counter: str) -> PhasePlan:
    return PhasePlan(
        name=COUNT,
        operations=(COUNT,),
        directions={COUNT: Direction.READ},
        measured=False,
        settings=(_command("/bin/sh", counter),),
    )


def _command(*argv: str) -> dict[str, object]:
    return {"argv": list(argv), "env": {}, "directory": "/", "operation": "command"}


def parse(_knobs: Mapping[str, Value], stdout: str, elapsed_ns: int) -> Mapping[str, float]:
    """Return the figures of a phase by its output: of the import, of the count, or of the flush."""
    if trailer := TRAILER.search(stdout):
        return _imported(stdout, (int(trailer[1]), int(trailer[2])), elapsed_ns)
    if counted := COUNTED.search(stdout):
        return {f"{COUNT}.count": float(counted[1]), f"{COUNT}.elapsed_ns": float(elapsed_ns)}
    if stdout.strip():
        raise EvidenceError(f"found {stdout.strip()[-200:]!r}; expected the end of an import")
    return {f"{FLUSH}.elapsed_ns": float(elapsed_ns)}


def _imported(stdout: str, done: tuple[int, int], elapsed_ns: int) -> dict[str, float]:
    """The clock's figures, and beside them the importer's own where it prints one."""
    entries, amount = done
    found = {"count": entries, "bytes": amount, "elapsed_ns": elapsed_ns}
    rates = {"ops_per_s": entries * 1e9 / elapsed_ns, "bytes_per_s": amount * 1e9 / elapsed_ns} if elapsed_ns else {}
    values = {f"{OPERATION}.{name}": float(value) for name, value in {**found, **rates}.items()}
    own = next(iter([*OWN_FIGURE.finditer(stdout)][-1:]), None)
    if own is not None:
        values |= {f"{IMPORTER}.count": float(own[1]), f"{IMPORTER}.elapsed_ns": float(own[2]) * 1e9}
    return values


def seconds(_knobs: Mapping[str, Value], _pace: Pace) -> float:
    """Estimate without a look at the target."""
    return 60.0


WORKLOAD = Workload(
    name="ldap_import",
    knobs=KNOBS,
    accepts=(EndpointKind.URL,),
    operations=operations,
    phases=phases,
    check=check,
    engine="command",
    parse=parse,
    seconds=seconds,
    nouns={"import": "imported entries", "flush": "flushes"},
)
