"""`assay stat` with several runs: one command again and again, or several whose order changes from round to round."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from assay import measures
from assay.cli.stat import commands, described, exported, json_output, shown
from assay.cli.stat.execution import JudgedExecution, keep, once, status
from assay.cli.stat.options import Request
from assay.cli.stat.order import order_of, sentence
from assay.cli.stat.ratios import (
    Arm,
    CommandRatio,
    figures_of,
    ratio_line,
    ratios,
    unit_of,
    worst_of,
    worst_state,
)
from assay.laboratory.gate import BAD_VERDICT, UNMET, Gate
from assay.records import VerdictState
from assay.statistics.intervals import LEAST, Mean, geometric_mean
from assay.terminal.output import say
from assay.units import Unit
from assay.watch.as_run import ended


def repeated(request: Request) -> int:
    """Run and show each run in a line, then the estimate, the worst run, the intervals and the ratios.

    Return the status of the first command's last run; with a gate that of the worst run.
    """
    arms = tuple(Arm(command=command, runs=[]) for command in request.commands)
    made = tuple(rounds(request, arms))
    first, *others = arms
    found = ratios(arms, with_elapsed=request.gate is Gate.WORSE)
    say("\n".join(answer(arms, found)), sys.stderr)
    if request.json_to is not None:
        json_output.write(request.json_to, {**json_output.plain(first.runs[-1]), **plain(first, others, found)})
    if request.export is not None:
        exported.write(request.export, arms, found)
    if request.lab is not None:
        keep(request.lab, made)
    refused = BAD_VERDICT if request.gate is not Gate.OFF and any(ratio.unlike for ratio in found) else 0
    worse = UNMET if request.gate is Gate.WORSE and any(ratio.is_worse for ratio in found) else 0
    return status(first.runs[-1], request.gate) or status(worst_of(made), request.gate) or refused or worse


def rounds(request: Request, arms: Sequence[Arm]) -> Iterator[JudgedExecution]:
    """Run all commands in each round; the runs that count, in their order.

    Commands may be the same words: a command against itself shows what a difference of nothing looks like.
    """
    for number in range(-request.warmup, request.repeat):
        for at in commands.order(len(arms), number % (2 * len(arms))):
            arm = arms[at]
            execution = once(request, arm.command)
            name = arm.command.argv[0] if len(arms) == 1 else arm.command.label
            if number < 0:
                say(f"assay: warm-up {number + request.warmup + 1} of {request.warmup} ({name})", sys.stderr)
                continue
            say(f"{one_line(execution, number + 1, request.repeat)} ({name})", sys.stderr)
            arm.runs.append(execution)
            yield execution


def answer(arms: Sequence[Arm], found: Sequence[CommandRatio]) -> Iterator[str]:
    """The estimate of the first command, the ratios to it, its worst run, then the mean of each command."""
    first, *others = arms
    estimate, *details = headline(first.runs)
    every = [arm.command for arm in arms]
    names = dict(zip(every, commands.short_names(every), strict=True))
    known = order_of(arms) if others else None
    if known is None:
        yield estimate
    else:
        yield f"assay: {'' if known.state is None else f'{known.state}: '}{sentence(known, names)}"
    yield from (ratio_line(ratio, names, names[first.command]) for ratio in found)
    yield from details if known is None or first.runs[-1].state is not None else ()
    if others:
        yield shown.line("below", f"a run of {names[first.command]}, then the means of all")
    yield from shown.body(worst_of(first.runs))
    lines = [line for arm in arms for line in interval_lines(arm)]
    yield from lines[0 if others else in_headline(first.runs) :]
    yield from (line for arm in arms for line in failed_lines(arm))


def headline(runs: Sequence[JudgedExecution]) -> Iterator[str]:
    """The means with their intervals and verdicts, then what the worst run was."""
    states = Counter(one.state for one in runs)
    figures = list(figures_of(runs).items())[: in_headline(runs)]
    means = [f"{name.removesuffix('_ns')} {mean_of(values, unit_of(runs, name))}" for name, values in figures]
    first, *further = shown.verdict_lines(worst_of(runs))
    mixed = [f"run {number}: {text}" for number, text in kinds(runs)]
    state = worst_state(runs)
    counts = ", ".join(f"{states[one]} {one}" for one in VerdictState if states[one])
    word = "" if state is None else f"{state}: "
    yield f"assay: {word}{'; '.join(means)}{f' ({counts})' if len(states) > 1 else ''}"
    worst, said = state is not None and len(states) > 1, first.removeprefix("assay: ").removeprefix(word)
    if not mixed:
        yield shown.line("worst" if worst else "label", said)
    yield from (shown.line("label", text) for text in mixed)
    yield from further


def kinds(runs: Sequence[JudgedExecution]) -> Iterator[tuple[int, str]]:
    """The first run of each kind with what it was, where runs are not of one kind: a label of one is not that of their mean."""
    texts = [next(shown.verdict_lines(one)).removeprefix("assay: ") for one in runs]
    found: dict[str, tuple[int, str]] = {}
    for number, text in enumerate(texts, 1):
        found.setdefault(re.sub(r"[0-9][0-9.,]*( [kMGT]?B(/s)?| [mun]?s| %)?", "", text), (number, text))
    yield from found.values() if len(found) > 1 else ()


def in_headline(runs: Sequence[JudgedExecution]) -> int:
    """How many figures the first line has: all but the elapsed time, which is the last and may be the only one."""
    return max(1, len(figures_of(runs)) - 1)


def mean_of(values: Sequence[float], unit: str) -> str:
    """`675 MB/s (95 % CI 650 MB/s to 701 MB/s, geometric mean of 5 runs)`."""
    mean = geometric_mean(values)
    return f"{measures.with_unit(mean.value, unit)} (geometric mean of {mean.n}{edges(mean, unit)})"


def edges(mean: Mean, unit: str) -> str:
    """The 95 % interval in words."""
    if mean.low is None or mean.high is None:
        return f"; no confidence interval (needs {LEAST} runs)"
    return f", 95 % CI {measures.with_unit(mean.low, unit)} to {measures.with_unit(mean.high, unit)}"


def one_line(execution: JudgedExecution, number: int, whole: int) -> str:
    """One run in a line: each figure as the command reports it, then what is true of it instead."""
    elapsed = f"elapsed {measures.with_unit(execution.watched.elapsed_ns, Unit.NANOSECONDS)}"
    figures = [", ".join((described.figure(execution, one), *shown.corrected(execution, one))) for one in execution.verdicts] or [
        elapsed
    ]
    state = "" if execution.state is None else f" {execution.state}"
    end = ended(execution.watched)
    return f"assay: run {number} of {whole}: {'; '.join(figures)}{state}{f'; {end}' if end else ''}"


def interval_lines(arm: Arm) -> Iterator[str]:
    """The mean of each figure of a command with its interval."""
    for name, values in figures_of(arm.runs).items():
        figure = f"{name.removesuffix('_ns')} {mean_of(values, unit_of(arm.runs, name))}"
        yield shown.line("mean", f"{figure}: {arm.command.label[:40]}")


def failed_lines(arm: Arm) -> Iterator[str]:
    """How many runs of a command ended badly: the times of such runs are those of other work."""
    ends = [end for one in arm.runs if (end := ended(one.watched))]
    if ends:
        yield shown.line("failed", f"{len(ends)} of {len(arm.runs)} runs, the last: {ends[-1]}: {arm.command.label[:40]}")


def plain(first: Arm, others: Sequence[Arm], found: Sequence[CommandRatio]) -> dict[str, Any]:
    """What the repeats add to the JSON of the first command's last run."""
    repeats: dict[str, Any] = {"repeats": each(first.runs)}
    if not others:
        return repeats
    return repeats | {
        "name": first.command.label,
        "others": [{**json_output.plain(arm.runs[-1]), "name": arm.command.label, "repeats": each(arm.runs)} for arm in others],
        "comparison": [
            {
                "name": ratio.command.label,
                "measure": ratio.measure,
                "ratio": ratio.value,
                "low": ratio.low,
                "high": ratio.high,
                "typical": None if ratio.typical is None else dict(zip(("ratio", "low", "high"), ratio.typical, strict=True)),
                "pairs": ratio.pairs,
                "together": ratio.together,
                "conclusion": str(ratio.conclusion),
                "worse": ratio.is_worse,
                "verdict": None if ratio.state is None else str(ratio.state),
                "digits_share": ratio.digits_share,
                "unlike": ratio.unlike,
            }
            for ratio in found
        ],
    }


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
