"""Does nothing, as often or as long as is asked: what the load engine itself costs, and which rates it can keep.

The engine `null` (`docs/engine-protocol.md`) goes through its whole loop, with clock, histogram and schedule, without a system
call. Nothing of the target is used.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Order, Unit, Workload
from assay.records import EndpointKind, PhasePlan, Value
from assay.settings import load
from assay.settings.knobs import integer, messages, number, quantity, resolved

OPERATION = "null"
GUESS_S = 1e-7

KNOBS = (
    number("ops", "operations of each worker; 1,000,000 where nothing else ends it"),
    quantity("duration", "stop after this time", Unit.NANOSECONDS),
    number("workers", "threads of each client", 1, (1, 1024)),
    *load.LOAD,
    *load.STEADY,
    *PLACEMENT,
)
USUAL_OPS = 1_000_000


def operations(_knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """One operation, judged by its rate where no measure is named."""
    return {OPERATION: "ops_per_s"}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Loads that contradict themselves."""
    values = resolved(KNOBS, knobs)
    workers = integer(values, "workers")
    crowd = ((workers > 1024, f"found {workers} workers; expected at most 1,024"),)
    return (*messages(crowd), *load.load_mistakes(values), *load.timed_mistakes(values), *load.steady_mistakes(values))


def ops(values: Mapping[str, Value]) -> int | None:
    """Operations of each worker; None where time ends the phase and no number was asked for."""
    timed = integer(values, "duration") or load.lasts_ns(values)
    return integer(values, "ops") or (None if timed else USUAL_OPS)


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """One phase, in which no bytes go any way."""
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


def seconds(knobs: Mapping[str, Value]) -> float:
    """The time that was asked for, or a tenth of a microsecond for each operation, or what its load takes."""
    values = resolved(KNOBS, knobs)
    limit = (integer(values, "duration") or load.lasts_ns(values) or 0) / 1e9
    workers = integer(values, "workers") * integer(values, "clients", 1)
    count = (ops(values) or 0) * workers
    return 1.0 + (limit or max(count * GUESS_S, load.least_s(values, count, workers)))


WORKLOAD = Workload(
    name="null",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="null",
    only_reads=lambda knobs: True,
    seconds=seconds,
)
