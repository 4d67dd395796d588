"""[old] and [new] of the file of `assay predict`: which trials of which notebook are fitted, and which test the fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.analysis.resources import PROCESSORS
from assay.prediction import values as values_of
from assay.prediction.demand import Demand, Sample, demand
from assay.prediction.predict import tested
from assay.prediction.question import Holdout, Platform
from assay.prediction.values import Selection
from assay.statistics.service_demand import Unknown
from assay.toml_document import Document, Path, one_of, shown
from assay.units import Refusal

PLATFORM = ("notebook", "experiment", "resource", "where", "fit", "holdout", "called")
Lookup = Callable[[str, str | None], Sequence[Sample] | Refusal]
"""(notebook, experiment) -> the samples of its runs, or why there are none."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """[old] or [new] as it was read: its keys, and the trials that are fitted and held out."""

    path: Path
    values: Mapping[str, object]
    fitted: tuple[Sample, ...]
    held: tuple[Sample, ...]
    processors: str | None
    """Whose processor time counts; None where the key is wrong."""
    blamed: Path
    """Where it is told that nothing is known of a resource."""


def table(document: Document, path: Path, told: object, lookup: Lookup) -> Table | None:
    """The trials of one table; None where there are none, which was noted."""
    values = values_of.table(document, path, told, PLATFORM, 'a table with notebook = "lab"')
    selections = [values_of.selection(document, (*path, key), values.get(key, {})) for key in ("where", "fit", "holdout")]
    called = values_of.names(document, (*path, "called"), values.get("called", {}))
    processors = values.get("resource", PROCESSORS[0])
    if processors not in PROCESSORS:
        document.wrong((*path, "resource"), shown(processors), one_of(PROCESSORS, str(processors)))
        processors = None
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
        document.wrong((*path, "holdout"), "trials that are fitted, too", "other trials: what was fitted tests no fit (S13)")
    if holdout and not held:
        document.wrong((*path, "holdout"), "no trial of that kind", kinds(every, holdout))
    return Table(
        path=path,
        values=values,
        fitted=tuple(fitted),
        held=tuple(held),
        processors=None if processors is None else str(processors),
        blamed=(*path, "notebook"),
    )


def samples(document: Document, path: Path, values: Mapping[str, object], lookup: Lookup) -> Sequence[Sample] | None:
    """The samples of the notebook that a table names."""
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
    """The sample with its operations as they are called in the others."""
    rates: dict[str, float] = {}
    for name, rate in sample.rates.items():
        rates[called.get(name, name)] = rates.get(called.get(name, name), 0.0) + rate
    return replace(sample, rates=rates)


def matches(sample: Sample, selection: Selection) -> bool:
    """Whether every level is one of those that are asked for."""
    return matches_words({name: sample.word(name) for name in selection}, selection)


def matches_words(words: Mapping[str, str], selection: Selection) -> bool:
    """The same of levels as they are typed."""
    return all(words.get(name) in asked for name, asked in selection.items())


def kinds(every: Sequence[Sample], selection: Selection) -> str:
    """What could have been selected, in words."""
    there = {name: dict.fromkeys(one.word(name) for one in every if name in one.levels) for name in selection}
    names = dict.fromkeys(name for one in every for name in one.levels)
    told = (
        f"{name} {one_of(levels)}" if levels else f"{one_of(names, name)}; nothing has a {name}" for name, levels in there.items()
    )
    return "; ".join(told)


def platform(document: Document, table: Table, resource: str | None) -> Platform | None:
    """What operations use of one resource, and the tests of the fit; None where it cannot be told, which was noted."""
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
    """The mixes that were held out, in their order."""
    return tuple(dict.fromkeys(one.mix for one in held))


def holdout(document: Document, path: Path, found: Demand, trials: Sequence[Sample]) -> Holdout | None:
    """What the demands say of one mix that was held out."""
    strange = sorted({name for one in trials for name in one.rates} - {*found.operations, *found.together})
    if strange:
        what = f"{', '.join(strange)}, which no fitted trial did"
        document.wrong(path, what, f"{one_of(found.operations, strange[0])}; `called` joins names")
        return None
    rates = {name: [one.rates.get(name, 0.0) for one in trials] for name in found.operations}
    return tested(found, trials[0].mix, rates, [one.used[found.resource] for one in trials])
