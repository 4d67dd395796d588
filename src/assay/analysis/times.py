"""Where the time of each phase went at each combination of levels, and what the limit was: means over the runs that count.

A share of several runs has Student's interval over the runs, or the mean error of the looks where that is larger. The limit is
that of most runs. It is SOUND where all runs name the same one, and each surely; else looks do not tell, and it is UNVERIFIED.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from assay import measures
from assay.analysis.cells import MOST_READ, Load, measure_of
from assay.errors import AssayError
from assay.evidence import time_ladder, time_limit
from assay.evidence.time_ladder import LOAD, SERVER, TimeLadder
from assay.frozen import dataclass
from assay.records import Cell, Experiment, Judged, Observations, Phase, TimeLimit, TimePart, TimeSpent, Value, VerdictState
from assay.statistics.intervals import arithmetic_mean

Place = tuple[str, tuple[tuple[str, Value], ...]]
"""Phase and levels."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was seen of one phase of one run."""

    load: TimeLadder | None
    server: TimeLadder | None
    devices: Mapping[str, float]
    limit: TimeLimit | None
    missing: str
    server_missing: str


def spent(experiment: Experiment, table: Sequence[Cell], runs: Sequence[Judged], load: Load) -> tuple[TimeSpent, ...]:
    """Where the time went, of each phase and combination of levels, in the order of the cells; nothing where nobody looked."""
    by_id = {judged.id: judged for judged in runs}
    named: dict[Place, dict[str, None]] = defaultdict(dict)
    counted: dict[Place, dict[str, Phase]] = defaultdict(dict)
    for cell in table:
        measure = measure_of(experiment, cell.measure)
        for run in (*cell.values, *(run for run, why in cell.excluded.items() if why.measured and not cell.values)):
            phase = measures.phase_of(by_id[run].run, measure) if run in by_id else None
            if phase is not None:
                place = (phase.name, tuple(cell.levels.items()))
                named[place][cell.measure] = None
                counted[place][run] = phase
    found = (_of_place(place, tuple(named[place]), found, load) for place, found in counted.items())
    return tuple(one for one in found if one.runs or one.missing)


def _of_place(place: Place, names: tuple[str, ...], phases: Mapping[str, Phase], load: Load) -> TimeSpent:
    looks = [look for run, phase in list(phases.items())[:MOST_READ] if (look := _look(run, phase, load)) is not None]
    seen = [look for look in looks if look.load is not None]
    bare = TimeSpent(phase=place[0], levels=dict(place[1]), measures=names, runs=len(seen), of=len(looks))
    if not seen:
        return replace(bare, missing=next((look.missing for look in looks if look.missing), ""))
    limit, alike = _most([look.limit for look in seen])
    certain = alike == len(looks) and all(look.limit is None or look.limit.is_certain for look in seen)
    return replace(
        bare,
        load=tuple(_parts([look.load for look in seen if look.load is not None])),
        server=tuple(_parts([look.server for look in seen if look.server is not None])),
        devices={
            name: fmean(look.devices.get(name, 0.0) for look in seen)
            for name in dict.fromkeys(name for look in seen for name in look.devices)
        },
        limit=limit,
        alike=alike,
        state=VerdictState.SOUND if certain and limit is not None else VerdictState.UNVERIFIED,
        server_missing=next((look.server_missing for look in seen if look.server_missing), ""),
    )


def _look(run: str, phase: Phase, load: Load) -> Look | None:
    """What was seen of a phase; None where its evidence cannot be read."""
    try:
        seen = load(run).on_all()
    except AssayError:
        return None
    return Look(
        load=time_ladder.of_phase(phase, seen, LOAD),
        server=time_ladder.of_phase(phase, seen, SERVER),
        devices=dict(time_ladder.busy(phase, seen)),
        limit=time_limit.of_phase(phase, seen),
        missing=time_ladder.why_unknown(phase, seen) or "",
        server_missing=_server_missing(phase, seen),
    )


def _server_missing(phase: Phase, seen: Observations) -> str:
    """Why nothing is known of a server that was to be looked at."""
    is_known = time_ladder.of_phase(phase, seen, SERVER) is not None
    return "" if is_known else time_ladder.why_unknown(phase, seen, SERVER) or ""


def _most(limits: Sequence[TimeLimit | None]) -> tuple[TimeLimit | None, int]:
    """The limit of most runs, the surest of them for its words with their mean share, and how many name it."""
    kinds = [None if one is None else (one.cause, one.at_server) for one in limits]
    kind, count = Counter(kinds).most_common(1)[0]
    alike = [one for one in limits if one is not None and (one.cause, one.at_server) == kind]
    if not alike:
        return None, count
    middle = sorted(alike, key=lambda one: one.share)[len(alike) // 2]
    shares = [one.share for one in alike]
    error = max(fmean(one.error for one in alike), _between(shares))
    return replace(middle, share=fmean(shares), error=error), count


def _parts(ladders: Sequence[TimeLadder]) -> Iterator[TimePart]:
    """Yield each part of the time with its mean share, largest first."""
    rows: dict[tuple[str, str], list[TimePart]] = defaultdict(list)
    for part in (part for ladder in ladders for part in ladder.parts):
        rows[part.process, part.state].append(part)
    n = len(ladders)
    found = []
    for (process, state), parts in rows.items():
        shares = [part.share for part in parts] + [0.0] * (n - len(parts))
        error = max(sum(part.error for part in parts) / n, _between(shares))
        threads, pieces = (sum(values) / n for values in ([one.threads for one in parts], [one.pieces for one in parts]))
        found.append(TimePart(process=process, state=state, share=fmean(shares), error=error, threads=threads, pieces=pieces))
    yield from sorted(found, key=lambda part: (-part.share, -part.threads))


def _between(values: Sequence[float]) -> float:
    """Half of the 95 % interval of a mean over runs; 0 where there are too few."""
    mean = arithmetic_mean(values)
    return 0.0 if mean.low is None else mean.value - mean.low
