"""Carries files to a server and back by any client program, from and to memory, and compares each one at the server.

`put` and `get` are argument lists; each client runs them once for each of its files, one after the other. Without them the
target's own client program is used, else dd through its directory. Sources and destinations are in memory (/dev/shm), so no disk
of a client limits the rate. After each put every file is compared byte for byte where the server keeps it, or else by fetching it
once more. The files are then read cold: neither end has any of them in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Pace, Unit, Workload, resolved
from assay.errors import refuse
from assay.machine.external_commands import programs, substitute, unknown_placeholders
from assay.records import CacheState, Direction, Endpoint, EndpointKind, PhasePlan, Value
from assay.settings.knobs import Values, choice, in_bytes, integer, messages, names, number, quantity, text, texts

PUT, GET = "put", "get"
MAKE, COMPARE, FETCH, COMPARE_GOT = "make", "compare", "fetch", "compare_got"
DEFAULT_FILES, DEFAULT_BYTES = 10, 64 << 20
MOST_FILES = 100_000
THROUGH_A_DIRECTORY: Mapping[str, tuple[str, ...]] = {
    PUT: ("dd", "if={source}", "of={directory}/{name}", "bs=1M", "conv=fsync", "status=none"),
    GET: ("dd", "if={directory}/{name}", "of={destination}", "bs=1M", "status=none"),
}
"""What is run where neither the workload nor the target names a program."""
OF_A_FILE = ("name", "source", "destination", "client", "number")
OF_AN_ENDPOINT = ("directory", "url", "server.address", "bucket", "prefix", "config", "key_file", "data", "instance")
ADDRESSES: Mapping[EndpointKind, str] = {EndpointKind.DIRECTORY: "directory", EndpointKind.BUCKET: "url"}
"""What the address of an endpoint is as a placeholder."""
KNOWN = (*OF_A_FILE, *OF_AN_ENDPOINT)
USED_UP = {COMPARE: "in", FETCH: "in", GET: "out"}
"""Phase -> the end of the names of the files in memory that are removed before it."""
GUESS_START_S, GUESS_EXCHANGES, GUESS_COMPARE_BYTES_PER_S = 0.05, 10, 500e6
"""How long a client program takes beside the transfer."""

KNOBS = (
    number("files", "files of each client", DEFAULT_FILES, (1, MOST_FILES)),
    quantity("file_size", "size of each file", Unit.BYTES, DEFAULT_BYTES),
    texts("operations", "put alone, or put and then get", (PUT, GET), (PUT, GET)),
    Knob(name=PUT, kind=KnobKind.TEXTS, default=(), is_command=True, help="program that carries one file to the server"),
    Knob(name=GET, kind=KnobKind.TEXTS, default=(), is_command=True, help="program that fetches one file"),
    choice("cache", "caches of both ends before get", CacheState.COLD, CacheState.WARM, CacheState.UNCHANGED),
    *PLACEMENT,
)


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the operations with their default figure, the rate by the client's clock."""
    return dict.fromkeys(names(resolved(KNOBS, knobs), "operations"), "bytes_per_s")


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the mistakes between the knobs."""
    values = resolved(KNOBS, knobs)
    wanted = names(values, "operations")
    sizes = integer(values, "files") * integer(values, "file_size")
    unknown = [
        f"found {{{name}}} in {knob}; expected one of: {', '.join(sorted(KNOWN))}"
        for knob in (PUT, GET)
        for name in unknown_placeholders(names(values, knob), KNOWN)
    ]
    mistakes = (
        (wanted[:1] != (PUT,), f"found operations {list(wanted)}; expected put first: before it no file is at the server"),
        (len(set(wanted)) < len(wanted), f"found operations {list(wanted)}; expected each once"),
        (_misses(values, PUT, "source"), "found put without {source}; expected the file that it carries"),
        (_misses(values, PUT, "name"), "found put without {name}; expected the file's name at the server"),
        (_misses(values, GET, "destination"), "found get without {destination}; expected the file that it writes"),
        (_misses(values, GET, "name"), "found get without {name}; expected the file's name at the server"),
        (
            values["memory"] and integer(values, "memory") < amount(values),
            f"found memory = {in_bytes(integer(values, 'memory'))}; expected more than the files, which are in memory",
        ),
        (sizes > 1 << 50, f"found {sizes} bytes of files; expected at most 1 PiB"),
    )
    return (*unknown, *messages(mistakes))


def _misses(values: Values, knob: str, name: str) -> bool:
    return bool(names(values, knob)) and not any(f"{{{name}}}" in word for word in names(values, knob))


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the phases: files are made in memory, put, compared, fetched cold, and compared again."""
    values = resolved(KNOBS, order.knobs)
    if order.memory:
        refuse([*dict.fromkeys(_lacking(order, values))])
    return tuple(_plans(order, values))


def _plans(order: Order, values: Values) -> Iterator[PhasePlan]:
    clients = range(len(order.endpoints))
    seen = [_stored(order, values, client) for client in clients]
    fetched = [_in_memory(order, values, client, "out") for client in clients]
    yield _plan(order, values, MAKE, "make")
    yield _plan(order, values, PUT, "run", measured=True)
    if all(path for paths in seen for path in paths):
        yield _plan(order, values, COMPARE, "compare", paths=seen)
    else:
        yield _plan(order, values, FETCH, "run")
        yield _plan(order, values, COMPARE, "compare", paths=fetched)
    if GET in names(values, "operations"):
        yield _plan(order, values, GET, "run", measured=True)
        yield _plan(order, values, COMPARE_GOT, "compare", paths=fetched)


def _plan(
    order: Order,
    values: Values,
    name: str,
    step: str,
    *,
    measured: bool = False,
    paths: list[tuple[str, ...]] | None = None,
) -> PhasePlan:
    """Plan one phase: every client takes its own files, one after the other, and none that it had in memory is left there."""
    directions = {PUT: Direction.WRITE, GET: Direction.READ, FETCH: Direction.READ}
    settings = tuple(
        {
            "step": step,
            "operation": name,
            "bytes": integer(values, "file_size"),
            "directory": _home(order.endpoints[client]),
            "env": dict(_pair(entry) for entry in names(order.endpoints[client].details, "env")),
            "files": tuple(_errand(order, values, name, client, number, paths) for number in range(integer(values, "files"))),
            "remove": _in_memory(order, values, client, USED_UP[name]) if name in USED_UP else (),
        }
        for client in range(len(order.endpoints))
    )
    return PhasePlan(
        name=name,
        operations=(name,),
        directions={name: directions[name]} if name in directions else {},
        measured=measured,
        cache=CacheState(text(values, "cache")) if name == GET else CacheState.UNCHANGED,
        settings=settings,
        data_files=tuple(dict.fromkeys(_seen(order, values))) if name in directions else (),
        is_first=measured,
    )


def _errand(
    order: Order, values: Values, name: str, client: int, number: int, paths: list[tuple[str, ...]] | None
) -> dict[str, object]:
    if name == MAKE:
        return {"path": _memory(order, client, number, "in")}
    if paths is not None:
        return {"path": paths[client][number]}
    argv = _argv(order, values, PUT if name == PUT else GET, client, number)
    return {"argv": argv} if name == PUT else {"argv": argv, "path": _memory(order, client, number, "out")}


def _argv(order: Order, values: Values, knob: str, client: int, number: int) -> tuple[str, ...]:
    endpoint = order.endpoints[client]
    given = {
        **_of_endpoint(endpoint),
        "name": _name(order, client, number),
        "source": _memory(order, client, number, "in"),
        "destination": _memory(order, client, number, "out"),
        "client": str(client),
        "number": str(number),
    }
    left = {known: f"{{{known}}}" for known in KNOWN}
    return tuple(substitute(word, {**left, **given}) for word in _words(values, endpoint, knob))


def _words(values: Values, endpoint: Endpoint, knob: str) -> tuple[str, ...]:
    """Return the program of the workload, else that of the target, else dd through a directory."""
    return names(values, knob) or names(endpoint.details, knob) or THROUGH_A_DIRECTORY[knob]


def _of_endpoint(endpoint: Endpoint) -> dict[str, str]:
    own = {name: str(endpoint.details[name]) for name in OF_AN_ENDPOINT if name in endpoint.details}
    return own | {name: endpoint.address for kind, name in ADDRESSES.items() if kind is endpoint.kind}


def _lacking(order: Order, values: Values) -> Iterator[str]:
    """Yield the placeholders that this target does not fill."""
    for client, endpoint in enumerate(order.endpoints):
        known = (*OF_A_FILE, *_of_endpoint(endpoint))
        is_seen = all(_stored(order, values, client))
        for knob in dict.fromkeys((*names(values, "operations"), *(() if is_seen else (GET,)))):
            for name in unknown_placeholders(_words(values, endpoint, knob), known):
                yield f"workload {order.workload}: found {{{name}}} in {knob}; expected one of: {', '.join(sorted(known))}"


def _name(order: Order, client: int, number: int) -> str:
    return f"{order.workload}-{client}-{number:05d}"


def _memory(order: Order, client: int, number: int, end: str) -> str:
    return f"{order.memory}/{_name(order, client, number)}.{end}"


def _in_memory(order: Order, values: Values, client: int, end: str) -> tuple[str, ...]:
    """Return the files in memory of a client."""
    return tuple(_memory(order, client, number, end) for number in range(integer(values, "files")))


def _stored(order: Order, values: Values, client: int) -> tuple[str, ...]:
    """Return where the server keeps the files of a client; empty texts where that cannot be seen."""
    endpoint = order.endpoints[client]
    own = endpoint.address if endpoint.kind is EndpointKind.DIRECTORY else ""
    where = str(endpoint.details.get("data") or own)
    each = range(integer(values, "files"))
    return tuple(f"{where}/{_name(order, client, number)}" if where else "" for number in each)


def _seen(order: Order, values: Values) -> Iterator[str]:
    """Yield the files as the clients' kernel sees them."""
    for client, endpoint in enumerate(order.endpoints):
        if endpoint.kind is EndpointKind.DIRECTORY:
            for number in range(integer(values, "files")):
                yield f"{endpoint.address}/{_name(order, client, number)}"


def _home(endpoint: Endpoint) -> str:
    return endpoint.address if endpoint.kind is EndpointKind.DIRECTORY else "/"


def _pair(entry: str) -> tuple[str, str]:
    name, _, value = entry.partition("=")
    return name, value


def amount(knobs: Mapping[str, Value]) -> int:
    """Return the bytes of all files of all clients: on the target, and in memory where one end of a copy is."""
    values = resolved(KNOBS, knobs)
    return integer(values, "files") * integer(values, "file_size") * integer(values, "clients", 1)


def tools(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the programs that the workload names itself."""
    values = resolved(KNOBS, knobs)
    return programs(names(values, name) for name in names(values, "operations"))


def seconds(knobs: Mapping[str, Value], pace: Pace) -> float:
    """Estimate: each file is made in memory, put, compared, fetched and compared again; programs put and fetch it."""
    values, moved = resolved(KNOBS, knobs), amount(knobs)
    done = names(values, "operations")
    each = GUESS_START_S + GUESS_EXCHANGES * pace.wait_s
    compared = (1 + (GET in done)) * moved / GUESS_COMPARE_BYTES_PER_S
    fetched = moved / pace.read_bytes_per_s if GET in done else 0.0
    return integer(values, "files") * each * len(done) + moved / pace.write_bytes_per_s + fetched + compared


WORKLOAD = Workload(
    name="transfer",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY, EndpointKind.BUCKET, EndpointKind.STORE),
    operations=operations,
    phases=phases,
    check=check,
    engine="transfer",
    space=amount,
    memory=amount,
    tools=tools,
    seconds=seconds,
    nouns={"put": "puts", "get": "gets"},
)
