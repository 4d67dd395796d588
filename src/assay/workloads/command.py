"""Runs an external command, such as another benchmark, and audits its result against the I/O that it did.

In `argv`, `env` and `data_files`, {directory}, {client}, {clients}, {seed}, {cwd} and {variables.NAME} are replaced by their
values; write a literal brace twice. A target that offers a socket has {server.address}, {server.host} and {server.port} instead
of {directory}, a directory server {url}, {base}, {bind_dn}, {password_file} and {ca_file}, a tape {device}. Every client runs the
command once, all started at the same time.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from assay import catalogue
from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Unit, Workload, printed
from assay.errors import EvidenceError, refuse
from assay.machine.external_commands import substitute, unknown_placeholders
from assay.records import CacheState, Direction, Endpoint, EndpointKind, PhasePlan, Value
from assay.settings.knobs import choice, integer, number, quantity, share
from assay.settings.network import split
from assay.units import UNITS

OPERATION_OF_ENGINE = "command"
"""The engine counts one operation from start to exit; only the output tells the command's own operations."""
FIGURES = {
    Unit.BYTES_PER_S: "bytes_per_s",
    Unit.PER_S: "ops_per_s",
    Unit.NANOSECONDS: "elapsed_ns",
    Unit.BYTES: "bytes",
    Unit.COUNT: "count",
}
"""The figure that a regular expression with this unit gives."""
DIRECTIONS = ("read", "write", "both", "metadata", "send", "receive", "request")
HOW = (*catalogue.names("parsers"), "regex", "elapsed")
PLACEHOLDERS = ("client", "clients", "seed", "cwd")
OF_KIND = {
    EndpointKind.DIRECTORY: ("directory",),
    EndpointKind.SOCKET: ("server.address", "server.host", "server.port"),
    EndpointKind.URL: ("url", "base", "bind_dn", "password_file", "ca_file"),
    EndpointKind.DEVICE: ("device",),
}
"""Placeholders of what a target offers."""
OFFERS = {EndpointKind.SOCKET: "a socket", EndpointKind.URL: "a URL", EndpointKind.DEVICE: "a tape drive"}
EVERY_KIND = tuple(name for names in OF_KIND.values() for name in names)
ANYWHERE = "/"
"""The working directory of a command that uses no directory of the target; the endpoint of an order that only asks for phases."""
EXPECTED = (
    number("expected_count", "number of operations that each run must report (G05)", between=(0, None)),
    quantity("expected_bytes", "bytes that each run must report (G05)", Unit.BYTES, between=(0, None)),
    share("expected_read_share", "share of reads in its reads and writes (G08)"),
)
"""Expected results, for rules G05 and G08. The command does not see them."""


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the mistakes between the knobs."""
    known = (*PLACEHOLDERS, *EVERY_KIND, *_variables(knobs))
    found = [
        f"found {{{name}}} in {knob}; expected one of: {', '.join(sorted(known))}"
        for knob in ("argv", "env", "data_files")
        for name in unknown_placeholders(_texts(knobs, knob), known)
    ]
    found += [f"found env entry {entry!r}; expected NAME=value" for entry in _texts(knobs, "env") if "=" not in entry]
    if not _texts(knobs, "argv"):
        found.append("found an empty argv; expected the command and its arguments as a list")
    return (*found, *_pattern_mistakes(knobs)) if knobs.get("parse") == "regex" else tuple(found)


def _pattern_mistakes(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    found = []
    try:
        if re.compile(str(knobs.get("pattern") or "")).groups < 1:
            found.append(f"found pattern {knobs.get('pattern')!r}; expected a group ( ) around the number")
    except re.error as error:
        found.append(f"found pattern {knobs.get('pattern')!r} ({error}); expected a regular expression of Python")
    if _unit_of(knobs) is None:
        names = ", ".join(repr(name) if name else "'' (a count)" for unit in FIGURES for name in UNITS[unit])
        found.append(f"found unit {knobs.get('unit')!r}; expected one of: {names}")
    return tuple(found)


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the reported operations with their figure: the named operation, or `read` and `write` if the parser gives both."""
    figure = _figure(knobs)
    named = knobs.get("operation")
    if named:
        return {str(named): figure}
    direction = str(knobs.get("direction") or "read")
    if knobs.get("parse", "elapsed") == "elapsed":
        return {OPERATION_OF_ENGINE: figure}
    return {"read": figure, "write": figure} if direction == "both" else {direction: figure}


def lacks(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the figures of bytes where none are read from the output."""
    how = str(knobs.get("parse") or "elapsed")
    if how not in ("elapsed", "regex"):
        return {}
    why = f"parse = {how} gives {_figure(knobs)} and no bytes"
    return {name: why for name in ("bytes", "bytes_per_s", "synced_bytes_per_s") if name != _figure(knobs)}


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase in which every client runs the command."""
    knobs, names = order.knobs, tuple(operations(order.knobs))
    _refuse_other_endpoint(order)
    files: list[str] = []
    settings = []
    for client, endpoint in enumerate(order.endpoints):
        values = {
            **_of_endpoint(endpoint),
            "client": str(client),
            "clients": str(len(order.endpoints)),
            "seed": str(order.seed),
            "cwd": _started_in(),
            **_variables(knobs),
        }
        entries = (substitute(entry, values).partition("=") for entry in _texts(knobs, "env"))
        files += [posixpath.join(endpoint.address, substitute(path, values)) for path in _texts(knobs, "data_files")]
        settings.append(
            {
                "argv": [substitute(word, values) for word in _texts(knobs, "argv")],
                "env": {name: value for name, _, value in entries},
                "directory": ANYWHERE if endpoint.kind in OFFERS else endpoint.address,
                "operation": OPERATION_OF_ENGINE,
            }
        )
    return (
        PhasePlan(
            name="run",
            operations=names,
            directions={name: _direction(knobs, name) for name in names},
            cache=CacheState(str(knobs.get("cache") or CacheState.UNCHANGED)),
            settings=tuple(settings),
            data_files=tuple(dict.fromkeys(files)),
            flush_in_clock=knobs.get("flush") == "inside",
        ),
    )


def _started_in() -> str:
    """Return the directory in which Assay was started."""
    return str(Path.cwd())


def tools(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the program, where it can be looked for before the trial: by its name, or by a path that is none of the trial."""
    words = _texts(knobs, "argv")
    if not words or any(entry.startswith("PATH=") for entry in _texts(knobs, "env")):
        return ()
    program = words[0].replace("{cwd}", _started_in())
    is_fixed = "{" not in program and "}" not in program and ("/" not in program or program.startswith("/"))
    return (program,) if is_fixed else ()


def _of_endpoint(endpoint: Endpoint) -> dict[str, str]:
    """Return the placeholders of an endpoint with their values; those of other kinds of endpoints stay as they are."""
    values = {name: f"{{{name}}}" for name in EVERY_KIND}
    if endpoint.kind is EndpointKind.URL:
        own = {name: str(endpoint.details.get(name) or "") for name in OF_KIND[EndpointKind.URL]}
        return {**values, **own, "url": endpoint.address}
    if endpoint.kind is EndpointKind.DEVICE:
        return {**values, "device": endpoint.address}
    if endpoint.kind is not EndpointKind.SOCKET:
        return {**values, "directory": endpoint.address}
    host, port = split(endpoint.address)
    return {**values, "server.address": endpoint.address, "server.host": host, "server.port": port}


def _refuse_other_endpoint(order: Order) -> None:
    """Raise UsageError for placeholders of a kind of target that this one is not."""
    if {endpoint.address for endpoint in order.endpoints} == {ANYWHERE}:
        return
    offered = next((one.kind for one in order.endpoints if one.kind in OFFERS), EndpointKind.DIRECTORY)
    known = (*PLACEHOLDERS, *OF_KIND[offered], *_variables(order.knobs))
    mistakes = [
        f"workload {order.workload}: found {{{name}}} in {knob}; expected a target that offers {_offers(name)}"
        for knob in ("argv", "env", "data_files")
        for name in unknown_placeholders(_texts(order.knobs, knob), known)
    ]
    refuse(mistakes)


def _offers(name: str) -> str:
    """Return what a target must offer for a placeholder, in words."""
    kind = next((kind for kind, names in OF_KIND.items() if name in names), EndpointKind.DIRECTORY)
    return OFFERS.get(kind, "a directory")


def parse(knobs: Mapping[str, Value], stdout: str, elapsed_ns: int) -> Mapping[str, float]:
    """Parse one client's output into {OPERATION.FIGURE: value}. Raises EvidenceError if the output lacks a figure."""
    how = str(knobs.get("parse") or "elapsed")
    if how == "elapsed":
        return {f"{name}.elapsed_ns": float(elapsed_ns) for name in operations(knobs)}
    if how == "regex":
        return dict.fromkeys((f"{name}.{figure}" for name, figure in operations(knobs).items()), _matched(knobs, stdout))
    parser = catalogue.find("parsers", how)
    numbers = parser.read(stdout)
    found = {key: number.value for key, number in numbers.items()}
    lacking = [name for name in operations(knobs) if not any(key.startswith(f"{name}.") for key in found)]
    if lacking:
        raise EvidenceError(
            f"found {', '.join(sorted(found)) or 'nothing'} in the output; expected figures of {', '.join(lacking)}"
        )
    return {**found, **printed.open_digits({key: number.half for key, number in numbers.items()})}


def _matched(knobs: Mapping[str, Value], stdout: str) -> float:
    """Return the number of the last match in base units: tools print their summary last."""
    matches = list(re.finditer(str(knobs["pattern"]), stdout, re.MULTILINE))
    unit = _unit_of(knobs)
    if not matches or unit is None:
        raise EvidenceError(
            f"found no match of {knobs['pattern']!r} in {len(stdout)} characters of output; expected one: correct `pattern`"
        )
    text = matches[-1][1]
    try:
        return float(Fraction(text.strip().replace(",", "")) * UNITS[unit][str(knobs.get("unit") or "")])
    except (ValueError, ZeroDivisionError, OverflowError, AttributeError) as error:
        raise EvidenceError(f"found {text!r} where {knobs['pattern']!r} matched; expected a number in its first group") from error


def _unit_of(knobs: Mapping[str, Value]) -> Unit | None:
    name = str(knobs.get("unit") or "")
    return next((unit for unit in FIGURES if name in UNITS[unit]), None)


def _figure(knobs: Mapping[str, Value]) -> str:
    how = knobs.get("parse", "elapsed")
    if how == "regex":
        return str(knobs.get("figure") or FIGURES.get(_unit_of(knobs) or Unit.COUNT))
    return "elapsed_ns" if how == "elapsed" else str(knobs.get("figure") or "bytes_per_s")


def _direction(knobs: Mapping[str, Value], operation: str) -> Direction:
    direction = str(knobs.get("direction") or "read")
    return Direction(operation if operation in ("read", "write") else "read") if direction == "both" else Direction(direction)


def _variables(knobs: Mapping[str, Value]) -> dict[str, str]:
    return {key: str(value) for key, value in knobs.items() if key.startswith("variables.")}


def _texts(knobs: Mapping[str, Value], name: str) -> tuple[str, ...]:
    value = knobs.get(name)
    return tuple(str(item) for item in value) if isinstance(value, tuple) else ()


WORKLOAD = Workload(
    name="command",
    knobs=(
        Knob(name="argv", kind=KnobKind.TEXTS, required=True, is_command=True, help="the command and its arguments"),
        Knob(
            name="parse",
            kind=KnobKind.CHOICE,
            choices=HOW,
            default="elapsed",
            help="source of the figures: a parser, regex or the elapsed time",
        ),
        Knob(name="pattern", kind=KnobKind.TEXT, help="with parse = regex: the first group of the last match is the number"),
        Knob(name="unit", kind=KnobKind.TEXT, default="", help="with parse = regex: unit of that number, such as MB/s or ms"),
        Knob(name="figure", kind=KnobKind.TEXT, help="figure of that number, if its unit does not determine it (latency_p99_ns)"),
        Knob(name="operation", kind=KnobKind.TEXT, help="name of its operation; default: the direction"),
        Knob(name="direction", kind=KnobKind.CHOICE, choices=DIRECTIONS, default="read", help="direction of its data"),
        Knob(name="data_files", kind=KnobKind.TEXTS, default=(), help="files that it reads or writes, relative to {directory}"),
        Knob(name="env", kind=KnobKind.TEXTS, default=(), help="environment variables: NAME=value"),
        Knob(
            name="cache",
            kind=KnobKind.CHOICE,
            choices=tuple(CacheState),
            default="unchanged",
            help="state of the caches before it starts",
        ),
        choice("flush", "inside: the command flushes its data itself", "none", "inside"),
        *EXPECTED,
        Knob(name="needs", kind=KnobKind.QUANTITY, unit=Unit.BYTES, default=0, help="bytes of space that it needs"),
        Knob(name="lasts", kind=KnobKind.QUANTITY, unit=Unit.NANOSECONDS, help="approximate run time, for the plan"),
        Knob(name="variables.*", kind=KnobKind.TEXT, help="free values for {variables.NAME}; each can be a factor"),
        *PLACEMENT,
    ),
    accepts=(EndpointKind.DIRECTORY, EndpointKind.SOCKET, EndpointKind.URL, EndpointKind.DEVICE),
    operations=operations,
    lacks=lacks,
    phases=phases,
    check=check,
    engine="command",
    again=lambda knobs: None,  # what it changes is the author's
    parse=parse,
    tools=tools,
    nouns={"trim": "trims"},
    lookups={"list": (), "readdir": (), "stat": ("stat",), "open": ("open",)},
    space=lambda knobs: integer(knobs, "needs"),
    seconds=lambda knobs, _pace: integer(knobs, "lasts", 10 * 10**9) / 1e9,
)
