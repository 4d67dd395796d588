"""The layers below a client in words: what the protocol leaves of the path and of the server's storage."""

from __future__ import annotations

from assay import measures
from assay.answer import marks
from assay.answer.layers import LayerBelow, LayeredRate
from assay.measures.text import word
from assay.records import Experiment, WorkSide
from assay.units import Unit

NAMED = {WorkSide.PATH: "the path alone", WorkSide.SERVER: "the server's storage alone"}


def statement(experiment: Experiment, one: LayeredRate) -> str:
    """`load read: 10.9 MB/s, 6.9 % less than the path alone (11.7 MB/s; 95 % interval 5.1 % to 8.7 %), ...`."""
    where = " ".join(f"{name}={word(experiment, name, level)}" for name, level in one.levels.items())
    name = marks.operation(one.measure.workload, one.measure.operation) + (f" at {where}" if where else "")
    rate = measures.with_unit(one.value, Unit.BYTES_PER_S)
    return f"{name}: {rate}, {' and '.join(map(_layer, one.below))}{_contradiction(one)} [{one.state.value}]"


def _layer(one: LayerBelow) -> str:
    own = measures.with_unit(one.value, Unit.BYTES_PER_S)
    if one.share > 1:
        return f"{measures.percent(one.share - 1)} more than {NAMED[one.side]} ({own}{_interval(one, more=True)})"
    return f"{measures.percent(1 - one.share)} less than {NAMED[one.side]} ({own}{_interval(one, more=False)})"


def _interval(one: LayerBelow, *, more: bool) -> str:
    if one.low is None or one.high is None:
        return f"; {one.runs} run{'' if one.runs == 1 else 's'} with both"
    edges = (one.low - 1, one.high - 1) if more else (1 - one.high, 1 - one.low)
    return f"; 95 % interval {measures.percent(edges[0])} to {measures.percent(edges[1])}"


def _contradiction(one: LayeredRate) -> str:
    wrong = [NAMED[each.side] for each in one.below if each.is_contradicted]
    return f"; no client is faster than {' or '.join(wrong)}: one of these figures is not what it is called" if wrong else ""
