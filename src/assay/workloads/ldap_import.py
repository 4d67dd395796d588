"""Imports the population of a directory server: with its own offline tool (slapadd, ns-slapd ldif2db), or online by adds.

Offline the target has `state = "stopped"`: it was set up, its settings were read back while it ran, and its database is empty.
The place of the importer in its file is the progress. Online the target has `state = "empty"`: the engine `ldap` adds entry
after entry of the file over its connections. Afterwards the entries of the database are counted against the file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Workload, resolved
from assay.errors import EvidenceError, refuse
from assay.records import Direction, Endpoint, EndpointKind, PhasePlan, Value
from assay.settings.knobs import choice, integer, number

OPERATION, FLUSH, COUNT, IMPORTER = "import", "flush", "count", "importer"
NONE, INSIDE, APART = "none", "inside", "apart"
OFFLINE, ONLINE = "offline", "online"
STATES = {OFFLINE: "stopped", ONLINE: "empty"}
"""Mode -> the state of the target that it fills."""
MOST_CONNECTIONS, MOST_DEPTH = 4_096, 1_024
TRAILER = re.compile(r"^assay-import entries=(\d+) bytes=(\d+)$", re.MULTILINE)
COUNTED = re.compile(r"^entries (\d+) of \d+$", re.MULTILINE)
OWN_FIGURE = re.compile(r"Import complete\.\s+Processed (\d+) entries in (\d+) seconds")
"""What ns-slapd says of itself; slapadd shows its meter on a terminal only."""
KNOBS = (
    choice("mode", "the server's own offline tool, or adds to the running server", OFFLINE, ONLINE),
    choice("flush", "none, inside the clock, or apart: a phase of its own after the import", NONE, INSIDE, APART),
    number("connections", "online: connections that add entries", 1, (1, MOST_CONNECTIONS)),
    number("depth", "online: adds in flight on each connection", 1, (1, MOST_DEPTH)),
    *PLACEMENT,
)
FLUSH_FILES = 'find "$0" -type f -exec sync -- {} +'
COUNT_ENTRIES = """found=$({search} | grep -c '^dn:')
echo "entries $found of {entries}"
[ "$found" -eq {entries} ] && exit 0
echo "the server has $found entries, the file {entries}" >&2
exit 3
"""


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the import, and the flush where it is apart, with their default figures."""
    apart = {FLUSH: "elapsed_ns"} if resolved(KNOBS, knobs)["flush"] == APART else {}
    return {OPERATION: "ops_per_s", **apart}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is wrong: an import has one client, and connections only online."""
    clients, values = integer(knobs, "clients", 1), resolved(KNOBS, knobs)
    several = [name for name in ("connections", "depth") if integer(values, name, 1) > 1]
    alone = () if clients == 1 else (f"found clients = {clients}; expected 1: one import fills one database",)
    if values["mode"] == ONLINE or not several:
        return alone
    return (*alone, f"found {' and '.join(several)} with mode = {OFFLINE}; expected mode = {ONLINE} with them")


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the import, perhaps its flush, and the count of its entries. Raises UsageError for another target or state."""
    values, endpoint = resolved(KNOBS, order.knobs), order.endpoints[0]
    mode, flush = str(values["mode"]), values["flush"]
    if endpoint.details:  # a plan asks before any target is there
        refuse(list(_unfit(order.workload, endpoint, values)))
    details = endpoint.details
    files = details.get("data_files")
    paths = tuple(str(path) for path in files) if isinstance(files, tuple) else ()
    imported = PhasePlan(
        name=OPERATION,
        operations=(OPERATION,),
        directions={OPERATION: Direction.WRITE},
        engine="ldap" if mode == ONLINE else None,
        settings=(_adds(endpoint, values) if mode == ONLINE else _tool(details, str(flush)),),
        data_files=paths,
        flush_in_clock=flush == INSIDE,
        is_drained=flush != APART,
    )
    count = ("-c", _counter(endpoint)) if mode == ONLINE else (str(details.get("counter")),)
    return (imported, *_flush(paths, str(details.get("storage"))) * (flush == APART), _count(*count))


def _unfit(workload: str, endpoint: Endpoint, values: Mapping[str, Value]) -> Iterator[str]:
    details, mode = endpoint.details, str(values["mode"])
    if not details.get("importer"):
        kinds = "ldap_openldap or ldap_389ds, which Assay fills"
        yield f"workload {workload}: found target {endpoint.address}; expected kind = {kinds}"
        return
    if details.get("state") != STATES[mode]:
        yield f"workload {workload}: found a target with state = {details.get('state')}; expected state = {STATES[mode]}"
    if details.get("starttls") == "on" and integer(values, "depth", 1) > 1:
        yield f"workload {workload}: found depth with StartTLS; expected depth = 1, or transport tls"


def _tool(details: Mapping[str, Value], flush: str) -> dict[str, object]:
    """The server's own tool, followed in its file."""
    follow = {"path": details.get("ldif"), "entries": details.get("ldif_entries"), "bytes": details.get("ldif_bytes")}
    return {**_command("/bin/sh", str(details.get("importer")), flush), "follow": follow}


def _adds(endpoint: Endpoint, values: Mapping[str, Value]) -> dict[str, object]:
    """The adds of the engine, entry after entry of the file."""
    details = endpoint.details
    return {
        "address": endpoint.address,
        "starttls": details.get("starttls") == "on",
        "ca_file": details.get("ca_file"),
        "bind": "once",
        "bind_dn": str(details.get("bind_dn") or ""),
        "password_file": details.get("password_file"),
        "connections": integer(values, "connections", 1),
        "depth": integer(values, "depth", 1),
        "flush_directory": details.get("storage") if values["flush"] == INSIDE else None,
        "operations": [{"name": OPERATION, "kind": "add", "ldif": details.get("ldif")}],
    }


def _counter(endpoint: Endpoint) -> str:
    """Return a script that counts the entries of the running server against the file."""
    details = endpoint.details
    trust = ("env", f"LDAPTLS_CACERT={details['ca_file']}", "LDAPTLS_REQCERT=demand") if details.get("ca_file") else ()
    secure = ("-ZZ",) if details.get("starttls") == "on" else ()
    who = ("-D", str(details.get("bind_dn")), "-y", str(details.get("password_file")))
    shape = ("-x", "-LLL", "-o", "ldif-wrap=no", "-b", str(details.get("base")), "(objectClass=*)", "1.1")
    search = shlex.join((*trust, "ldapsearch", "-H", endpoint.address, *secure, *who, *shape))
    return COUNT_ENTRIES.format(search=search, entries=details.get("ldif_entries"))


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


def _count(*words: str) -> PhasePlan:
    return PhasePlan(
        name=COUNT,
        operations=(COUNT,),
        directions={COUNT: Direction.READ},
        measured=False,
        settings=(_command("/bin/sh", *words),),
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


def seconds(knobs: Mapping[str, Value], _pace: Pace) -> float:
    """Estimate the start and the check of an import; offline its entries are in the target's own estimate, where they fill it."""
    return 60.0 if resolved(KNOBS, knobs)["mode"] == ONLINE else 5.0


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
