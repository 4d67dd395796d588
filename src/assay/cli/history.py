"""`assay history`: one experiment in many notebooks or executions, its steps, and whether the newest is as good as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from assay import measures
from assay.analysis.history import LEAST_BEFORE, FigureHistory, PastExecution, history
from assay.answer.marks import lower_is_better
from assay.cli import tables
from assay.errors import RefusedError, UsageError
from assay.laboratory.gate import BAD_VERDICT, UNMET, Gate
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.records import Experiment, Outcome, Results
from assay.report import picture
from assay.report.charts.figure import Table
from assay.report.charts.histories import HistoryMark, HistoryPanel, drawn
from assay.statistics.steadiness import FALSE_ALARM_SHARE, LEAST_VALUES
from assay.terminal.output import Row, deliver, table

MOST_PANELS = 12
"""So many figures are drawn."""
HEAD = ("now", "figure", "at", "executions", "newest", "expected", "level now", "since", "steps")


@dataclass(frozen=True, kw_only=True)
class HistoryRequest:
    """The words of one call."""

    labs: tuple[Path, ...]
    title: str | None = None
    measure: str | None = None
    good: str | None = None
    picture: Path | None = None
    json_to: str | None = None
    gate: Gate = Gate.OFF


@dataclass(frozen=True, kw_only=True)
class HistoryVerdict:
    """The present level of a figure against that of the last known good execution."""

    series: FigureHistory
    ratio: float | None
    """Present level over the good one; None where one of them is unknown, or the newest execution has no value."""
    is_worse: bool
    """By more than the smallest relevant effect."""
    is_open: bool = False
    """Whether it looks worse, and the intervals of too few executions do not decide it."""

    @property
    def word(self) -> str:
        """In a word."""
        if self.ratio is None:
            return "unknown"
        if self.is_open:
            return "undecided"
        return "worse" if self.is_worse else "unexpected" if self.series.is_unexpected else "as before"


def run(request: HistoryRequest) -> int:
    """Show the history. Gives 0; with a gate 3 where the newest execution is INVALID, 4 where a figure is worse.

    Raises UsageError for no execution, several experiments, an unknown good execution; RefusedError for a file
    that cannot be written.
    """
    if request.picture is not None:
        picture.check(request.picture)
    executions = found(request)
    experiment = executions[-1].results.experiment
    place = good_place(executions, request.good)
    every = [one for one in history(executions) if request.measure is None or fnmatchcase(one.measure, request.measure)]
    if not every:
        raise UsageError(f"found no figure like --measure {request.measure!r}; `assay show` lists the figures")
    judged = tuple(judge(experiment, one, place) for one in every)
    if request.picture is not None:
        draw(executions, judged, place, request.picture)
    deliver(request.json_to, "history", lambda: plain(executions, judged, place), lambda: text(executions, judged, place))
    return status(judged, request.gate)


def found(request: HistoryRequest) -> tuple[PastExecution, ...]:
    """The executions in the order of their times. Raises UsageError."""
    folders = [folder for lab in request.labs for folder in notebook.folders(lab)]
    titles = {folder: notebook.read_plan(folder)[0].title for folder in folders}
    several = sorted(set(titles.values()))
    title = request.title if request.title is not None else several[0] if len(several) == 1 else None
    if title not in several:
        raise UsageError(f"found {len(several)} experiments; expected --title, one of: {', '.join(map(repr, several)) or 'none'}")
    results = [(folder, current(folder)) for folder in folders if titles[folder] == title]
    for folder, one in results:
        tables.warn_of_damage(folder, one.damaged)
    made = [PastExecution(name=name_of(folder, request.labs), started_utc=began(one), results=one) for folder, one in results]
    done = sorted((one for one in made if one.started_utc), key=lambda one: one.started_utc)
    if not done:
        raise UsageError(f"found no finished run of {title!r}; expected one: `assay run FILE --lab history/NAME`")
    return tuple(done)


def name_of(folder: Path, labs: Sequence[Path]) -> str:
    """What an execution is called: its notebook, where there are several, else its folder."""
    return folder.parent.resolve().name if len(labs) > 1 else folder.name


def began(results: Results) -> str:
    """When the first finished run began; empty where there is none."""
    return min((one.run.started_utc or "" for one in results.runs if one.run.outcome is Outcome.FINISHED), default="")


def good_place(executions: Sequence[PastExecution], name: str | None) -> int:
    """The place of the last known good execution: the one that is named, else the first. Raises UsageError."""
    if name is None:
        return 0
    places = [at for at, one in enumerate(executions) if one.name == name]
    if not places:
        raise UsageError(f"found no execution {name!r} for --good; expected one of: {', '.join(one.name for one in executions)}")
    return places[-1]


TWICE = 2.0
"""What looks so many times as bad is let through by no gate, decided or not."""


def judge(experiment: Experiment, series: FigureHistory, place: int) -> HistoryVerdict:
    """Hold the present level against that of the good execution; with few executions their intervals decide."""
    good, now = series.good_at(place), series.now
    ratio = now / good if series.newest is not None and now is not None and good else None
    worse = ratio is not None and lost(series, ratio) > experiment.matters_share
    if not series.is_short or not worse or place == len(series.points) - 1:
        return HistoryVerdict(series=series, ratio=ratio, is_worse=worse)
    between = series.change_since(place)
    decided = between is not None and min(lost(series, end) for end in between) > experiment.matters_share
    return HistoryVerdict(series=series, ratio=ratio, is_worse=decided, is_open=not decided)


def lost(series: FigureHistory, ratio: float) -> float:
    """By which share a ratio is worse than 1; below 0 where it is better."""
    return (ratio if lower_is_better(series.measure) else 1 / ratio) - 1


def status(judged: Sequence[HistoryVerdict], gate: Gate) -> int:
    """The exit status. What looks twice as bad is not let through, whether few executions decide it or not."""
    if gate is Gate.OFF:
        return 0
    states = [one.series.points[-1].verdict for one in judged]
    if any(state in gate.bad for state in states):
        return BAD_VERDICT
    far = any(one.is_open and one.ratio is not None and lost(one.series, one.ratio) >= TWICE - 1 for one in judged)
    worse = far or any(one.is_worse for one in judged)
    return UNMET if worse or (gate is Gate.STRICT and any(one.ratio is None or one.is_open for one in judged)) else 0


def text(executions: Sequence[PastExecution], judged: Sequence[HistoryVerdict], place: int) -> str:
    """The answer, then a row for each figure, then how steps are found."""
    rows = [Row(cells=cells(executions, one)) for one in judged]
    return "\n\n".join((answer(executions, judged, place), table(HEAD, rows, (3,)), "\n".join(how(executions))))


def answer(executions: Sequence[PastExecution], judged: Sequence[HistoryVerdict], place: int) -> str:
    """The answer in a sentence or two."""
    if len(executions) == 1:
        return f"{executions[0].name} is the first execution: there is nothing yet to compare it with."
    worse = [one for one in judged if one.is_worse]
    good, newest = executions[place].name, executions[-1].name
    whole = f"{len(executions)} executions from {executions[0].started_utc[:10]} to {executions[-1].started_utc[:10]}"
    undecided = [one for one in judged if one.is_open]
    few = f" {few_words(judged)}" if any(one.series.is_short for one in judged) else ""
    if not worse and not undecided:
        without = sum(one.series.newest is None for one in judged)
        unknown = f"; {newest} has no value of {without} of {len(judged)}" if without else ""
        return f"No figure is {'known to be ' if without or few else ''}worse in {newest} than in {good}{unknown}: {whole}.{few}"
    if not worse:
        named = "; ".join(f"{figure(executions[-1].results.experiment, one.series)} {change(one.ratio)}" for one in undecided[:3])
        return f"Not decided: {newest} looks worse than {good}: {named}. {whole}.{few}"
    named = "; ".join(f"{figure(executions[-1].results.experiment, one.series)} {change(one.ratio)}" for one in worse[:3])
    more = f"; and {len(worse) - 3} more" if len(worse) > 3 else ""
    are = "figure is" if len(judged) == 1 else "figures are" if len(worse) > 1 else "figures is"
    return f"{len(worse)} of {len(judged)} {are} worse in {newest} than in {good}: {named}{more}. {whole}.{few}"


def few_words(judged: Sequence[HistoryVerdict]) -> str:
    """What decides in a short history."""
    number = max(len(one.series.points) for one in judged)
    return f"Too few executions to find steps ({number} of {LEAST_BEFORE + 1}): the intervals of the two decide."


def figure(experiment: Experiment, series: FigureHistory) -> str:
    """`stream.write.bytes_per_s at target=a`."""
    at = tables.levels_text(experiment, series.levels)
    return f"{series.measure}{f' at {at}' if at else ''}"


def change(ratio: float | None) -> str:
    """A ratio as a change: `-10.2 %`."""
    return "?" if ratio is None else f"{(ratio - 1) * 100:+.3g} %"


def cells(executions: Sequence[PastExecution], one: HistoryVerdict) -> tuple[str, ...]:
    """One figure."""
    series, experiment = one.series, executions[-1].results.experiment

    def shown(value: float | None) -> str:
        return "-" if value is None else measures.with_unit(value, series.unit)

    ends = series.expected
    return (
        f"{one.word} ({change(one.ratio)})" if one.ratio is not None else one.word,
        series.measure,
        tables.levels_text(experiment, series.levels) or "-",
        str(sum(point.value is not None for point in series.points)),
        f"{shown(series.newest)} {series.points[-1].verdict or ''}".rstrip(),
        "-" if ends is None else f"{shown(ends[0])} to {shown(ends[1])}",
        shown(series.now if series.is_short else series.stretches[-1].value if series.stretches else None),
        executions[-1 if series.is_short else series.stretches[-1].first].name if series.stretches else "-",
        "; ".join(steps(executions, series)) or "none",
    )


def steps(executions: Sequence[PastExecution], series: FigureHistory) -> Iterator[str]:
    """Each step with its change and the first execution behind it."""
    for before, after in pairwise(series.stretches):
        yield f"{change(after.value / before.value)} at {executions[after.first].name}"


def how(executions: Sequence[PastExecution]) -> Iterator[str]:
    """How steps are found, and what else changed."""
    yield (
        f"Steps need {LEAST_VALUES} executions; without a change at most {FALSE_ALARM_SHARE:.0%} of all series seem to have one. "
        f"The newest value is held against at least {LEAST_BEFORE} before it; 1 in 100 newest executions is unexpected by chance."
    )
    files = {one.results.experiment.digest for one in executions}
    if len(files) > 1:
        yield f"The experiment file has {len(files)} versions in this history: a step may be one of the file."


def plain(executions: Sequence[PastExecution], judged: Sequence[HistoryVerdict], place: int) -> dict[str, object]:
    """The history for programs."""
    return {
        "answer": answer(executions, judged, place),
        "good": executions[place].name,
        "executions": [
            {"name": one.name, "started_utc": one.started_utc, "experiment": one.results.experiment.digest} for one in executions
        ],
        "series": [
            {
                **to_plain(one.series),
                "ratio": one.ratio,
                "worse": one.is_worse,
                "undecided": one.is_open,
                "unexpected": one.series.is_unexpected,
            }
            for one in judged
        ],
    }


def draw(executions: Sequence[PastExecution], judged: Sequence[HistoryVerdict], place: int, path: Path) -> None:
    """Draw the first figures, those that are worse in front. Raises UsageError, MissingError, RefusedError."""
    experiment = executions[-1].results.experiment
    shown = sorted(judged, key=lambda one: (not one.is_worse, not one.series.is_unexpected))[:MOST_PANELS]
    sheet = picture.Sheet(
        drawn=drawn(experiment.title, answer(executions, judged, place), [course(experiment, one.series) for one in shown]),
        note=f"{len(shown)} of {len(judged)} figures are drawn. Lines: levels between steps. Red: unexpected.",
        tables=(("Figures", Table(head=HEAD, rows=tuple(cells(executions, one) for one in judged))),),
        remarks=tuple(how(executions)),
    )
    try:
        picture.write_sheet(sheet, path)
    except OSError as error:
        raise RefusedError(f"{path}: not written ({error.strerror}). Check permissions and free space.") from error


def course(experiment: Experiment, series: FigureHistory) -> HistoryPanel:
    """One figure as a panel."""
    last = len(series.points) - 1
    return HistoryPanel(
        title=figure(experiment, series),
        marks=tuple(
            HistoryMark(
                name=one.execution,
                value=one.value,
                low=one.low,
                high=one.high,
                is_unexpected=at == last and series.is_unexpected,
            )
            for at, one in enumerate(series.points)
        ),
        levels=tuple((one.first, one.end, one.value) for one in series.stretches),
        shown=lambda value: measures.with_unit(value, series.unit),
    )
