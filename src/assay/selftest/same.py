"""`assay selftest --same N`: N comparisons of a directory with itself, really run; whatever is said to differ is a false alarm.

The two arms are one directory under two names. Each comparison is an experiment of its own with another order and other
data, goes the way of every experiment (plan, run, audit, compare), and has one measure, so that nothing else is tested
beside it. The kinds of load take turns.
The words are the answer, each false alarm, counts by kind and by rule; `plain` gives them as assay.selftest-same/1.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from assay.answer.marks import exclusion
from assay.answer.wording import comparison as sentence
from assay.errors import AssayError, UsageError
from assay.experiment import read
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.laboratory.session import clean_quietly
from assay.machine.engine_file import engine_path
from assay.plain import to_plain
from assay.records import Comparison, Conclusion, Experiment, Results, Severity, State, VerdictState
from assay.rulekit.contrasts import differs
from assay.selftest import Request
from assay.selftest.control import measured
from assay.selftest.counts import NamedControl, each_once, head, interval, of, percent
from assay.selftest.lies import INTERRUPTED, Show, gathered
from assay.statistics.intervals import Proportion, proportion
from assay.terminal.output import Row, deliver, table

VERB = "selftest-same"
PROMISED = 0.05
"""So many comparisons of equals at most may leave out 1 from their 95 % interval."""
HEADER = ("kind", "false alarms", "95 % interval", "without 1", "95 % interval", "equivalent", "undecided", "spread")
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
class SmallLoad:
    """A load of a fraction of a second, and the figure that is compared."""

    workload: str
    figure: str


KINDS = {
    "reads from memory": SmallLoad(
        workload='kind = "bulk_io"\noperations = ["random_read"]\nsize = "8 MiB"\nrecord_size = "4 KiB"\nops = 40000\n'
        'cache = "warm"',
        figure="random_read.ops_per_s",
    ),
    "files created": SmallLoad(
        workload='kind = "metadata"\ncount = 2000\noperations = ["create", "unlink"]', figure="create.ops_per_s"
    ),
    "writes flushed each": SmallLoad(
        workload='kind = "bulk_io"\noperations = ["random_write"]\nsize = "4 MiB"\nrecord_size = "4 KiB"\nops = 60\n'
        'overwrite = true\nflush = "each"',
        figure="random_write.ops_per_s",
    ),
    "reads past the cache": SmallLoad(
        workload='kind = "bulk_io"\noperations = ["random_read"]\nsize = "8 MiB"\nrecord_size = "4 KiB"\nops = 1000\n'
        "direct = true",
        figure="random_read.latency_p50_ns",
    ),
}
"""What passes processors, names, the journal and the device: different noise, and different memory of what was before."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One comparison of the same with itself."""

    kind: str
    number: int
    failed: str | None = None
    """Why it has no interval: then it is not counted."""
    comparison: Comparison | None = None
    experiment: Experiment | None = None
    state: VerdictState = VerdictState.UNVERIFIED
    rules: frozenset[str] = frozenset()
    """The rules of comparisons that hold something against it."""
    arms: tuple[Mapping[str, float], ...] = ()
    """Run (`0007/1`) -> figure of each of the two arms."""
    left_out: tuple[Mapping[str, str], ...] = ()
    """Run -> why it does not count, of each of the two arms."""


@dataclass(frozen=True, kw_only=True)
class SameResults:
    """All comparisons in their order."""

    compared: tuple[Compared, ...]
    blocks: int
    complete: bool = True
    """Whether it came to its end without an interrupt."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds in their order."""
        return tuple(dict.fromkeys(one.kind for one in self.compared))


def compare_same(request: Request, comparisons: int) -> int:
    """Run so many comparisons, print how often equals were said to differ; 0, with a gate 3, 130 after an interrupt.

    Raises UsageError where no number of comparisons is asked for, MissingError without an engine.
    """
    if comparisons < 1:
        raise UsageError(f"found --same {comparisons}; expected 1 or more")
    engine_path()
    clean_quietly(Local())
    numbers = range(1, comparisons + 1)
    found, complete = gathered(request.progress, comparisons, lambda show: (once(number, show) for number in numbers))
    results = SameResults(compared=found, blocks=BLOCKS, complete=complete)
    deliver(request.json_to, VERB, lambda: plain(results), lambda: text(results))
    return status(results, request.gate) if complete else INTERRUPTED


def status(results: SameResults, gate: Gate) -> int:
    """3 with a gate where more are said to differ than is promised, beyond chance; strict: also within it. Else 0."""
    shares = (mattering(results.compared), leaving_out_one(results.compared))
    if gate is Gate.OFF or not any(one.of for one in shares):
        return 0
    if gate is Gate.STRICT:
        return BAD_VERDICT if any(one.happened > PROMISED * one.of for one in shares) else 0
    return BAD_VERDICT if any((one.low or 0.0) > PROMISED for one in shares) else 0


def once(number: int, show: Show) -> Compared:
    """One comparison; its notebook and its directory are thrown away."""
    name = list(KINDS)[(number - 1) % len(KINDS)]
    show(NamedControl(name=name, rule="same"), number)
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
        left_out=tuple({run: exclusion(why) for run, why in cell.excluded.items()} for cell in results.cells),
    )


def counted(compared: Iterable[Compared]) -> list[Comparison]:
    """The comparisons that have an interval."""
    return [one.comparison for one in compared if one.failed is None and one.comparison is not None]


def mattering(compared: Iterable[Compared]) -> Proportion:
    """How many are said to differ and to matter."""
    found = counted(compared)
    return proportion(sum(one.conclusion is Conclusion.MATTERS for one in found), len(found))


def leaving_out_one(compared: Iterable[Compared]) -> Proportion:
    """How many have an interval that leaves out 1, whatever is concluded from it."""
    found = counted(compared)
    return proportion(sum(differs(one) for one in found), len(found))


def concluding(compared: Iterable[Compared], conclusion: Conclusion) -> int:
    """How many come to this conclusion."""
    return sum(one.conclusion is conclusion for one in counted(compared))


def spread(compared: Iterable[Compared]) -> float | None:
    """The median over all arms of the largest over the smallest figure, less 1: the noise floor; None where there is none."""
    arms = [list(arm.values()) for one in compared if one.failed is None for arm in one.arms]
    found = [max(values) / min(values) - 1 for values in arms if values and min(values) > 0]
    return median(found) if found else None


def of_kind(results: SameResults, kind: str) -> tuple[Compared, ...]:
    """The comparisons of one kind."""
    return tuple(one for one in results.compared if one.kind == kind)


def answer(results: SameResults) -> str:
    """`0 of 100 comparisons of the same with itself said to differ and to matter ...` in one sentence."""
    matter, without = mattering(results.compared), leaving_out_one(results.compared)
    end = [] if results.complete else ["interrupted; counts so far"]
    if not matter.of:
        return "; ".join(["no comparison finished", *end])
    counts = (
        f"false alarms: {matter.happened} of {matter.of} comparisons (95 % CI {interval(matter)});"
        f" intervals without 1: {without.happened} of {without.of} (95 % CI {interval(without)});"
        f" limit of both {percent(PROMISED)}: {limit_state(matter, without)}"
    )
    return "; ".join([counts, *end])


def limit_state(*shares: Proportion) -> str:
    """Return whether the limit is exceeded, as far as the count can show."""
    if any((one.low or 0.0) > PROMISED for one in shares):
        return "exceeded"
    return "not shown to be exceeded" if any((one.high or 1.0) > PROMISED for one in shares) else "met"


def text(results: SameResults) -> str:
    """For people."""
    rows = [*(kind_row(kind, of_kind(results, kind)) for kind in results.kinds), kind_row("sum", results.compared)]
    rows_text = table(HEADER, rows, range(1, len(HEADER)))
    return "\n\n".join(
        part for part in (answer(results), "\n".join(remarks(results)), rows_text, accused(results.compared)) if part
    )


def kind_row(name: str, compared: Sequence[Compared]) -> Row:
    """A line of one kind, or of all."""
    matter, without, noise = mattering(compared), leaving_out_one(compared), spread(compared)
    cells = (name, of(matter), interval(matter), of(without), interval(without))
    equal, open_ = (str(concluding(compared, one)) for one in (Conclusion.EQUIVALENT, Conclusion.UNDECIDED))
    failed = sum(one.failed is not None for one in compared)
    return Row(
        cells=(*cells, equal, open_, "-" if noise is None else f"+{noise:.0%}"),
        note=f"{failed} not compared" if failed else "",
    )


def remarks(results: SameResults) -> Iterator[str]:
    """Every comparison whose interval leaves out 1, then why some were not compared, each different reason once."""
    for one in results.compared:
        if one.failed is None and one.comparison is not None and one.experiment and differs(one.comparison):
            rules = f", {', '.join(sorted(one.rules))}" if one.rules else ""
            text = sentence.statement(one.experiment, one.comparison)
            yield f"{one.kind}, number {one.number}: {text} [{one.state.value}{rules}]"
    yield from each_once(f"{one.kind}: not compared: {one.failed}" for one in results.compared if one.failed)


def accused(compared: Iterable[Compared]) -> str:
    """What rules of comparisons held against these, most frequent first; empty where nothing."""
    compared = [one for one in compared if one.failed is None]
    found = Counter(rule for one in compared for rule in one.rules)
    rules = ", ".join(f"{rule} {times}" for rule, times in found.most_common())
    return f"failed rules in {len(compared)} comparisons: {rules}" if rules else ""


def plain(results: SameResults) -> dict[str, Any]:
    """The object of the schema; limits are null where nothing was compared."""
    return {
        **head(answer(results), complete=results.complete),
        "promised": PROMISED,
        "blocks": results.blocks,
        **counts(results.compared),
        "kinds": [{"kind": kind, **counts(of_kind(results, kind))} for kind in results.kinds],
        "rules": dict(Counter(rule for one in results.compared if one.failed is None for rule in one.rules)),
        "each": [each(one) for one in results.compared],
        "remarks": list(remarks(results)),
    }


def counts(compared: Sequence[Compared]) -> dict[str, Any]:
    """The counts of some comparisons as plain values."""
    matter, without = mattering(compared), leaving_out_one(compared)
    return {
        "compared": matter.of,
        "not_compared": len(compared) - matter.of,
        "matters": matter.happened,
        "matters_low": matter.low,
        "matters_high": matter.high,
        "without_one": without.happened,
        "without_one_low": without.low,
        "without_one_high": without.high,
        "equivalent": concluding(compared, Conclusion.EQUIVALENT),
        "undecided": concluding(compared, Conclusion.UNDECIDED),
        "spread": spread(compared),
    }


def each(one: Compared) -> dict[str, Any]:
    """One comparison as plain values, with the figures that it stands on."""
    ratio = one.comparison.ratio if one.comparison else None
    return {
        "kind": one.kind,
        "number": one.number,
        "failed": one.failed,
        "ratio": to_plain(ratio) if ratio else None,
        "p_value": one.comparison.p_value if one.comparison else None,
        "conclusion": one.comparison.conclusion.value if one.comparison else None,
        "state": one.state.value,
        "rules": sorted(one.rules),
        "arms": [dict(arm) for arm in one.arms],
        "left_out": [dict(arm) for arm in one.left_out],
    }
