"""The sentence that anybody can repeat: `writes 1.2 GB/s to stable media, reads 2.4 GB/s, 3,700 commits a second; ...`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay import measures
from assay.answer.essence import Essence, Portion
from assay.answer.scales import show
from assay.answer.wording.labels import noun
from assay.measures.far_end import ARRIVED
from assay.records import Direction, VerdictState
from assay.units import Unit

VERBS = {Direction.WRITE: "writes", Direction.READ: "reads"}
RANDOM = "random_"


def sentence(one: Essence) -> str:
    """Put the rates in one sentence, with how well they are known; a rate without trust has its verdict behind it."""
    bytes_first = sorted(
        one.portions, key=lambda each: (each.estimate.unit != Unit.BYTES_PER_S, each.measure.figure == ARRIVED[0])
    )
    text = ", ".join(_clauses(bytes_first, mixed=len({each.state for each in one.portions}) > 1))
    parts = (text[:1].upper() + text[1:], within(one.portions), memory(one.memory))
    return "; ".join(part for part in parts if part)


def _clauses(portions: Sequence[Portion], *, mixed: bool) -> Iterator[str]:
    """The clauses: each rate of bytes by itself, all rates of operations in the last one."""
    of_bytes = [one for one in portions if one.estimate.unit == Unit.BYTES_PER_S]
    others = [one for one in portions if one.estimate.unit != Unit.BYTES_PER_S]
    yield from (f"{_of_bytes(one, _sent(one, of_bytes))}{_doubt(one, mixed=mixed)}" for one in of_bytes)
    counted = [f"{_rounded(one.estimate.value)} {_counted(one)}{_doubt(one, mixed=mixed)}" for one in others]
    if counted:
        *first, last = counted
        yield f"{', '.join(first)} and {last} a second" if first else f"{last} a second"


def _sent(one: Portion, portions: Sequence[Portion]) -> Portion | None:
    """Of a rate that arrived, the one at which the same was sent, if that is measured, too."""
    what = (one.measure.workload, one.measure.operation)
    same = (each for each in portions if (each.measure.workload, each.measure.operation) == what and each is not one)
    return next((each for each in same if each.measure.figure == "bytes_per_s"), None)


def _of_bytes(one: Portion, sent: Portion | None) -> str:
    """`writes 1.2 GB/s to stable media`, `reads 300 MB/s at random`, `sends at 1.1 GB/s`, `arrives at 0.5 GB/s (49 %)`."""
    verb, amount = VERBS.get(one.direction), show(one.estimate.value, one.estimate.unit)
    if one.measure.figure == ARRIVED[0]:
        share = f" ({measures.percent(one.estimate.value / sent.estimate.value)})" if sent and sent.estimate.value else ""
        return f"arrives at {amount}{share}"
    if verb is None:
        return f"{noun(one.measure.operation)} at {amount}"
    scattered = " at random" if one.measure.operation.startswith(RANDOM) else ""
    return f"{verb} {amount}{scattered}{' to stable media' if one.durable else ''}"


def _rounded(value: float) -> str:
    """`11,800`: three digits are as many as anybody repeats."""
    return show(float(f"{value:.3g}"), Unit.COUNT)


def _counted(one: Portion) -> str:
    """`random reads`, `commits`."""
    return "commits" if one.commits and one.direction is Direction.WRITE else noun(one.measure.operation)


def _doubt(one: Portion, *, mixed: bool) -> str:
    """The verdict of a rate that cannot simply be trusted, where it is not that of all."""
    trusted = one.state in (VerdictState.SOUND, VerdictState.BOUNDED)
    return "" if trusted or not mixed else f" [{one.state.value}]"


SURE = 0.5
"""An interval that ends above this share from its figure is given as a factor."""


def within(portions: Sequence[Portion]) -> str:
    """`each within 8 %`, `each within a factor of 2.4`: the widest interval; empty where a figure has none."""
    sure = [(*one.estimate.sure, one.estimate.value) for one in portions]
    ends = [(low / value, high / value) for low, high, value in sure if low and high is not None and value > 0]
    if not ends or len(ends) < len(portions):
        return ""
    widest = max(max(high - 1, 1 - low) for low, high in ends)
    factor = max(max(high, 1 / low) for low, high in ends)
    return f"each within {measures.percent(widest)}" if widest < SURE else f"each within a factor of {factor:.2g}"


def memory(one: Portion | None) -> str:
    """`what looks faster is memory (10.2 GB/s)`."""
    return "" if one is None else f"what looks faster is memory ({show(one.estimate.value, one.estimate.unit)})"
