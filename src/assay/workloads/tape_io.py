"""Writes files of records to a tape and reads them to their marks; rewinding and finding a file are timed apart.

dd writes random bytes, which no drive compresses; each close writes a mark that waits for the drive's buffer, inside the clock.
With `blocks = "fixed"` the drive cuts what a call moves into records of one size, else each call is a record.
The files begin after the label of the target `tape`. One program at a time has a drive, so there is one client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Unit, Workload, resolved
from assay.errors import EvidenceError, refuse
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, Value
from assay.settings.knobs import Values, choice, in_bytes, integer, messages, names, number, quantity, texts

WRITE, READ, REWIND, LOCATE = "write", "read", "rewind", "locate"
OPERATIONS = (WRITE, REWIND, LOCATE, READ)
"""In the order in which they are done."""
FIGURES = {WRITE: "bytes_per_s", READ: "bytes_per_s", REWIND: "elapsed_ns", LOCATE: "elapsed_ns"}
DIRECTIONS = {WRITE: Direction.WRITE, READ: Direction.READ, REWIND: Direction.METADATA, LOCATE: Direction.METADATA}
VARIABLE, FIXED = "variable", "fixed"
BEGIN, RETURN = "begin", "return"
"""Phases without a clock: to the first file, with the size of blocks set."""
LABELS = 1
"""Files of the target before the first one of the load."""
MT = 'mt -f "$0"'
MOST_RECORD, MOST_FILES = 16 << 20, 10_000
GUESS_BYTES_PER_S, GUESS_MOVE_S = 100e6, 60.0
MOVED = re.compile(r"^(\d+) bytes .*copied", re.MULTILINE)

KNOBS = (
    quantity("file_size", "bytes of each file, between two marks", Unit.BYTES, 1 << 30, (512, None)),
    number("files", "files, each with a mark after it", 1, (1, MOST_FILES)),
    quantity("record_size", "bytes of a record", Unit.BYTES, 64 << 10, (512, MOST_RECORD)),
    choice("blocks", "variable: a call is a record; fixed: the drive cuts a call into records", VARIABLE, FIXED),
    number("records_per_call", "records that one call moves, with fixed blocks", 1, (1, 1024)),
    texts("operations", "what is timed", OPERATIONS, OPERATIONS),
    *(knob for knob in PLACEMENT if knob.name != "clients"),
)


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the operations with their default figure."""
    wanted = names(resolved(KNOBS, knobs), "operations")
    return {name: FIGURES[name] for name in OPERATIONS if name in wanted}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the mistakes between the knobs."""
    values = resolved(KNOBS, knobs)
    call, wanted = _call_bytes(values), names(values, "operations")
    mistakes = (
        (WRITE not in wanted, f"found operations {list(wanted)}; expected write among them: before it no file is on the tape"),
        (
            integer(values, "file_size") % call,
            f"found file_size = {in_bytes(integer(values, 'file_size'))}; expected whole calls of {in_bytes(call)}",
        ),
        (
            values["blocks"] == VARIABLE and integer(values, "records_per_call") > 1,
            'found records_per_call with blocks = "variable"; expected fixed: else each call is one record',
        ),
    )
    return messages(mistakes)


def _call_bytes(values: Values) -> int:
    return integer(values, "record_size") * integer(values, "records_per_call")


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the phases: to the first file, write, rewind, find the last file, back, read. Raises UsageError for more clients."""
    values = resolved(KNOBS, order.knobs)
    if order.token and len(order.endpoints) > 1:
        refuse([f"found {len(order.endpoints)} clients of {order.workload}; expected 1: one program at a time has a drive"])
    return tuple(_plans(order, values))


def _plans(order: Order, values: Values) -> Iterator[PhasePlan]:
    wanted, files = names(values, "operations"), integer(values, "files")
    call, count = _call_bytes(values), integer(values, "file_size") // _call_bytes(values)
    block = integer(values, "record_size") if values["blocks"] == FIXED else 0
    first = f"{MT} rewind && {MT} setblk {block} && {MT} fsf {LABELS}"
    each = " && ".join
    yield _plan(order, BEGIN, first)
    yield _plan(order, WRITE, each([f'dd if=/dev/urandom of="$0" bs={call} count={count} iflag=fullblock'] * files))
    if REWIND in wanted or LOCATE in wanted:
        yield _plan(order, REWIND, f"{MT} rewind", measured=REWIND in wanted)
    if LOCATE in wanted:
        yield _plan(order, LOCATE, f"{MT} fsf {LABELS + files - 1}")
    if READ in wanted:
        yield _plan(order, RETURN, first)
        yield _plan(order, READ, each([f'dd if="$0" of=/dev/null bs={call}'] * files))


def _plan(order: Order, name: str, script: str, *, measured: bool | None = None) -> PhasePlan:
    """Plan one phase: a script of sh whose $0 is the node of the drive; its first line names the operation."""
    is_measured = name in OPERATIONS if measured is None else measured
    lines = f"set -e\necho {name}\n{{ {script}; }} 2>&1"
    return PhasePlan(
        name=name,
        operations=(name,),
        directions={name: DIRECTIONS.get(name, Direction.METADATA)},
        measured=is_measured,
        cache=CacheState.UNCHANGED,
        settings=tuple(
            {
                "argv": ["sh", "-c", lines, end.address],
                "env": {},
                "directory": "/",
                "operation": "command",
            }
            for end in order.endpoints
        ),
        flush_in_clock=True,
        is_drained=False,
    )


def parse(_knobs: Mapping[str, Value], stdout: str, elapsed_ns: int) -> Mapping[str, float]:
    """Return the time of the phase, and the bytes and the rate where dd moved some. Raises EvidenceError."""
    name, _, rest = stdout.partition("\n")
    if name not in (*OPERATIONS, BEGIN, RETURN):
        raise EvidenceError(f"found {stdout[:60]!r}; expected the name of an operation in the first line")
    found = {f"{name}.elapsed_ns": float(elapsed_ns)}
    if name in (WRITE, READ):
        moved = float(sum(map(int, MOVED.findall(rest))))
        if not moved:
            raise EvidenceError(f"found {rest[:60]!r}; expected the bytes that dd moved")
        found |= {f"{name}.bytes": moved, f"{name}.bytes_per_s": moved / (elapsed_ns / 1e9)}
    return found


def seconds(knobs: Mapping[str, Value], _pace: Pace) -> float:
    """Guess how long it takes."""
    values = resolved(KNOBS, knobs)
    return 2 * integer(values, "files") * integer(values, "file_size") / GUESS_BYTES_PER_S + 2 * GUESS_MOVE_S


WORKLOAD = Workload(
    name="tape_io",
    knobs=KNOBS,
    accepts=(EndpointKind.DEVICE,),
    operations=operations,
    phases=phases,
    check=check,
    engine="command",
    parse=parse,
    tools=lambda knobs: ("dd", "mt"),
    nouns={"write": "writes", "read": "reads", "rewind": "rewinds", "locate": "locates"},
    lookups={"rewind": (), "locate": ()},
    seconds=seconds,
)
