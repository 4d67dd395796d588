"""`assay selftest --same N`: N comparisons of a directory with itself, really run; whatever is said to differ is a false alarm.

The two arms are one directory under two names. Each comparison is an experiment of its own with another order and other
data, goes the way of every experiment (plan, run, audit, compare), and has one measure, so that nothing else is looked at
beside it. The kinds of load take turns.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from assay.answer.marks import exclusion
from assay.errors import AssayError, UsageError
from assay.experiment import read
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.laboratory.session import clean_quietly, engine_path
from assay.records import Results, Severity, State
from assay.selftest import lies as audit
from assay.selftest import same_report as shown
from assay.selftest.control import measured
from assay.selftest.counts import Subject
from assay.selftest.same_report import Compared, SameResults
from assay.terminal.output import deliver
from assay.terminal.progress import ProgressMode

BLOCKS = 5
EXPERIMENT = """
title = "The same twice: {kind}"
question = "Do two names of one directory differ?"
compare = "target"
repeats = {blocks}
matters = "5 %"
seed = {seed}

[targets.a]
kind = "directory"
path = {path}

[targets.b]
kind = "directory"
path = {path}

[workloads.w]
{workload}

[measures]
"w.{figure}" = {{}}
"""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A load of a fraction of a second, and the figure that is compared."""

    workload: str
    figure: str


KINDS = {
    "reads from memory": Kind(
        workload='kind = "bulk_io"\noperations = ["random_read"]\nsize = "8 MiB"\nrecord_size = "4 KiB"\nops = 40000\n'
        'cache = "warm"',
        figure="random_read.ops_per_s",
    ),
    "files created": Kind(
        workload='kind = "metadata"\ncount = 2000\noperations = ["create", "unlink"]', figure="create.ops_per_s"
    ),
    "writes flushed each": Kind(
        workload='kind = "bulk_io"\noperations = ["random_write"]\nsize = "4 MiB"\nrecord_size = "4 KiB"\nops = 60\n'
        'overwrite = true\nflush = "each"',
        figure="random_write.ops_per_s",
    ),
    "reads past the cache": Kind(
        workload='kind = "bulk_io"\noperations = ["random_read"]\nsize = "8 MiB"\nrecord_size = "4 KiB"\nops = 1000\n'
        "direct = true",
        figure="random_read.latency_p50_ns",
    ),
}
"""What passes processors, names, the journal and the device: different noise, and different memory of what was before."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words of one call."""

    comparisons: int
    json_to: str | None = None
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO


@dataclass
class Found:
    """What came of the comparisons so far."""

    compared: list[Compared] = field(default_factory=list)
    complete: bool = False


def compare_same(request: Request) -> int:
    """Run so many comparisons, print how often equals were said to differ; with a gate 3 where that is too often, 130 after
    an interrupt.

    Raises UsageError where no number of comparisons is asked for, MissingError without an engine.
    """
    if request.comparisons < 1:
        raise UsageError(f"found --same {request.comparisons}; expected 1 or more")
    engine_path()
    clean_quietly(Local())
    found = conduct(request)
    found_results = SameResults(compared=tuple(found.compared), blocks=BLOCKS, complete=found.complete)
    deliver(request.json_to, shown.VERB, lambda: shown.plain(found_results), lambda: shown.text(found_results))
    if not found.complete:
        return audit.INTERRUPTED
    return status(found_results, request.gate)


def status(found_results: SameResults, gate: Gate) -> int:
    """3 with a gate where more are said to differ than is promised, beyond chance; strict: also within it. Else 0."""
    shares = (shown.mattering(found_results.compared), shown.leaving_out_one(found_results.compared))
    if gate is Gate.OFF or not any(one.of for one in shares):
        return 0
    if gate is Gate.STRICT:
        return BAD_VERDICT if any(one.happened > shown.PROMISED * one.of for one in shares) else 0
    return BAD_VERDICT if any((one.low or 0.0) > shown.PROMISED for one in shares) else 0


def conduct(request: Request) -> Found:
    """One comparison after the other, kinds in turn, until there are so many or an interrupt."""
    found = Found()
    try:
        with audit.progressing(request.progress, request.comparisons) as tell:
            for number in range(1, request.comparisons + 1):
                found.compared.append(once(number, tell))
    except KeyboardInterrupt:
        return found
    found.complete = True
    return found


def once(number: int, tell: Callable[[Subject, int], None]) -> Compared:
    """One comparison; its notebook and its directory are thrown away."""
    name = list(KINDS)[(number - 1) % len(KINDS)]
    tell(Subject(name=name, rule="same"), number)
    with tempfile.TemporaryDirectory(prefix="assay-selftest-") as folder:
        text = experiment_text(name, number, Path(folder))
        try:
            results = measured(read.parse(text, "same"), text, Path(folder) / "lab")
        except AssayError as error:
            return Compared(kind=name, number=number, failed=f"could not be run: {error}")
        return of_results(name, number, results)


def experiment_text(name: str, seed: int, folder: Path) -> str:
    """The experiment file of one kind; its seed draws order and data."""
    kind = KINDS[name]
    return EXPERIMENT.format(
        kind=name, blocks=BLOCKS, seed=seed, path=json.dumps(str(folder)), workload=kind.workload, figure=kind.figure
    )


def of_results(name: str, number: int, results: Results) -> Compared:
    """What the one comparison came to."""
    (comparison,) = results.comparisons
    (verdict,) = results.comparison_verdicts.values()
    failed = [one for one in verdict.findings if one.state is State.FAIL and one.severity is not Severity.NOTES]
    left_out = "; ".join(dict.fromkeys(map(exclusion, comparison.excluded.values())))
    return Compared(
        kind=name,
        number=number,
        failed=None if comparison.ratio and comparison.ratio.low is not None else left_out or "no interval",
        comparison=comparison,
        experiment=results.experiment,
        state=verdict.state,
        rules=frozenset(one.rule for one in failed),
        arms=tuple(cell.values for cell in results.cells),
    )
