"""What Prometheus reads (text format 0.0.4): answers and runs of every experiment, the running trial, what serving costs.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata

from assay.measures.text import level, levels
from assay.records import Estimate, Results
from assay.serve.live import Feed
from assay.serve.shelf import Listed
from assay.units import Unit

Sample = tuple[str, Mapping[str, object], float]
"""Name of the metric, labels, value."""
FAMILIES: Mapping[str, tuple[str, str]] = {
    "assay_experiment_running": ("gauge", "Whether an experiment is written now."),
    "assay_experiment_trials": ("gauge", "Trials of the schedule."),
    "assay_experiment_runs": ("gauge", "Runs in the notebook by outcome."),
    "assay_experiment_verdicts": ("gauge", "Verdicts on measures of runs by state."),
    "assay_figure": ("gauge", "A figure over the runs that count, with its verdict; times in seconds."),
    "assay_figure_low": ("gauge", "Lower end of its 95 % interval."),
    "assay_figure_high": ("gauge", "Upper end of its 95 % interval."),
    "assay_ratio": ("gauge", "A level over the one that it is compared with, with conclusion and verdict."),
    "assay_ratio_low": ("gauge", "Lower end of its 95 % interval."),
    "assay_ratio_high": ("gauge", "Upper end of its 95 % interval."),
    "assay_requirement": ("gauge", "A requirement and its state, always 1."),
    "assay_trial_stage": ("gauge", "The stage of the running trial, always 1."),
    "assay_operations_total": ("counter", "Operations of the phase so far."),
    "assay_operation_bytes_total": ("counter", "Bytes of the operations of the phase so far."),
    "assay_device_bytes_total": ("counter", "Bytes that passed a device of the target since boot."),
    "assay_waiting_bytes": ("gauge", "Bytes of this machine that wait in memory to be written."),
    "process_cpu_seconds_total": ("counter", "CPU time of assay serve, without its queries and reports."),
    "assay_info": ("gauge", "The version of assay serve, always 1."),
}


def text(experiments: Sequence[tuple[Listed, Feed, Results | None]]) -> str:
    """Return all metrics, each family together."""
    samples = [
        one
        for listed, feed, answers in experiments
        for one in (*of_experiment(listed), *(of_answers(listed.name, answers) if answers else ()), *of_trial(listed, feed))
    ]
    samples.append(("process_cpu_seconds_total", {}, time.process_time()))
    samples.append(("assay_info", {"version": metadata.version("assay-lab")}, 1.0))
    return "".join(f"{line}\n" for line in lines(samples))


def lines(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the lines of the text format."""
    for family, (kind, words) in FAMILIES.items():
        mine = [(labels, value) for name, labels, value in samples if name == family]
        if not mine:
            continue
        yield f"# HELP {family} {words}"
        yield f"# TYPE {family} {kind}"
        for labels, value in mine:
            inside = ",".join(f'{key}="{escaped(str(one))}"' for key, one in labels.items())
            yield f"{family}{{{inside}}} {value:.17g}" if inside else f"{family} {value:.17g}"


def of_experiment(listed: Listed) -> Iterator[Sample]:
    """Yield what the index knows."""
    own = {"experiment": listed.name}
    yield "assay_experiment_running", own, float(listed.is_running)
    yield "assay_experiment_trials", own, listed.trials
    for outcome, count in Counter(one.outcome for one in listed.runs).items():
        yield "assay_experiment_runs", {**own, "outcome": outcome}, count
    for state, count in listed.states:
        yield "assay_experiment_verdicts", {**own, "state": state.value}, count


def of_answers(name: str, results: Results) -> Iterator[Sample]:
    """Yield the stored figures, ratios and requirements of an experiment."""
    spec = results.experiment
    for cell in results.cells:
        if cell.estimate is not None:
            state = cell.verdict.value if cell.verdict else ""
            own = {"experiment": name, "measure": cell.measure, "levels": levels(spec, cell.levels)}
            yield from of_estimate("assay_figure", {**own, "verdict": state}, cell.estimate)
    for one in results.comparisons:
        if one.ratio is not None:
            verdict = results.comparison_verdicts.get(one.id)
            own = {"experiment": name, "measure": one.measure, "levels": levels(spec, one.within), "factor": one.factor}
            sides = {
                name: level(spec, one.factor, value) for name, value in (("baseline", one.baseline), ("candidate", one.candidate))
            }
            said = {"conclusion": one.conclusion.value, "verdict": verdict.state.value if verdict else ""}
            yield from of_estimate("assay_ratio", {**own, **sides, **said}, one.ratio)
    for met in results.requirements:
        own = {"experiment": name, "measure": met.measure, "levels": levels(spec, met.levels), "requirement": met.text}
        yield "assay_requirement", {**own, "state": met.state.value, "verdict": met.verdict.value}, 1.0


def of_estimate(family: str, labels: Mapping[str, object], found: Estimate) -> Iterator[Sample]:
    """Yield a value and the ends of its interval, in seconds where it is a time."""
    is_time = found.unit == Unit.NANOSECONDS
    shown = {**labels, "unit": "s" if is_time else found.unit}
    for end, value in (("", found.value), ("_low", found.low), ("_high", found.high)):
        if value is not None:
            yield family + end, shown, value / 1e9 if is_time else value


def of_trial(listed: Listed, feed: Feed) -> Iterator[Sample]:
    """Yield what the running trial reports of itself; nothing where none runs."""
    newest, own = feed.newest, {"experiment": listed.name}
    if not listed.is_running or newest is None:
        return
    trial = {**own, "trial": newest.news.get("trial"), "attempt": newest.news.get("attempt")}
    stage = {"workload": newest.place[0], "phase": newest.place[1], "event": newest.news.get("event", "")}
    yield "assay_trial_stage", {**trial, **stage}, 1.0
    for rate in feed.rates():
        workload, phase = feed.phase()[-1].place
        of = {**trial, "workload": workload, "phase": phase, "operation": rate.operation}
        yield "assay_operations_total", of, rate.count
        yield "assay_operation_bytes_total", of, rate.bytes
    seen = next((one.news for one in reversed(feed.rows) if one.news.get("passed") is not None), {})
    for device, passed in seen.get("passed", {}).items():
        for way in ("read", "write"):
            yield "assay_device_bytes_total", {**own, "device": device, "direction": way}, passed[f"{way}_bytes"]
    if "dirty_bytes" in seen:
        yield "assay_waiting_bytes", own, seen["dirty_bytes"]


def escaped(words: str) -> str:
    """Return a value of a label, as the text format wants it."""
    return words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
