"""`assay stat --repeat N` and `--vs OTHER`: a command several times, or two commands in pairs that change their order."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay import measures
from assay.cli.stat import described, json_output, shown
from assay.cli.stat.execution import JudgedExecution, keep, once, status
from assay.cli.stat.options import Request
from assay.records import Conclusion, Experiment, VerdictState, worst
from assay.statistics.contrast import four_way, interval, paired_ratio
from assay.statistics.intervals import LEAST, Mean, geometric_mean
from assay.terminal.output import say
from assay.units import Unit

ELAPSED = "elapsed_ns"
"""What two commands are compared by that have no figure in common."""


@dataclass(frozen=True, kw_only=True)
class CommandRatio:
    """The other command's figure over the first one's."""

    measure: str
    value: float
    low: float | None
    high: float | None
    pairs: int
    conclusion: Conclusion
    state: VerdictState | None
    """The worst verdict of the runs that it rests on; None where nothing is claimed of them."""
    digits_share: float = 0.0
    """What the last printed digits of both leave open, as a share."""

    @property
    def is_of_digits(self) -> bool:
        """Whether the difference is no more than that."""
        return abs(self.value - 1) <= self.digits_share * max(1.0, self.value)


def repeated(request: Request) -> int:
    """Run and show each run in a line, then the estimate, the worst run, the intervals and the ratios.

    Return the status of the last run.
    """
    runs: list[JudgedExecution] = []
    rivals: list[JudgedExecution] = []
    made: list[JudgedExecution] = []
    for number in range(request.repeat):
        for execution, mine in pair(request, number):
            made.append(execution)
            (runs if mine else rivals).append(execution)
            argv = execution.watched.argv
            name = argv[0] if request.other is None else " ".join(argv)
            say(f"{one_line(execution, number + 1, request.repeat)} ({name})", sys.stderr)
    shown_run = worst_of(runs)
    lines = [*headline(runs), *shown.body(shown_run)]
    lines += [line for which in (runs, rivals) for line in interval_lines(which)][0 if rivals else in_headline(runs) :]
    ratios = tuple(compared(runs, rivals)) if rivals else ()
    lines += [ratio_line(ratio) for ratio in ratios]
    say("\n".join(lines), sys.stderr)
    if request.json_to is not None:
        json_output.write(request.json_to, {**json_output.plain(runs[-1]), **plain(runs, rivals, ratios)})
    if request.lab is not None:
        keep(request.lab, made)
    return status(runs[-1], request.gate) or status(worst_of(made), request.gate)


def worst_of(runs: Sequence[JudgedExecution]) -> JudgedExecution:
    """The run with the worst verdict, of equals the last; the last one where nothing is claimed."""
    order = list(VerdictState)
    return min(reversed(runs), key=lambda one: len(order) if one.state is None else order.index(one.state))


def headline(runs: Sequence[JudgedExecution]) -> Iterator[str]:
    """The means with their intervals and verdicts, then what the worst run was."""
    states = Counter(one.state for one in runs)
    figures = list(figures_of(runs).items())[: in_headline(runs)]
    means = [f"{name.removesuffix('_ns')} {mean_of(values, unit_of(runs, name))}" for name, values in figures]
    first, *further = shown.verdict_lines(worst_of(runs))
    state = worst(one for one in states if one is not None) if None not in states else None
    counts = ", ".join(f"{states[one]} {one}" for one in VerdictState if states[one])
    word = "" if state is None else f"{state}: "
    yield f"assay: {word}{'; '.join(means)}{f' ({counts})' if len(states) > 1 else ''}"
    yield shown.line(
        "worst" if state is not None and len(states) > 1 else "label", first.removeprefix("assay: ").removeprefix(word)
    )
    yield from further


def in_headline(runs: Sequence[JudgedExecution]) -> int:
    """How many figures the first line has: all but the elapsed time, which is the last and may be the only one."""
    return max(1, len(figures_of(runs)) - 1)


def mean_of(values: Sequence[float], unit: str) -> str:
    """`675 MB/s (95 % CI 650 MB/s to 701 MB/s, geometric mean of 5 runs)`."""
    mean = geometric_mean(values)
    return f"{measures.with_unit(mean.value, unit)} (geometric mean of {mean.n}{edges(mean, unit)})"


def pair(request: Request, number: int) -> Iterator[tuple[JudgedExecution, bool]]:
    """One run, or one of each, with whether it is the first command's; who is first changes from pair to pair.

    Both may be the same words: a command against itself says what a difference of nothing looks like.
    """
    argvs = [(request.argv, True)] + ([] if request.other is None else [(request.other, False)])
    for argv, mine in argvs if number % 2 == 0 else reversed(argvs):
        yield once(request, argv), mine


def one_line(execution: JudgedExecution, number: int, whole: int) -> str:
    """One run in a line."""
    figures = [described.figure(execution, verdict) for verdict in execution.verdicts] or ["no figure"]
    state = "" if execution.state is None else f" {execution.state}"
    return f"assay: run {number} of {whole}: {'; '.join(figures)}{state}"


def figures_of(runs: Sequence[JudgedExecution]) -> dict[str, list[float]]:
    """The values of every figure that all runs have, drain charged where the claim asks for it; the elapsed time."""
    each = [
        {described.operation_of(verdict): verdict.value for verdict in execution.verdicts if verdict.value is not None}
        for execution in runs
    ]
    shared = [name for name in each[0] if all((found.get(name) or 0) > 0 for found in each)] if each else []
    return {
        **{name: [found[name] for found in each] for name in shared},
        ELAPSED: [float(execution.watched.elapsed_ns) for execution in runs],
    }


def unit_of(runs: Sequence[JudgedExecution], name: str) -> str:
    """The unit of a figure."""
    units = [verdict.unit for verdict in runs[-1].verdicts if described.operation_of(verdict) == name]
    return units[0] if units else Unit.NANOSECONDS


def interval_lines(runs: Sequence[JudgedExecution]) -> Iterator[str]:
    """The mean of each figure with its interval."""
    for name, values in figures_of(runs).items() if runs else ():
        figure = f"{name.removesuffix('_ns')} {mean_of(values, unit_of(runs, name))}"
        yield shown.line("mean", f"{figure}: {' '.join(runs[-1].watched.argv)[:40]}")


def edges(mean: Mean, unit: str) -> str:
    """The 95 % interval in words."""
    if mean.low is None or mean.high is None:
        return f"; no confidence interval (needs {LEAST} runs)"
    return f", 95 % CI {measures.with_unit(mean.low, unit)} to {measures.with_unit(mean.high, unit)}"


def compared(runs: Sequence[JudgedExecution], rivals: Sequence[JudgedExecution]) -> Iterator[CommandRatio]:
    """Yield the ratio of each shared figure; of the elapsed time where none is shared."""
    mine, theirs = figures_of(runs), figures_of(rivals)
    shared = [name for name in mine if name in theirs and name != ELAPSED] or [ELAPSED]
    state = worst_of((*runs, *rivals)).state
    for name in shared:
        contrast = paired_ratio(mine[name], theirs[name])
        value = math.exp(contrast.difference)
        low, high, conclusion = None, None, Conclusion.UNDECIDED
        if contrast.n >= LEAST:
            wide, narrow = interval(contrast, 0.95), interval(contrast, 0.90)
            low, high = math.exp(wide[0]), math.exp(wide[1])
            conclusion = four_way(wide, narrow, Experiment.matters_share)
        yield CommandRatio(
            measure=name,
            value=value,
            low=low,
            high=high,
            pairs=contrast.n,
            conclusion=conclusion,
            state=state,
            digits_share=digits_share(runs, name) + digits_share(rivals, name),
        )


def digits_share(runs: Sequence[JudgedExecution], name: str) -> float:
    """The most that the last printed digit of a figure leaves open in any run, as a share of the figure."""
    every = (
        (execution, verdict) for execution in runs for verdict in execution.verdicts if described.operation_of(verdict) == name
    )
    return max((described.digits_share(*one) for one in every), default=0.0)


def ratio_line(ratio: CommandRatio) -> str:
    """Return `write: ratio 1.31 (95 % CI 1.27 to 1.35, 5 pairs): different and matters ...`."""
    interval = "" if ratio.low is None else f"95 % CI {ratio.low:.3g} to {ratio.high:.3g}, "
    state = "" if ratio.state in (None, VerdictState.SOUND) else f"; runs are {ratio.state}"
    margin = measures.percent(Experiment.matters_share)
    what = ratio.measure.removesuffix("_ns")
    digits = f"; within the print precision of {measures.percent(ratio.digits_share)}" if ratio.is_of_digits else ""
    figures = f"{what}: ratio {ratio.value:.3g} ({interval}{ratio.pairs} pairs){digits}"
    return shown.line("vs", f"{figures}: {ratio.conclusion} (smallest relevant effect {margin}){state}")


def plain(runs: Sequence[JudgedExecution], rivals: Sequence[JudgedExecution], ratios: Sequence[CommandRatio]) -> dict[str, Any]:
    """What the repeats add to the JSON of the last run."""
    found: dict[str, Any] = {"repeats": each(runs)}
    if rivals:
        found |= {
            "other": {**json_output.plain(rivals[-1]), "repeats": each(rivals)},
            "comparison": [
                {
                    "measure": ratio.measure,
                    "ratio": ratio.value,
                    "low": ratio.low,
                    "high": ratio.high,
                    "pairs": ratio.pairs,
                    "conclusion": str(ratio.conclusion),
                    "verdict": None if ratio.state is None else str(ratio.state),
                    "digits_share": ratio.digits_share,
                }
                for ratio in ratios
            ],
        }
    return found


def each(runs: Sequence[JudgedExecution]) -> dict[str, Any]:
    """The values of every run with their mean, and its interval where there is one."""
    return {
        "n": len(runs),
        "verdicts": [None if execution.state is None else str(execution.state) for execution in runs],
        "measures": {
            name: {"values": values, "mean": (mean := geometric_mean(values)).value, "low": mean.low, "high": mean.high}
            for name, values in figures_of(runs).items()
        },
    }
