"""Which records an operation of the engine `bulk` moves, in which order: the operations there are, and what they are told.

`OPERATIONS` maps the name of each operation, as the knob `operations` has it, to its `Pattern`. `random_mix` has two operations
in its results, `random_read` and `random_write`; `done_as` names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from assay.catalogue import Unit
from assay.records import Direction
from assay.settings.knobs import Values, choice, fraction, in_bytes, integer, names, quantity, share, text, told

STDIO = "stdio_"
"""Operations whose names begin so go through the buffer of C stdio."""
MIX = "random_mix"
USUAL_STRIDE = 17
"""Records from one to the next of a stride where nothing else is said, as with iozone."""

PATTERN = (
    choice("order", "random operations: any record each time, or every record once a pass", "uniform", "permutation"),
    quantity("stride", "stride_read: bytes from record to record, in whole records; 17 of them", Unit.BYTES),
    share("read_share", "random_mix: share of reads"),
)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """What an operation is to the engine, and what it does to the file."""

    engine: str
    reads: bool = False
    writes: bool = False
    random: bool = False
    fills: bool = False
    """It may make the file, and writes every record of it once."""
    keeps: bool = False
    """It needs what it moves to be in the file already."""


OPERATIONS: Mapping[str, Pattern] = MappingProxyType(
    {
        "write": Pattern(engine="write", writes=True, fills=True),
        "rewrite": Pattern(engine="rewrite", writes=True, keeps=True),
        "read": Pattern(engine="read", reads=True, keeps=True),
        "reread": Pattern(engine="reread", reads=True, keeps=True),
        "random_write": Pattern(engine="random_write", writes=True, random=True),
        "random_read": Pattern(engine="random_read", reads=True, random=True, keeps=True),
        MIX: Pattern(engine="random_mix", reads=True, writes=True, random=True, keeps=True),
        "backward_read": Pattern(engine="backward_read", reads=True, keeps=True),
        "record_rewrite": Pattern(engine="record_rewrite", writes=True, keeps=True),
        "stride_read": Pattern(engine="stride_read", reads=True, keeps=True),
        "stdio_write": Pattern(engine="write", writes=True, fills=True),
        "stdio_rewrite": Pattern(engine="rewrite", writes=True, keeps=True),
        "stdio_read": Pattern(engine="read", reads=True, keeps=True),
        "stdio_reread": Pattern(engine="reread", reads=True, keeps=True),
    }
)


def done_as(name: str) -> Mapping[str, Direction]:
    """What an operation is called in the results, with the way its bytes go: itself, or the two halves of a mix."""
    if name == MIX:
        return {"random_read": Direction.READ, "random_write": Direction.WRITE}
    return {name: Direction.WRITE if OPERATIONS[name].writes else Direction.READ}


def pattern_setting(values: Values, name: str) -> dict[str, object]:
    """What the engine is told of the order of the records of one operation."""
    pattern = OPERATIONS[name]
    told_of = {"operation": pattern.engine, "name": next(iter(done_as(name)))}
    if pattern.random:
        told_of["order"] = text(values, "order")
    if name == MIX:
        return {**told_of, "write_name": "random_write", "read_share": fraction(values, "read_share")}
    if pattern.engine == "stride_read":
        return {**told_of, "stride": integer(values, "stride", USUAL_STRIDE * integer(values, "record_size"))}
    return dict(told_of)


def pattern_mistakes(values: Values) -> tuple[str, ...]:
    """Operations that cannot be in one workload, and orders that none of them has."""
    chosen = names(values, "operations")
    mistakes = (
        (not chosen, "found no operations; expected at least one"),
        (len(set(chosen)) < len(chosen), f"found operations {', '.join(chosen)}; expected each at most once (rewrite, reread)"),
        *((MIX in chosen and half in chosen, _twice(half)) for half in done_as(MIX)),
        (MIX in chosen and values.get("read_share") is None, 'found random_mix without read_share; expected one such as "67 %"'),
        (MIX not in chosen and values.get("read_share") is not None, "found read_share without random_mix; expected none"),
        (
            text(values, "order") == "permutation" and not any(OPERATIONS[name].random for name in chosen),
            "found order permutation without a random operation; expected uniform",
        ),
    )
    return (*told(mistakes), *_stride_mistakes(values, chosen))


def _twice(half: str) -> str:
    return f"found {half} beside random_mix, which has an operation of that name; expected another workload for one of them"


def _stride_mistakes(values: Values, chosen: Sequence[str]) -> tuple[str, ...]:
    stride, record = integer(values, "stride"), integer(values, "record_size")
    if not stride:
        return ()
    size = integer(values, "size")
    mistakes = (
        ("stride_read" not in chosen, "found stride without stride_read; expected none"),
        (stride < record, f"found stride {in_bytes(stride)}; expected at least record_size ({in_bytes(record)})"),
        (
            stride > record and stride % record,
            f"found stride {in_bytes(stride)}; expected a multiple of record_size ({in_bytes(record)})",
        ),
        (size and stride >= size, f"found stride {in_bytes(stride)}; expected less than size ({in_bytes(size)})"),
    )
    return told(mistakes)
