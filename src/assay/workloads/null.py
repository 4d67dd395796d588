"""Runs empty operations: shows the cost of the load engine itself and the highest rate that it can keep.

The engine `null` (`docs/engine-protocol.md`) runs its whole loop, with clock, histogram and schedule, without a system call.
The target is not used.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Unit, Workload, resolved
from assay.records import EndpointKind, PhasePlan, Value
from assay.settings import load
from assay.settings.knobs import integer, messages, number, quantity

OPERATION = "null"
GUESS_S = 1e-7

KNOBS = (
    number("ops", "operations of each worker; 1,000,000 without another end"),
    quantity("duration", "stop after this time", Unit.NANOSECONDS),
    number("workers", "threads of each client", 1, (1, 1024)),
    *load.LOAD,
    *load.STEADY,
    *PLACEMENT,
)
USUAL_OPS = 1_000_000


def operations(_knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the one operation with its default figure, the rate."""
    return {OPERATION: "ops_per_s"}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs."""
    values = resolved(KNOBS, knobs)
    workers = integer(values, "workers")
    crowd = ((workers > 1024, f"found {workers} workers; expected at most 1,024"),)
    return (*messages(crowd), *load.load_mistakes(values), *load.timed_mistakes(values), *load.steady_mistakes(values))


def ops(values: Mapping[str, Value]) -> int | None:
    """Return the operations of each worker; None if only time ends the phase."""
    timed = integer(values, "duration") or load.lasts_ns(values)
    return integer(values, "ops") or (None if timed else USUAL_OPS)


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase, which moves no bytes."""
    values = resolved(KNOBS, order.knobs)
    clients = len(order.endpoints)
    setting = {
        "operation": OPERATION,
        "ops": ops(values),
        "duration_ns": values["duration"],
        "workers": values["workers"],
        "load": load.load_setting(values, clients),
    }
    ends = integer(values, "duration") or load.lasts_ns(values)
    return (
        PhasePlan(
            name=OPERATION,
            operations=(OPERATION,),
            directions={},
            stop=load.stop_rule(values, is_timed=bool(ends)),
            settings=(setting,) * clients,
        ),
    )


def seconds(knobs: Mapping[str, Value], _pace: Pace) -> float:
    """Estimate: the time limit, or 0.1 us for each operation, or the time of the load's rate."""
    values = resolved(KNOBS, knobs)
    limit = (integer(values, "duration") or load.lasts_ns(values) or 0) / 1e9
    workers = integer(values, "workers") * integer(values, "clients", 1)
    count = (ops(values) or 0) * workers
    return limit or max(count * GUESS_S, load.least_s(values, count, workers))


WORKLOAD = Workload(
    name="null",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="null",
    again=lambda knobs: None,
    only_reads=lambda knobs: True,
    seconds=seconds,
    nouns={"null": "empty operations"},
)
