"""Numbers in the output of a command of `[observe.NAME]`: which series they become, and the series.

Pure functions: the command is run elsewhere. A counter is kept from 0 at its first sample, as the counters of all observers
are; that it is one stands in the source of its series.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, Points, counter, gauge
from assay.records import ABSOLUTE, ObserveKind, ObserveSpec, Series, Snapshot
from assay.units import Unit

LAYER = "observe"
LIMIT = "limit"
"""The group whose number the others are held against: each of them has a share, too."""
SHARE = "_share"
OUTPUT, REASON = "output", "reason"
"""What a look at a command holds: what it printed, or why it printed nothing."""
SHOWN = 60
"""Characters of an output that a reason shows."""
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern; `^` and `$` are the ends of a line. Raises re.error."""
    return re.compile(pattern, re.MULTILINE)


def groups(spec: ObserveSpec) -> Mapping[str, int]:
    """Metric -> the group of the pattern that has its number: NAME alone, or NAME.GROUP for groups with names."""
    named = compiled(spec.pattern).groupindex
    return {f"{spec.name}.{group}": index for group, index in named.items()} or {spec.name: 1}


def shares(spec: ObserveSpec) -> Mapping[str, str]:
    """Metric of a share -> the metric that is held against the limit; none without a group `limit`."""
    limit = f"{spec.name}.{LIMIT}"
    found = groups(spec)
    return {f"{metric}{SHARE}": metric for metric in found if metric != limit} if limit in found else {}


def metrics(spec: ObserveSpec) -> Mapping[str, str]:
    """Metric -> the unit of its series."""
    return {**dict.fromkeys(groups(spec), spec.unit), **dict.fromkeys(shares(spec), Unit.SHARE)}


def source(spec: ObserveSpec) -> str:
    """The source of its series."""
    return f"{LAYER}.{spec.name}:{spec.kind}"


def counts(series: Series) -> bool:
    """Whether a series of a command is to be read by its rise."""
    return series.source.endswith(f":{ObserveKind.COUNTER}")


def parsed(spec: ObserveSpec, host: str, phase: str, snapshots: Sequence[Snapshot]) -> Evidence:
    """The series of one phase. What no look gave is missing, with the reason of the first look that failed."""
    origin = Origin(host=host, phase=phase, source=source(spec), layer=LAYER)
    every = {metric: [_number(spec, snapshot, index) for snapshot in snapshots] for metric, index in groups(spec).items()}
    for share, metric in shares(spec).items():
        every[share] = [_ratio(*pair) for pair in zip(every[metric], every[f"{spec.name}.{LIMIT}"], strict=True)]
    series: list[Series] = []
    missing: dict[str, str] = {}
    for metric, found in every.items():
        points = [(snapshot.at_ns, value) for snapshot, value in zip(snapshots, found, strict=True) if not isinstance(value, str)]
        try:
            series.append(_series(spec, origin, metric, points))
        except EvidenceError as error:
            reasons = (value for value in found if isinstance(value, str))
            missing[f"{LAYER}.{metric}"] = str(error) if points else next(reasons, str(error))
    return Evidence(series=tuple(series), missing=missing)


def _series(spec: ObserveSpec, origin: Origin, metric: str, points: Points) -> Series:
    """One series. Raises EvidenceError where there are too few samples, or where a counter falls."""
    unit = metrics(spec)[metric]
    if spec.kind is ObserveKind.GAUGE and points:
        return gauge(origin, ABSOLUTE, metric, unit, points)
    if len(points) < 2:
        raise EvidenceError(f"{len(points)} samples by {spec.argv[0]}")
    return counter(origin, ABSOLUTE, metric, unit, points)


def _number(spec: ObserveSpec, snapshot: Snapshot, group: int) -> float | str:
    """The number of a group in base units, or why there is none."""
    output = snapshot.raw.get(OUTPUT)
    if not isinstance(output, str):
        return f"{spec.argv[0]}: {snapshot.raw.get(REASON) or 'not run'}"
    match = compiled(spec.pattern).search(output)
    text = match[group] if match else None
    if text is None:
        return f"{spec.argv[0]}: no match of {spec.pattern!r} in {output[:SHOWN]!r}"
    if not _NUMBER.fullmatch(text.strip()):
        return f"{spec.argv[0]}: found {text[:SHOWN]!r} by {spec.pattern!r}; expected a number"
    return float(text.replace(",", "")) * spec.scale


def _ratio(number: float | str, limit: float | str) -> float | str:
    """A number as a share of its limit, or why there is none."""
    for one in (number, limit):
        if isinstance(one, str):
            return one
    assert isinstance(number, float)
    assert isinstance(limit, float)
    return number / limit if limit > 0 else "a limit of 0"
