"""Finds mixes of reads and writes that differ from the requested mix.

The rule compares completed reads over reads and writes with the requested share.
That share is the knob `read_share`, the recorded profile, `expected_read_share` of an external command, or fio's arguments of a
single job (`rw`, `rwmixread`).
More than `off_share` apart qualifies, unless chance explains it (`deviations` standard deviations of so many operations).
The label names the mix that was done. Request sizes are not judged, since layers below merge and split them. C04 compares the
mixes of two arms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Direction, Finding, Scope, Severity, State
from assay.rulekit.applicability import workload_kind
from assay.rulekit.findings import found, knob

BOTH = frozenset({Direction.READ, Direction.WRITE})
MIXED = re.compile(r"(?:^|\s)--?(?:rw|readwrite)[=\s](randrw|readwrite|rw)(?=\s|$)")
ANY_PATTERN = re.compile(r"(?:^|\s)--?(?:rw|readwrite)[=\s]")
SHARE = re.compile(r"(?:^|\s)--?rwmix(read|write)[=\s](\d{1,3})(?=\s|$)")
FIO_DEFAULT = 0.5
"""fio's HOWTO: rwmixread is 50 where it is not given."""


def applies(case: TrialCase) -> str | None:
    """Phases of reads and writes together of which a share was asked for."""
    if not set(case.phase.directions.values()) >= BOTH:
        return "not a mix of reads and writes"
    return None if requested(case) else "no requested share of reads"


def check(case: TrialCase) -> Finding:
    """The share of reads among reads and writes against the one that was asked for."""
    request, counts = requested(case), counted(case)
    total = sum(counts.values())
    if request is None or not total:
        return found(RULE, case, State.UNVERIFIED, "Counts of reads and writes unknown.")
    wanted, knob_name = request
    share = counts[Direction.READ] / total
    chance = case.thresholds["deviations"] * math.sqrt(wanted * (1 - wanted) / total)
    observed = {"read_share": share, "asked_share": wanted, "operations": total, "by_chance": chance}
    done, goal = measures.percent(share), measures.percent(wanted)
    mix = f"{done} of {total:,.0f} operations were reads (requested {goal}, {knob_name})"
    if abs(share - wanted) <= case.thresholds["off_share"]:
        return found(RULE, case, State.PASS, f"{mix}.", observed=observed)
    if abs(share - wanted) <= chance:
        return found(RULE, case, State.PASS, f"{mix}: within chance.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{mix}. The figure describes another mix.",
        observed=observed,
        relabel="another mix of reads and writes than requested",
        detail=f"{done} reads instead of {goal}",
        evidence=("L0: completed reads and writes",),
    )


def counted(case: TrialCase) -> Mapping[Direction, float]:
    """Operations by direction, by an external tool's report if there is one; empty without both directions."""
    sums = dict.fromkeys(BOTH, 0.0)
    for name, way in case.phase.directions.items():
        if way not in BOTH:
            continue
        if case.phase.values:
            count = case.phase.values.get(f"{name}.count")
            if count is None and any(key.startswith(f"{name}.") for key in case.phase.values):
                return {}
            sums[way] += count or 0.0
        else:
            sums[way] += sum(total.count for _, total in measures.client_operations(case.phase, name))
    return sums


def requested(case: TrialCase) -> tuple[float, str] | None:
    """The requested share of reads and the knob that sets it; None without one."""
    declared = knob(case, "expected_read_share")
    own = declared if isinstance(declared, int | float) else of_own_engine(case)
    if own is not None:
        return float(own), "expected_read_share" if declared is not None else "read_share"
    argv = knob(case, "argv")
    share = of_fio([str(word) for word in argv]) if isinstance(argv, tuple) else None
    return None if share is None else (share, "rwmixread of fio")


def of_own_engine(case: TrialCase) -> float | None:
    """Of a random mix its knob, of a profile what the trial kept of its content; None for any other phase."""
    share = knob(case, "read_share")
    if isinstance(share, int | float):
        return float(share)
    kept = case.observations.fact(f"profile.{case.measure.workload}")
    return of_profile(kept) if kept and workload_kind(case) == "profile" else None


def of_profile(kept: str) -> float | None:
    """The share of reads in `sha256 DIGEST: {JSON}`; None where it is no such text."""
    import json  # only a profile needs it

    try:
        return float(json.loads(kept.partition(": ")[2])["read_share"])
    except (ValueError, KeyError, TypeError):
        return None


def of_fio(argv: Sequence[str]) -> float | None:
    """The share of reads that the arguments of fio ask for; None where they do not, or of more than one job."""
    line = " ".join(argv)
    if not any(word.rpartition("/")[2] == "fio" for word in line.split()) or len(ANY_PATTERN.findall(line)) != 1:
        return None
    shares = SHARE.findall(line)
    if not MIXED.search(line) or len(shares) > 1:
        return None
    if not shares:
        return FIO_DEFAULT
    side, percent = shares[0]
    return int(percent) / 100 if side == "read" else 1 - int(percent) / 100


RULE = Rule(
    id="G08",
    name="mix-not-attained",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="Reads among 30 % of writes differ from reads among 50 %: writes fill queues and caches, and flash reads wait for "
    "them. If one side fails, or a rate limit slows it, the generator continues with the other. Example: fio with 90 % of "
    "reads and both sides limited to the same rate did 50 %, without a warning.",
    alternatives=(
        "Operations of one side failed. G04 gives their number.",
        "A rate limit of one side (rate_iops, flow) slows it, and the generator fills the gap with the other side.",
        "Requests were merged or split below the generator, which is legal: only the generator's counts matter.",
    ),
    advice="Remove the limit of the slower side, or report the mix that was done. Compare two systems only at the same mix.",
    sources=(
        "TPC benchmarks: the mix of transactions is held within stated percentages",
        "fio, HOWTO: rwmixread, and that rate limits may distort the distribution",
    ),
)
