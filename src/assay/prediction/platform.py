"""The platforms of a prediction's file: what was measured on them, and the machine that is to carry the load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from assay import links, toml_document
from assay.analysis.resources import PROCESSORS, RESOURCES, Resource
from assay.frozen import dataclass
from assay.prediction import values as values_of
from assay.prediction.demand import Demand, Sample, demand
from assay.prediction.predict import tested
from assay.prediction.question import Holdout, MachineCapacity, Platform
from assay.prediction.values import Selection
from assay.records import Estimate
from assay.statistics.queueing import Unknown
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import Refusal, Unit, attempt, counted, human

PLATFORM = ("notebook", "experiment", "resource", "where", "fit", "holdout", "called")
Lookup = Callable[[str, str | None], Sequence[Sample] | Refusal]
"""(notebook, experiment) -> the samples of its runs, or why there are none."""


@dataclass(frozen=True, kw_only=True)
class PlatformTable:
    """[old] or [new] as it was read: its keys, and the trials that are fitted and held out."""

    path: Path
    values: Mapping[str, object]
    fitted: tuple[Sample, ...]
    held: tuple[Sample, ...]
    cpus: str | None
    """Whose processor time counts; None where the key is wrong."""
    blamed: Path
    """Where it is told that nothing is known of a resource."""


def table(document: Document, path: Path, value: object, lookup: Lookup) -> PlatformTable | None:
    """Return the trials of one table; None where there are none, which was noted."""
    values = toml_document.table(document, path, value, PLATFORM, 'a table with notebook = "lab"')
    selections = [values_of.selection(document, (*path, key), values.get(key, {})) for key in ("where", "fit", "holdout")]
    called = values_of.names(document, (*path, "called"), values.get("called", {}))
    cpus = values.get("resource", PROCESSORS[0])
    if cpus not in PROCESSORS:
        document.wrong((*path, "resource"), shown(cpus), one_of(PROCESSORS, str(cpus)))
        cpus = None
    seen = samples(document, path, values, lookup)
    if seen is None:
        return None
    where, fit, holdout = selections
    every = [renamed(one, called) for one in seen if matches(one, where)]
    for key, asked, among in (("where", where, seen), ("fit", fit, every)):
        if among and not any(matches(one, asked) for one in among):
            document.wrong((*path, key), "no trial of that kind", kinds(among, asked))
            return None
    held = [one for one in every if holdout and matches(one, holdout)]
    fitted = [one for one in every if matches(one, fit)] if fit else [one for one in every if one not in held]
    if any(one in held for one in fitted):
        document.wrong((*path, "holdout"), "fitted trials", "trials outside the fit: fitted trials test nothing (S13)")
    if holdout and not held:
        document.wrong((*path, "holdout"), "no trial of that kind", kinds(every, holdout))
    return PlatformTable(
        path=path,
        values=values,
        fitted=tuple(fitted),
        held=tuple(held),
        cpus=None if cpus is None else str(cpus),
        blamed=(*path, "notebook"),
    )


def samples(document: Document, path: Path, values: Mapping[str, object], lookup: Lookup) -> Sequence[Sample] | None:
    """Return the samples of the notebook that a table names."""
    notebook, experiment = values.get("notebook"), values.get("experiment")
    if not isinstance(notebook, str):
        document.wrong((*path, "notebook"), shown(notebook) if notebook is not None else "no notebook", 'notebook = "lab"')
        return None
    if not isinstance(experiment, str | None):
        document.wrong((*path, "experiment"), shown(experiment), "which experiment of the notebook, as in `assay list`")
        return None
    found = lookup(notebook, experiment)
    if isinstance(found, Refusal):
        which = "experiment" if experiment is not None and repr(experiment) in found.found else "notebook"
        document.wrong((*path, which), found.found, found.expected)
        return None
    return found


def renamed(sample: Sample, called: Mapping[str, str]) -> Sample:
    """Return the sample with its operations as they are called in the others."""
    rates: dict[str, float] = {}
    for name, rate in sample.rates.items():
        rates[called.get(name, name)] = rates.get(called.get(name, name), 0.0) + rate
    return replace(sample, rates=rates)


def matches(sample: Sample, selection: Selection) -> bool:
    """Return whether every level is one of those that are asked for."""
    return matches_words({name: sample.word(name) for name in selection}, selection)


def matches_words(words: Mapping[str, str], selection: Selection) -> bool:
    """Return the same of levels as typed."""
    return all(words.get(name) in asked for name, asked in selection.items())


def kinds(every: Sequence[Sample], selection: Selection) -> str:
    """Return what could have been selected, in words."""
    there = {name: dict.fromkeys(one.word(name) for one in every if name in one.levels) for name in selection}
    names = dict.fromkeys(name for one in every for name in one.levels)
    texts = (
        f"{name} {one_of(levels)}" if levels else f"{one_of(names, name)}; nothing has a {name}" for name, levels in there.items()
    )
    return "; ".join(texts)


def platform(document: Document, table: PlatformTable, resource: str | None) -> Platform | None:
    """Return what operations use of one resource, and the tests of the fit; None where it cannot be told, which was noted."""
    if resource is None:
        return None
    found = demand(table.fitted, resource)
    if isinstance(found.found, Unknown):
        of = f" of {len(found.mixes)} mix{'es' if len(found.mixes) > 1 else ''}" if found.mixes else ""
        of_it = f", resource {resource}" if found.found is Unknown.NOTHING else ""
        document.wrong(
            table.blamed,
            f"{len(table.fitted)} phases{of}: {found.found.value}{of_it}",
            "trials of as many different mixes as there are operations, 2 or more of each",
        )
        return None
    counted = [one for one in table.fitted if resource in one.used]
    rates = tuple(sum(one.rates.get(name, 0.0) for one in counted) / len(counted) for name in found.operations)
    held = [one for one in table.held if resource in one.used]
    path = (*table.path, "holdout")
    tests = [holdout(document, path, found, [one for one in held if one.mix == mix]) for mix in mixes(held)]
    known = tuple(test for test in tests if test is not None)
    most = max(one.used[resource] for one in (*counted, *held))
    return Platform(source=str(table.values["notebook"]), demand=found, trial_rates=rates, holdouts=known, most_used=most)


def mixes(held: Sequence[Sample]) -> tuple[str, ...]:
    """Return the mixes that were held out, in their order."""
    return tuple(dict.fromkeys(one.mix for one in held))


def holdout(document: Document, path: Path, found: Demand, trials: Sequence[Sample]) -> Holdout | None:
    """Return what the demands say of one mix that was held out."""
    strange = sorted({name for one in trials for name in one.rates} - {*found.operations, *found.together})
    if strange:
        what = f"{', '.join(strange)}, which no fitted trial did"
        document.wrong(path, what, f"{one_of(found.operations, strange[0])}; `called` joins names")
        return None
    rates = {name: [one.rates.get(name, 0.0) for one in trials] for name in found.operations}
    return tested(found, trials[0].mix, rates, [one.used[found.resource] for one in trials])


MACHINE = ("machine",)
MACHINE_EXPECTED = "a table [machine] with the capacities of the future machine"
OTHERS = tuple(name for name in RESOURCES if name not in PROCESSORS)
MACHINE_KEYS = ("cpus", "speed", *OTHERS)
MEASURED = ("notebook", "experiment", "measure", "where")
Capacities = Callable[[str, str | None, str, values_of.Selection], Estimate | Refusal]
"""(notebook, experiment, measure, where) -> what was measured, or why there is nothing."""


def capacities(document: Document, value: object, new: PlatformTable | None, measured: Capacities) -> tuple[MachineCapacity, ...]:
    """Return all that the table tells, CPUs first, with what operations use of each where that was measured."""
    values = toml_document.table(document, MACHINE, value, MACHINE_KEYS, MACHINE_EXPECTED)
    if isinstance(value, dict) and not any(name in values for name in ("cpus", *OTHERS)):
        found = "no capacity"
        document.wrong(MACHINE, found, f"cpus = 4, or one of: {', '.join(OTHERS)}", Point.KEY)
    return tuple(each_capacity(document, values, new, measured))


def each_capacity(
    document: Document, values: Mapping[str, object], new: PlatformTable | None, measured: Capacities
) -> Iterator[MachineCapacity]:
    """Yield the capacities one by one."""
    speed = values_of.positive(document, (*MACHINE, "speed"), values.get("speed", 1.0))
    if "cpus" in values:
        count = values_of.count(document, (*MACHINE, "cpus"), values)
        chosen = None if new is None else platform(document, new, new.cpus)
        resource = chosen.demand.resource if chosen else PROCESSORS[0]
        yield MachineCapacity(
            resource=resource,
            amount=(count * speed,) * 3,
            amount_text=counted(count, "CPU"),
            servers=count,
            platform=chosen,
        )
    for name in OTHERS:
        if name not in values:
            continue
        found = capacity(document, (*MACHINE, name), (RESOURCES[name], values[name]), measured)
        if new is None and is_lacking(document):
            document.wrong((*MACHINE, name), f"{name} without [new]", "[new], a notebook where it was measured", Point.KEY)
        elif new is not None and found is not None:
            yield replace(found, platform=of_other(document, new, name))


def is_lacking(document: Document) -> bool:
    """Return whether [new] is what a capacity lacks: not where it is there and wrong, nor beside a load that needs none."""
    production = document.values.get("production")
    return "new" not in document.values and not (isinstance(production, dict) and "used" in production)


def of_other(document: Document, new: PlatformTable, name: str) -> Platform | None:
    """Return what operations use of a resource that is no CPU; what is wrong is noted once, at its capacity."""
    return platform(document, replace(new, blamed=(*MACHINE, name)), name)


def capacity(document: Document, path: Path, what: tuple[Resource, object], measured: Capacities) -> MachineCapacity | None:
    """Return how much there is of one resource."""
    resource, value = what
    if isinstance(value, dict):
        return of_measure(document, path, (resource, value), measured)
    if resource.rate is None:
        return devices(document, path, resource, value)
    amount = in_rate(value, resource.rate)
    if isinstance(amount, Refusal):
        document.wrong(path, amount.found, f"{amount.expected}, or a table with notebook and measure")
        return None
    return MachineCapacity(
        resource=resource.name, amount=(amount,) * 3, amount_text=amount_text(resource, amount, value), of=resource.words
    )


def devices(document: Document, path: Path, resource: Resource, value: object) -> MachineCapacity | None:
    """Devices that share the load, each of which does one thing at a time."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        document.wrong(path, shown(value), f"how many devices share the load: {resource.name} = 1")
        return None
    text = "the device's time" if value == 1 else f"the time of {value} devices"
    return MachineCapacity(resource=resource.name, amount=(float(value),) * 3, amount_text=text, servers=value)


def in_rate(value: object, unit: Unit) -> float | Refusal:
    """`50 MB/s`, `5 kIOPS`, or the name of a link."""
    if not isinstance(value, str):
        return Refusal(found=shown(value), expected=f"a text such as {'50 MB/s' if unit is Unit.BYTES_PER_S else '5 kIOPS'!r}")
    found: float | Refusal = links.capacity(value) if unit is Unit.BYTES_PER_S else attempt(value, unit)
    if isinstance(found, float | int) and found <= 0:
        return Refusal(found=repr(value), expected="more than 0")
    return found


def of_measure(
    document: Document, path: Path, what: tuple[Resource, Mapping[str, object]], measured: Capacities
) -> MachineCapacity | None:
    """Return what a measure in a notebook says that there is."""
    resource, values = what[0], toml_document.known(document, path, what[1], MEASURED)
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
    text, of = amount_text(resource, found.value, None), f"{resource.words} ({measure} of {notebook})"
    return MachineCapacity(resource=resource.name, amount=(low, found.value, high), amount_text=text, of=of)


def amount_text(resource: Resource, amount: float, value: object) -> str:
    """`50 MB/s`, `118 MB/s (1GbE)` where the file names a link."""
    assert resource.rate is not None
    link = f" ({value})" if isinstance(value, str) and links.find(value) is not None else ""
    return f"{human(amount, resource.rate)}{link}"
