"""[machine] of the file of `assay predict`: how much there is of each resource, as the file tells it or as it was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from assay import links
from assay.analysis.resources import PROCESSORS, RESOURCES, Resource
from assay.prediction import values as values_of
from assay.prediction.platform import Table, platform
from assay.prediction.question import Capacity, Platform
from assay.records import Estimate
from assay.toml_document import Document, Path, Point, shown
from assay.units import Refusal, Unit, attempt, human

PATH = ("machine",)
EXPECTED = "[machine], the one that is to carry the load"
OTHERS = tuple(name for name in RESOURCES if name not in PROCESSORS)
KEYS = ("processors", "speed", *OTHERS)
MEASURED = ("notebook", "experiment", "measure", "where")
Capacities = Callable[[str, str | None, str, values_of.Selection], Estimate | Refusal]
"""(notebook, experiment, measure, where) -> what was measured, or why there is nothing."""


def capacities(document: Document, told: object, new: Table | None, measured: Capacities) -> tuple[Capacity, ...]:
    """All that the table tells, processors first, with what operations use of each where that was measured."""
    values = values_of.table(document, PATH, told, KEYS, EXPECTED)
    if isinstance(told, dict) and not any(name in values for name in ("processors", *OTHERS)):
        found = "no capacity: nothing says how much there is"
        document.wrong(PATH, found, f"processors = 4, or one of: {', '.join(OTHERS)}", Point.KEY)
    return tuple(each(document, values, new, measured))


def each(document: Document, values: Mapping[str, object], new: Table | None, measured: Capacities) -> Iterator[Capacity]:
    """The capacities one by one."""
    speed = values_of.positive(document, (*PATH, "speed"), values.get("speed", 1.0))
    if "processors" in values:
        count = values_of.count(document, (*PATH, "processors"), values)
        chosen = None if new is None else platform(document, new, new.processors)
        resource = chosen.demand.resource if chosen else PROCESSORS[0]
        yield Capacity(
            resource=resource,
            amount=(count * speed,) * 3,
            said=f"{count} processor{'s' if count > 1 else ''}",
            servers=count,
            platform=chosen,
        )
    for name in OTHERS:
        if name not in values:
            continue
        found = capacity(document, (*PATH, name), (RESOURCES[name], values[name]), measured)
        if new is None and is_lacking(document):
            document.wrong((*PATH, name), f"{name} without [new]", "[new], a notebook where it was measured", Point.KEY)
        elif new is not None and found is not None:
            yield replace(found, platform=of_other(document, new, name))


def is_lacking(document: Document) -> bool:
    """Whether [new] is what a capacity lacks: not where it is there and wrong, nor beside a load that needs none."""
    production = document.values.get("production")
    return "new" not in document.values and not (isinstance(production, dict) and "used" in production)


def of_other(document: Document, new: Table, name: str) -> Platform | None:
    """What operations use of a resource that is no processor; what is wrong is noted once, at its capacity."""
    return platform(document, replace(new, blamed=(*PATH, name)), name)


def capacity(document: Document, path: Path, what: tuple[Resource, object], measured: Capacities) -> Capacity | None:
    """How much there is of one resource."""
    resource, told = what
    if isinstance(told, dict):
        return of_measure(document, path, (resource, told), measured)
    if resource.rate is None:
        return counted(document, path, resource, told)
    amount = in_rate(told, resource.rate)
    if isinstance(amount, Refusal):
        document.wrong(path, amount.found, f"{amount.expected}, or a table with notebook and measure")
        return None
    return Capacity(resource=resource.name, amount=(amount,) * 3, said=named(resource, amount, told))


def counted(document: Document, path: Path, resource: Resource, told: object) -> Capacity | None:
    """Devices that share the load, each of which does one thing at a time."""
    if not isinstance(told, int) or isinstance(told, bool) or told < 1:
        document.wrong(path, shown(told), f"how many devices share the load: {resource.name} = 1")
        return None
    said = "the device's time" if told == 1 else f"the time of {told} devices"
    return Capacity(resource=resource.name, amount=(float(told),) * 3, said=said, servers=told)


def in_rate(told: object, unit: Unit) -> float | Refusal:
    """`50 MB/s`, `5 kIOPS`, or the name of a link."""
    if not isinstance(told, str):
        return Refusal(found=shown(told), expected=f"a text such as {'50 MB/s' if unit is Unit.BYTES_PER_S else '5 kIOPS'!r}")
    found: float | Refusal = links.capacity(told) if unit is Unit.BYTES_PER_S else attempt(told, unit)
    if isinstance(found, float | int) and found <= 0:
        return Refusal(found=repr(told), expected="more than 0")
    return found


def of_measure(
    document: Document, path: Path, what: tuple[Resource, Mapping[str, object]], measured: Capacities
) -> Capacity | None:
    """What a measure in a notebook says that there is."""
    resource, values = what[0], values_of.known(document, path, what[1], MEASURED)
    notebook, measure, experiment = (values.get(key) for key in ("notebook", "measure", "experiment"))
    where = values_of.selection(document, (*path, "where"), values.get("where", {}))
    if not isinstance(notebook, str) or not isinstance(measure, str) or not isinstance(experiment, str | None):
        document.wrong(path, shown(values), '{ notebook = "lab", measure = "stream.read.bytes_per_s" }')
        return None
    found = measured(notebook, experiment, measure, where)
    if isinstance(found, Refusal):
        document.wrong(path, found.found, found.expected)
        return None
    if found.unit != resource.rate or not found.value > 0:
        unit = f"{found.value:g} {found.unit}".strip()
        document.wrong(path, f"{measure}, which is {unit}", f"a measure in {resource.rate or 'no unit'} above 0")
        return None
    low, high = (found.value if end is None or end <= 0 else end for end in (found.low, found.high))
    said = f"{named(resource, found.value, None)} ({measure} of {notebook})"
    return Capacity(resource=resource.name, amount=(low, found.value, high), said=said)


def named(resource: Resource, amount: float, told: object) -> str:
    """`50 MB/s read from the device`; the link as it was told, too."""
    assert resource.rate is not None
    link = f" ({told})" if isinstance(told, str) and links.find(told) is not None else ""
    return f"{human(amount, resource.rate)}{link} {resource.said}"
