"""Tables of an experiment on the terminal: verdict first, values with units, aligned, without a library."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from assay import measures
from assay.answer import doubts, prices, trust
from assay.answer.scales import show_truth
from assay.answer.wording import comparison as sentence
from assay.answer.wording import effects
from assay.answer.wording.labels import instead, of_several
from assay.answer.wording.summary import reason
from assay.measures.text import level, word
from assay.records import (
    Cell,
    Comparison,
    Estimate,
    Experiment,
    FactorEffect,
    Finding,
    Judged,
    RequirementState,
    Results,
    Severity,
    State,
    Value,
    Verdict,
    VerdictState,
    worst,
)
from assay.terminal.output import Row, say, table
from assay.units import Unit

MOST_REASONS = 8
"""So many different failures are explained below a table; `assay show` has all."""


def failures(runs: Sequence[Judged]) -> str:
    """What was not measured and why, each different reason once with the runs that it ended."""
    found: dict[str, list[str]] = {}
    for judged in doubts.never_finished(runs):
        found.setdefault(f"{judged.run.outcome.value}: {judged.run.error or 'no reason recorded'}", []).append(judged.id)
    return "\n".join(
        f"{', '.join(names[:MOST_REASONS])}{' and more' if len(names) > MOST_REASONS else ''} {reason}"
        for reason, names in found.items()
    )


def verdict_counts(runs: Iterable[Judged]) -> Mapping[str, int]:
    """State -> number of verdicts, worst first."""
    states = [verdict.state for judged in runs for verdict in judged.verdicts.values()]
    return {state.value: states.count(state) for state in VerdictState if state in states}


def counted(counts: Mapping[str, int]) -> str:
    """`2 TAINTED, 10 SOUND`."""
    return ", ".join(f"{number} {name}" for name, number in counts.items())


def comparison_table(results: Results) -> str:
    """The comparisons with interval and conclusion; empty where nothing was compared."""
    rows = [comparison_row(results, one) for one in results.comparisons]
    header = ("verdict", "comparison", "of", "at", "ratio", "95 % interval", "conclusion")
    return "\n".join(filter(None, (table(header, rows, (4, 5)), tested(results.comparisons)))) if rows else ""


def comparison_row(results: Results, one: Comparison) -> Row:
    """One comparison, with why it is not SOUND in a few words each; `-` where it was not judged."""
    experiment, verdict = results.experiment, results.comparison_verdicts.get(one.id)
    causes = map(reason, doubts.why(results, one, verdict))
    return Row(
        cells=(
            verdict.state.value if verdict else "-",
            one.measure,
            f"{one.factor}={word(experiment, one.factor, one.candidate)} / {word(experiment, one.factor, one.baseline)}",
            levels_text(experiment, one.within),
            *ratio_text(one.ratio),
            one.conclusion.value,
        ),
        note="; ".join(part for part in (sentence.note(one), sentence.efficiency(one), *causes) if part),
    )


def tested(comparisons: Sequence[Comparison]) -> str:
    """How many comparisons were tested, of the measures that decide and of others, where it is more than one; empty else."""
    deciding = next((one for one in comparisons if not one.secondary), None)
    others = next((one for one in comparisons if one.secondary), None)
    texts = []
    if deciding is not None and (deciding.tested or 0) > 1:
        texts = [f"{deciding.tested} comparisons tested; p-values are {deciding.adjusted_by.value}-adjusted."]
    if others is not None and (others.tested or 0) > 1:
        texts += [f"{others.tested} comparisons of secondary measures; p-values are {others.adjusted_by.value}-adjusted."]
    return " ".join(texts)


def ratio_text(ratio: Estimate | None) -> tuple[str, str]:
    """A ratio and its interval."""
    if ratio is None:
        return "-", "n = 0"
    value, low, high = measures.digits(ratio)
    known = (f"{low} to {high}" if low else f"n = {ratio.n}", show_truth(ratio))
    return value, "; ".join(part for part in known if part)


def requirement_table(results: Results) -> str:
    """The requirements; empty where there are none."""
    order = list(RequirementState)
    rows = [
        Row(
            cells=(
                *(one.verdict.value, one.state.value, one.measure, one.text, levels_text(results.experiment, one.levels)),
                *required_estimate(one.estimate),
            )
        )
        for one in sorted(results.requirements, key=lambda one: order.index(one.state), reverse=True)
    ]
    header = ("verdict", "state", "measure", "requirement", "at", "found", "95 % interval or n")
    return table(header, rows, (5,)) if rows else ""


def required_estimate(estimate: Estimate | None) -> tuple[str, str]:
    """What a requirement was held against: a figure with its unit, or a ratio to the baseline; each with its interval."""
    if estimate is None:
        return "-", "n = 0"
    if estimate.unit in list(Unit):
        return measures.with_unit(estimate.value, estimate.unit), estimate_text(estimate)
    value, interval = ratio_text(estimate)
    return f"{value} times", interval if estimate.low is None else f"{interval}, n = {estimate.n}"


def dip_lines(results: Results) -> str:
    """The dips, a line each; empty where there are none."""
    return "\n".join(
        f"DIP {sentence.dip(results.experiment, one)} (Holm-adjusted p = {one.adjusted_p_value:.2g})" for one in results.dips
    )


def cell_table(results: Results, without: Collection[str] = ()) -> str:
    """Every measure at every combination of levels, but those that have a grid."""
    by_id = {judged.id: judged for judged in results.runs}
    rows = [cell_row(results, cell, by_id) for cell in results.cells if cell.measure not in without]
    return table(("verdict", "measure", "at", "value", "95 % interval or n", "tier"), rows, (3,)) if rows else ""


def cell_row(results: Results, cell: Cell, runs: Mapping[str, Judged]) -> Row:
    """One cell with the worst verdict of its runs, or of the rules on the whole experiment."""
    verdicts = verdicts_of(cell, runs)
    state, label = trust.own_state(results, cell), of_several(trust.worst_of(verdicts), runs=len(verdicts))
    return Row(
        cells=(
            worst((state, doubts.of_figure(results, cell.measure))).value,
            cell.measure,
            levels_text(results.experiment, cell.levels),
            value_text(cell),
            estimate_text(cell.estimate),
            doubts.tier(verdicts),
        ),
        note="; ".join(
            part
            for part in (
                prices.words(prices.of_cell(results.experiment, cell)),
                label,
                sentence.left_out(cell),
                "" if cell.estimate else instead(verdicts),
            )
            if part
        ),
    )


def verdicts_of(cell: Cell, runs: Mapping[str, Judged]) -> list[Verdict]:
    """The verdicts of the runs that a cell stands on; of those excluded where none counts."""
    names = list(cell.values) or list(cell.excluded)
    return [verdict for run in names if run in runs and (verdict := runs[run].verdicts.get(cell.measure))]


def value_text(cell: Cell) -> str:
    """The mean of the runs that count; where none does, that of those found INVALID in brackets."""
    if cell.estimate:
        return measures.with_unit(cell.estimate.value, cell.estimate.unit)
    return f"({measures.with_unit(cell.unfiltered.value, cell.unfiltered.unit)})" if cell.unfiltered else "-"


def estimate_text(estimate: Estimate | None) -> str:
    """`12.1 ms to 12.9 ms, n = 5; true value 11.0 ms to 12.9 ms`, n alone where it is too small for an interval."""
    if estimate is None:
        return "n = 0"
    truth = f"; {show_truth(estimate)}" if estimate.range is not None else ""
    if estimate.low is None or estimate.high is None:
        return f"n = {estimate.n}{truth}"
    low, high = (measures.with_unit(edge, estimate.unit) for edge in (estimate.low, estimate.high))
    return f"{low} to {high}, n = {estimate.n}{truth}"


def reasons(verdicts: Iterable[Verdict], of_experiment: Iterable[Finding] = ()) -> str:
    """What failed, each different statement once with its advice: of the experiment first, then the most frequent."""
    of_experiment, found = tuple(of_experiment), dict[str, list[Finding]]()
    whole = {finding.rule for finding in of_experiment}
    for finding in chain(of_experiment, *(verdict.findings for verdict in verdicts)):
        if finding.state is State.FAIL and finding.severity is not Severity.NOTES:
            found.setdefault(finding.rule, []).append(finding)
    lines = []
    for rule, findings in sorted(found.items(), key=lambda item: (item[0] not in whole, -len(item[1])))[:MOST_REASONS]:
        first = findings[0]
        times = f" ({len(findings)} times)" if len(findings) > 1 else ""
        lines.append(f"{rule} {first.name}{times}: {first.statement}")
        if first.advice:
            lines.append(f"    {first.advice}")
    return "\n".join(lines)


def warn_of_damage(folder: Path, damaged: Mapping[str, str]) -> None:
    """Name on standard error what could not be read, for a verb whose output has no place for it."""
    for place, why in damaged.items():
        say(f"assay: {folder.name}/{place}: {why}", sys.stderr)


def damage(damaged: Mapping[str, str]) -> str:
    """What could not be read."""
    return "\n".join(f"DAMAGED {folder}: {why}" for folder, why in damaged.items())


def levels_text(experiment: Experiment, levels: Mapping[str, Value]) -> str:
    """`target=ext4 clients=2`."""
    return " ".join(f"{name}={word(experiment, name, level)}" for name, level in levels.items())


def effect_answers(results: Results) -> str:
    """A sentence a measure, with the verdict of what it stands on; empty where the experiment has no design."""
    return "\n".join(f"{one.verdict.value} {effects.statement(results.experiment, one)}" for one in results.sensitivity)


def effect_tables(results: Results) -> str:
    """What each factor does, a table for each measure, and how many effects were tested; empty where there are none."""
    header = ("effect of", "level", "ratio", "95 % interval", "conclusion")
    rows = ((one.measure, [effect_row(results.experiment, each) for each in one.effects]) for one in results.sensitivity)
    found = [f"{measure}\n{table(header, lines, (2, 3))}" for measure, lines in rows]
    tested = [f"{one.tested} effects tested; p-values are Holm-adjusted." for one in results.sensitivity[:1]]
    return "\n\n".join([*found, *tested])


def effect_row(experiment: Experiment, one: FactorEffect) -> Row:
    """One line: the factor or the two, their levels against the baselines, the ratio, and what the design mixes it with."""
    steps = [(step.factor, (step.level, step.baseline)) for step in one.steps]
    mixed = ", ".join(" with ".join(step.factor for step in steps) for steps in one.mixed_with)
    return Row(
        cells=(
            " with ".join(factor for factor, _ in steps),
            ", ".join(" / ".join(level(experiment, factor, each) for each in pair) for factor, pair in steps),
            *ratio_text(one.ratio),
            one.conclusion.value,
        ),
        note=f"aliased with {mixed}" if mixed else "",
    )


def titled(title: str, head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of texts below its title."""
    return f"{title}\n{table(head, [Row(cells=row) for row in rows])}"


def figure_text(value: float | None, unit: str) -> str:
    """A figure with its unit; `-` where there is none."""
    return "-" if value is None else measures.with_unit(value, unit)
