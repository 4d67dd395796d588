"""Parallel efficiency: the ratio of the rates over the ratio of the clients, workers or requests in flight.

efficiency = (rate with N / rate with M) / (N / M), with the interval of the ratio. A rate is work over time, so this holds for a
fixed total of work as for a fixed time. It speaks of the whole system: where the larger load stood at a limit (of the device,
of a throttle, of the processors), what asks for the work may scale better, so the share is a lower bound of that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.analysis.cells import Load, at_levels, measure_of
from assay.errors import AssayError
from assay.measures import AMOUNTS, CONCURRENCY
from assay.records import Comparison, Estimate, Experiment, Judged, Limiter, LimiterKind, State, Verdict
from assay.units import Unit

THREADS = CONCURRENCY - {"depth"}
"""Those that need a processor each to work at the same time."""


def scaled(experiment: Experiment, found: Sequence[Comparison], runs: Sequence[Judged], load: Load) -> tuple[Comparison, ...]:
    """The comparisons, with the efficiency where the compared factor counts concurrency and the measure is a rate."""
    by_id = {judged.id: judged for judged in runs}

    @functools.cache
    def processors(run: str) -> int | None:
        return processors_of(by_id[run], load)

    def with_share(one: Comparison) -> Comparison:
        share = efficiency(one) if measure_of(experiment, one.measure).figure in AMOUNTS else None
        if share is None:
            return one
        return replace(one, parallel_efficiency=share, limiter=limiter(one, larger(one, runs), processors))

    return tuple(with_share(one) for one in found)


def efficiency(one: Comparison) -> Estimate | None:
    """The ratio of a comparison over that of its counts, with the same interval; None where its factor counts nothing."""
    counts = counts_of(one)
    if counts is None or one.ratio is None:
        return None
    times, ratio = counts[0] / counts[1], one.ratio
    return replace(
        ratio,
        value=ratio.value / times,
        low=None if ratio.low is None else ratio.low / times,
        high=None if ratio.high is None else ratio.high / times,
        unit=Unit.SHARE.value,
    )


def counts_of(one: Comparison) -> tuple[int, int] | None:
    """How many worked at the same time, candidate and baseline; None where the factor counts something else."""
    if one.factor.rpartition(".")[2] not in CONCURRENCY:
        return None
    counts = [level for level in (one.candidate, one.baseline) if isinstance(level, int) and not isinstance(level, bool)]
    return (counts[0], counts[1]) if len(counts) == 2 and min(counts) > 0 else None


def larger(one: Comparison, runs: Sequence[Judged]) -> list[Judged]:
    """The runs that count in the arm with the larger load."""
    most = max(counts_of(one) or ())
    levels = {**one.within, one.factor: most}
    return [judged for judged in at_levels(runs, levels) if judged.id not in one.excluded and one.measure in judged.verdicts]


def limiter(one: Comparison, runs: Sequence[Judged], processors: Callable[[str], int | None]) -> Limiter | None:
    """What held the larger load back, by the findings of at least half of its runs or for want of processors; else None."""
    held = [found for judged in runs if (found := reached(judged.verdicts[one.measure]))]
    if held and 2 * len(held) >= len(runs):
        return held[0]
    known = processors(runs[0].id) if runs and one.factor.rpartition(".")[2] in THREADS else None
    if known is None or known >= max(counts_of(one) or ()):
        return None
    return Limiter(kind=LimiterKind.CPU_COUNT, name="", declared=False, amount=float(known), unit=Unit.COUNT.value)


def reached(verdict: Verdict) -> Limiter | None:
    """The limit that a finding on a run names; None where none is known."""
    judged = (one for one in verdict.findings if one.state in (State.PASS, State.FAIL))
    return next((one.limiter for one in judged if one.limiter is not None), None)


def processors_of(judged: Judged, load: Load) -> int | None:
    """The processors of all hosts of a run's clients; None where a host does not tell."""
    try:
        evidence = load(judged.id)
    except AssayError:
        return None
    hosts = {client.host for phase in judged.run.phases for client in phase.clients}
    texts = [evidence.on(host).fact("cpu.online") for host in hosts]
    known = [listed(text) for text in texts if text and text[0].isdigit()]
    return sum(known) if known and len(known) == len(hosts) else None


def listed(text: str) -> int:
    """How many numbers the kernel's list format names: 4 in `0-2,5`."""
    spans = (part.partition("-") for part in text.strip().split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in spans)
