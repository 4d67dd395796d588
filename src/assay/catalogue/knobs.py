"""Knobs: the settings of targets and workloads."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from enum import StrEnum

from assay.frozen import dataclass
from assay.records import Value
from assay.units import Unit


class KnobKind(StrEnum):
    """Type of a knob's value."""

    TEXT = "text"
    CHOICE = "choice"
    INTEGER = "integer"
    NUMBER = "number"
    """A number with or without a fraction (a ratio)."""
    QUANTITY = "quantity"
    SWITCH = "switch"
    TEXTS = "texts"
    """A list of texts (operations, argv, mount options)."""
    PATH = "path"
    CPUS = "cpus"
    """A count or a list of CPU numbers."""


FREE = "*"
"""Stands for any name in that place of a knob's name: `variables.*`, `server.nodes.*.data`."""


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One setting of a target or workload: its type, its default, its help in one line."""

    name: str
    kind: KnobKind
    help: str
    default: Value = None
    required: bool = False
    unit: Unit = Unit.NONE
    choices: tuple[str, ...] = ()
    """For CHOICE, and for each item of TEXTS where not empty."""
    low: int | None = None
    high: int | None = None
    is_command: bool = False
    """Whether TEXTS are words of a command line: they are shown as a shell would take them."""


def resolved(knobs: Iterable[Knob], given: Mapping[str, Value]) -> dict[str, Value]:
    """Return the given knobs, with the defaults of all others."""
    return {knob.name: knob.default for knob in knobs if FREE not in knob.name} | dict(given)


PLACEMENT = (
    Knob(name="cpus", kind=KnobKind.CPUS, help="CPUs to run on: a count or a list of numbers"),
    Knob(name="memory", kind=KnobKind.QUANTITY, unit=Unit.BYTES, help="memory limit of its control group"),
)
"""Knobs that every workload has."""

TIMING = (
    Knob(
        name="start_delay",
        kind=KnobKind.QUANTITY,
        unit=Unit.NANOSECONDS,
        help="client N starts N times this late (for controls)",
    ),
    Knob(
        name="quiesce",
        kind=KnobKind.QUANTITY,
        unit=Unit.NANOSECONDS,
        help="longest wait for an idle system before each phase; 0 = neither flush nor wait (for controls)",
    ),
    Knob(
        name="look_every",
        kind=KnobKind.QUANTITY,
        unit=Unit.NANOSECONDS,
        low=1_000_000,
        help="interval of all observers instead of their own: finer curves, higher cost (rule E04 judges it)",
    ),
)
"""Knobs of every workload that the trial carries out."""


FRAMES: Mapping[str, int] = {"ethernet": 38, "none": 0}
"""Framing of a path -> bytes on the wire beside an IP packet: Ethernet's header, checksum, preamble and gap (IEEE 802.3)."""


def _path_knobs(way: str = "") -> tuple[Knob, ...]:
    """Return the knobs of a path; with `up.` or `down.` those of one direction, which have no defaults."""
    of, quantity = f" ({way[:-1]})" if way else "", KnobKind.QUANTITY
    longest_ns, most = 60_000_000_000, 1 << 40
    frames = "what is on the wire beside each packet"
    return (
        Knob(name=f"{way}rate", kind=quantity, unit=Unit.BYTES_PER_S, low=1, help=f"rate of the wire{of}; default: no limit"),
        Knob(name=f"{way}delay", kind=quantity, unit=Unit.NANOSECONDS, low=0, high=longest_ns, help=f"delay one way{of}"),
        Knob(name=f"{way}loss", kind=quantity, unit=Unit.SHARE, low=0, high=1, help=f"share of the segments that are lost{of}"),
        Knob(name=f"{way}queue", kind=quantity, unit=Unit.BYTES, low=1, high=most, help=f"bytes that may wait for the wire{of}"),
        Knob(
            name=f"{way}framing",
            kind=KnobKind.CHOICE,
            choices=tuple(FRAMES),
            default=None if way else "ethernet",
            help=f"{frames}{of}",
        ),
    )


@functools.cache
def path_knobs() -> tuple[Knob, ...]:
    """Return the knobs of a path between two ends (`[paths.NAME]`)."""
    return (*_path_knobs(), *_path_knobs("up."), *_path_knobs("down."))


LEAST_DIRTY_BYTES = 8192
"""Two pages, the least that the kernel takes (mm/page-writeback.c, dirty_bytes_min)."""
MACHINE = (
    Knob(name="governor", kind=KnobKind.TEXT, help="frequency governor of every CPU (cpufreq)"),
    Knob(name="boost", kind=KnobKind.SWITCH, help="clock rates above the nominal one"),
    Knob(name="smt", kind=KnobKind.SWITCH, help="further threads of each core"),
    Knob(
        name="transparent_huge_pages",
        kind=KnobKind.CHOICE,
        choices=("always", "madvise", "never"),
        help="pages of 2 MiB without a request",
    ),
    Knob(name="swappiness", kind=KnobKind.INTEGER, low=0, high=200, help="vm.swappiness"),
    *(
        Knob(name=name, kind=KnobKind.QUANTITY, unit=Unit.BYTES, low=LEAST_DIRTY_BYTES, help=f"vm.{name}")
        for name in ("dirty_bytes", "dirty_background_bytes")
    ),
    Knob(name="irq_affinity", kind=KnobKind.CPUS, help="CPUs of all interrupts that can be moved: a count or a list of numbers"),
    Knob(name=f"sysctl.{FREE}", kind=KnobKind.TEXT, help="any kernel setting, as sysctl(8) names it"),
)
"""Knobs of a machine itself (`[machine]`), set for each trial and put back after it."""
