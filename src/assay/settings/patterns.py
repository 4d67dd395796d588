"""Access patterns of the engine `bulk`: its operations, the records they access and in which order.

`OPERATIONS` maps the name of each operation, as in the knob `operations`, to its `Pattern`. The results of `random_mix` have two
operations, `random_read` and `random_write`; `result_operations` returns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from assay.catalogue import Unit
from assay.records import Direction
from assay.settings.knobs import Values, choice, fraction, in_bytes, integer, messages, names, quantity, share, text

STDIO = "stdio_"
"""Prefix of operations that use the buffer of C stdio."""
MIX = "random_mix"
USUAL_STRIDE = 17
"""Default stride in records, as in iozone."""

PATTERN = (
    choice(
        "order", "random operations: uniform (any record) or permutation (every record once a pass)", "uniform", "permutation"
    ),
    quantity("stride", "stride_read: bytes from record to record, a multiple of record_size; 17 records", Unit.BYTES),
    share("read_share", "random_mix: share of reads"),
)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """An operation: its name in the engine, and its effect on the file."""

    engine: str
    reads: bool = False
    writes: bool = False
    random: bool = False
    fills: bool = False
    """It may create the file, and writes every record once."""
    keeps: bool = False
    """It needs the file's content to exist already."""


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


def result_operations(name: str) -> Mapping[str, Direction]:
    """Return the operation names in the results with their directions: the operation, or the two parts of a mix."""
    if name == MIX:
        return {"random_read": Direction.READ, "random_write": Direction.WRITE}
    return {name: Direction.WRITE if OPERATIONS[name].writes else Direction.READ}


def pattern_setting(values: Values, name: str) -> dict[str, object]:
    """Return the engine's access pattern settings of one operation."""
    pattern = OPERATIONS[name]
    setting = {"operation": pattern.engine, "name": next(iter(result_operations(name)))}
    if pattern.random:
        setting["order"] = text(values, "order")
    if name == MIX:
        return {**setting, "write_name": "random_write", "read_share": fraction(values, "read_share")}
    if pattern.engine == "stride_read":
        return {**setting, "stride": integer(values, "stride", USUAL_STRIDE * integer(values, "record_size"))}
    return dict(setting)


def pattern_mistakes(values: Values) -> tuple[str, ...]:
    """Return mistakes: operations that exclude each other, and knobs that no operation uses."""
    chosen = names(values, "operations")
    mistakes = (
        (not chosen, "found no operations; expected at least one"),
        (
            len(set(chosen)) < len(chosen),
            f"found operations {', '.join(chosen)}; expected each at most once (use rewrite, reread)",
        ),
        *((MIX in chosen and half in chosen, _twice(half)) for half in result_operations(MIX)),
        (MIX in chosen and values.get("read_share") is None, 'found random_mix without read_share; expected one such as "67 %"'),
        (MIX not in chosen and values.get("read_share") is not None, "found read_share without random_mix; expected none"),
        (
            text(values, "order") == "permutation" and not any(OPERATIONS[name].random for name in chosen),
            "found order permutation without a random operation; expected uniform",
        ),
    )
    return (*messages(mistakes), *_stride_mistakes(values, chosen))


def _twice(half: str) -> str:
    return f"found {half} and random_mix, which also reports {half}; expected separate workloads"


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
    return messages(mistakes)
