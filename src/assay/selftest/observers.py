"""`assay selftest --observers NAMES`: the same load in pairs, with observers and without, in random order, and the ratio."""

from __future__ import annotations

import math
import os
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from assay import catalogue, measures
from assay.audit import limits
from assay.audit.judge import judge_run
from assay.errors import EvidenceError, TrialError, UsageError
from assay.experiment import plan as planning
from assay.experiment import read
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.laboratory.session import conduct
from assay.records import Conclusion, Estimate, Experiment, Method, Observations, Outcome, Run
from assay.selftest import Request, searches
from assay.selftest.counts import NamedControl
from assay.selftest.lies import progressing
from assay.terminal.output import Row, deliver, table
from assay.terminal.progress import SECOND_NS, ProgressMode
from assay.units import Unit, human

PAIRS = 10
ALL = "all"
RULE = catalogue.find("rules", "observer_overhead").id
FEW = 4
"""More observers are given by their number."""
LOADS = {
    "all CPUs busy, without system calls": ('kind = "null"\nduration = "2500 ms"', "null"),
    "4 KiB random direct reads": (
        (
            'kind = "bulk_io"\noperations = ["random_read"]\nsize = "16 MiB"\nrecord_size = "4 KiB"\ndirect = true\n'
            'duration = "2500 ms"'
        ),
        "random_read",
    ),
}
"""What a load is -> its workload and operation: one that has nothing but CPUs, one that passes tracepoints each time.

Each lasts long enough for those that look once a second to look twice."""
FIGURES = {
    "operations per second": "rate",
    "CPU time per operation": "cpu_ns",
    "CPU time of the server per operation": "server_cpu_ns",
}
WORDS = {
    Conclusion.EQUIVALENT: "within the margin",
    Conclusion.IMMATERIAL: "different, but within the margin",
    Conclusion.MATTERS: "beyond the margin",
    Conclusion.UNDECIDED: "undecided: run more pairs, or use an idle machine",
}
GRAVITY = (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL, Conclusion.UNDECIDED, Conclusion.MATTERS)
"""From the best to the worst: the worst comes first."""


@dataclass(frozen=True, kw_only=True)
class ObserverEffect:
    """What observing did to one figure of a load."""

    load: str
    figure: str
    ratio: Estimate
    """The figure with observers over the one without."""
    conclusion: Conclusion
    cpu_share: float | None
    """The largest CPU share of observing in any trial, by E04."""
    cpu_ns_per_op: float | None
    """The CPU time of observing for one operation, the median of the trials."""


@dataclass(frozen=True, kw_only=True)
class Once:
    """One trial: its figures, and the CPU time of observing by E04."""

    rate: float
    cpu_ns: float | None
    """CPU time an operation: what probes cost whoever passes them is in it, the CPU time of other processes is not."""
    cpu_share: float | None
    server_cpu_ns: float | None = None
    """CPU time an operation of the server that answers the load."""

    @property
    def observing_ns(self) -> float | None:
        """CPU time of observing for one operation."""
        return None if self.cpu_share is None else self.cpu_share * SECOND_NS / self.rate


def measure_observers(request: Request, which: str, pairs: int = PAIRS) -> int:
    """Run pairs with these observers (names by commas, or `all`) and without; print the ratios. Raises UsageError.

    Gives 3 with a gate where a ratio lies beyond the margin.
    """
    names = chosen(which, pairs)
    loads = loads_of(names)
    with (
        tempfile.TemporaryDirectory(prefix="assay-selftest-") as directory,
        progressing(request.progress, 2 * len(loads) * pairs) as show,
    ):
        numbers = count(1)

        def trial(load: str, watchers: tuple[str, ...]) -> Once:
            show(NamedControl(name=load, rule=RULE), next(numbers))
            if load == searches.NAME:
                return once(searches.experiment(watchers), Path(directory))
            return once(replace(experiment_of(load, directory), observers=watchers))

        found = tuple(one for load, watchers in loads.items() for one in effects(load, partial(trial, load), watchers, pairs))
    deliver(request.json_to, "selftest-observers", lambda: plain(names, found), lambda: text(names, found))
    bad = (Conclusion.MATTERS, Conclusion.UNDECIDED) if request.gate is Gate.STRICT else (Conclusion.MATTERS,)
    return BAD_VERDICT if request.gate is not Gate.OFF and any(one.conclusion in bad for one in found) else 0


def chosen(which: str, pairs: int) -> tuple[str, ...]:
    """The observers that are measured. Raises UsageError with every mistake of the call."""
    known, host = catalogue.names("observers"), Local()
    usual = [name for name in catalogue.watchers(None) if catalogue.find("observers", name).available(host) is None]
    named = usual if which == ALL else [name.strip() for name in which.split(",")]
    wrong = [f"found observer {name!r}; expected one of: {', '.join(known)}, or {ALL}" for name in named if name not in known]
    refused = ((name, searches.unable(name, host)) for name in named if name in known)
    wrong += [f"found observer {name}, which does not work here: {why}" for name, why in refused if why]
    least = int(limits.thresholds(RULE)["least_pairs"])
    if pairs < least:
        wrong.append(f"found {pairs} pairs; expected at least {least}, for an interval")
    if wrong:
        raise UsageError("\n".join(wrong))
    return tuple(named)


def loads_of(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The loads, each with the observers that see something of it."""
    usual = tuple(name for name in names if name not in searches.OBSERVERS)
    others = tuple(name for name in names if name in searches.OBSERVERS)
    return {**(dict.fromkeys(LOADS, usual) if usual else {}), **({searches.NAME: others} if others else {})}


def effects(load: str, trial: Callable[[tuple[str, ...]], Once], names: tuple[str, ...], pairs: int) -> Iterator[ObserverEffect]:
    """The ratios of one load over so many pairs; which of a pair comes first is drawn by lot."""
    drawn = random.Random(f"{load} {pairs}")  # noqa: S311 - an order, no secret
    without, watched = list[Once](), list[Once]()
    for _ in range(pairs):
        for is_watched in drawn.sample((False, True), 2):
            (watched if is_watched else without).append(trial(names if is_watched else ()))
    share = max((one.cpu_share for one in watched if one.cpu_share is not None), default=None)
    spent_ns = [one.observing_ns for one in watched if one.observing_ns is not None]
    median_ns = statistics.median(spent_ns) if spent_ns else None
    for figure, name in FIGURES.items():
        both = [[value for one in arm if (value := getattr(one, name))] for arm in (without, watched)]
        if all(len(values) == pairs for values in both):
            ratio, conclusion = compared(*both)
            yield ObserverEffect(
                load=load, figure=figure, ratio=ratio, conclusion=conclusion, cpu_share=share, cpu_ns_per_op=median_ns
            )


def experiment_of(load: str, directory: str) -> Experiment:
    """The experiment of one load below a directory of ours."""
    workload, operation = LOADS[load]
    return read.parse(
        f'title = "{load}"\nrepeats = 1\n[targets.here]\nkind = "directory"\npath = "{directory}"\n'
        f'[workloads.w]\n{workload}\nworkers = {os.cpu_count() or 1}\nquiesce = "0 s"\n'
        f'[measures]\n"w.{operation}.ops_per_s" = {{}}\n',
        "selftest",
    )


def once(experiment: Experiment, directory: Path | None = None) -> Once:
    """One trial, its server in a directory of ours. Raises TrialError if it does not finish, EvidenceError without a figure."""
    run, observations = conducted(experiment, directory)
    figure = measures.value(run, observations, experiment.measures[0])
    if figure is None or figure.value <= 0:
        raise EvidenceError(f"found no rate of the load {experiment.title}; expected one")
    findings = (one for verdict in judge_run(experiment, run, observations) for one in verdict.findings if one.rule == RULE)
    shares = [share for one in findings if isinstance(share := one.observed.get("cpu_share"), float)]
    phase = measures.phase_of(run, experiment.measures[0])
    cpu_ns = measures.costs(phase)["cpu_ns_per_op"] if phase else None
    server_ns = searches.cpu_ns(run, observations) if experiment.title == searches.NAME else None
    return Once(rate=figure.value, cpu_ns=cpu_ns, cpu_share=max(shares, default=None), server_cpu_ns=server_ns)


def conducted(experiment: Experiment, directory: Path | None = None) -> tuple[Run, Observations]:
    """One trial. Raises TrialError where it does not finish."""
    run, observations = conduct(experiment, planning.plan(experiment), Local(), ProgressMode.NONE, directory)
    if run.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    if run.outcome is not Outcome.FINISHED:
        raise TrialError(f"load {experiment.title} {run.outcome}: {run.error}")
    return run, observations


def compared(without: list[float], watched: list[float]) -> tuple[Estimate, Conclusion]:
    """The ratio of the paired rates with its 95 % interval, and whether it is shown to lie within the margin."""
    from assay.statistics.contrast import four_way, interval, paired_ratio

    contrast = paired_ratio(without, watched)
    wide, narrow = interval(contrast, 0.95), interval(contrast, 0.90)
    ratio = Estimate(
        value=math.exp(contrast.difference),
        low=math.exp(wide[0]),
        high=math.exp(wide[1]),
        confidence=0.95,
        unit=Unit.NONE,
        n=contrast.n,
        method=Method.PAIRED_GEOMETRIC,
    )
    return ratio, four_way(wide, narrow, limits.thresholds(RULE)["ratio_share"])


def text(names: tuple[str, ...], found: tuple[ObserverEffect, ...]) -> str:
    """For people: the answer first."""
    margin = measures.percent(limits.thresholds(RULE)["ratio_share"])
    worst = max(found, key=lambda one: (GRAVITY.index(one.conclusion), abs(math.log(one.ratio.value))))
    who = ", ".join(names) if len(names) <= FEW else f"{len(names)} observers"
    answer = f"with {who}: {worst.figure} x {worst.ratio.value:.3f}, {worst.load} ({WORDS[worst.conclusion]})"
    header = (
        "load",
        "figure",
        "ratio with / without",
        "95 % interval",
        "pairs",
        f"within {margin} (two one-sided tests)",
        "cost of observing",
    )
    return f"{answer}\n\n{table(header, [*rows(found)], (2, 3, 4, 6))}"


def rows(found: tuple[ObserverEffect, ...]) -> Iterator[Row]:
    """A line a load."""
    for one in found:
        each = "" if one.cpu_ns_per_op is None else f", {human(one.cpu_ns_per_op, Unit.NANOSECONDS)} per operation"
        took = "?" if one.cpu_share is None else f"{measures.percent(one.cpu_share)} of one CPU{each}"
        interval = f"{one.ratio.low:.3f} to {one.ratio.high:.3f}"
        yield Row(cells=(one.load, one.figure, f"{one.ratio.value:.3f}", interval, str(one.ratio.n), WORDS[one.conclusion], took))


def plain(names: tuple[str, ...], found: tuple[ObserverEffect, ...]) -> dict[str, Any]:
    """As JSON."""
    return {
        "observers": list(names),
        "margin": limits.thresholds(RULE)["ratio_share"],
        "loads": [
            {
                "load": one.load,
                "figure": one.figure,
                "ratio": one.ratio.value,
                "low": one.ratio.low,
                "high": one.ratio.high,
                "confidence": one.ratio.confidence,
                "pairs": one.ratio.n,
                "conclusion": one.conclusion.value,
                "cpu_share": one.cpu_share,
                "cpu_ns_per_op": one.cpu_ns_per_op,
            }
            for one in found
        ],
    }
