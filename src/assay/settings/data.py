"""What the engine `bulk` writes, and whether what it reads is that: how far data can be made smaller, and verification.

Where records are verified, every write describes its blocks: which place of which file, by which phase (its generation).
A read that follows on a phase that wrote everything looks for just that generation, so that a lost write is found too.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.settings.knobs import Values, choice, fraction, in_bytes, integer, names, ratio, share, text, told
from assay.settings.patterns import MIX, OPERATIONS

BLOCK = 4096
"""What is described and verified as one."""
LAYOUT_GENERATION = 0

DATA = (
    ratio("compressible", "how many times smaller a compressor makes the data", 1.0, (1, 5)),
    share("duplicates", "share of records that are copies of others", 0.0),
    share("zeros", "share of records that are all zeros", 0.0),
    choice("verify", "look whether what is read was written there: nothing, one record in 64, all", "none", "sample", "all"),
)


def is_verified(values: Values) -> bool:
    """Whether any record that is read is looked at."""
    return text(values, "verify") != "none"


def repeats(values: Values) -> bool:
    """Whether some records are like others."""
    return fraction(values, "duplicates") + fraction(values, "zeros") > 0


def data_setting(values: Values, name: str, *, fills: bool) -> dict[str, object]:
    """What the engine is told of the data of one operation; `fills`: whether phases that can write the whole file do so."""
    pattern, told_of = OPERATIONS[name], dict[str, object]()
    if pattern.writes:
        told_of["data"] = written(values)
        told_of["describe"] = is_verified(values)
    if is_verified(values):
        told_of["generation"] = generation(names(values, "operations"), name, fills=fills)
    return {**told_of, "verify": text(values, "verify")} if pattern.reads else told_of


def layout_setting(values: Values) -> dict[str, object]:
    """What the engine is told of the data of the layout."""
    described = {"describe": True, "generation": LAYOUT_GENERATION} if is_verified(values) else {}
    return {"data": written(values), **described}


def written(values: Values) -> object:
    """What the data are like: all different and as dense as can be, or less so."""
    shape = {name: fraction(values, name) for name in ("compressible", "duplicates", "zeros")}
    return shape if shape["compressible"] > 1 or repeats(values) else "unique"


def generation(chosen: Sequence[str], name: str, *, fills: bool) -> int | None:
    """The generation that a phase writes, or that must be where it reads; None where it may be one of several.

    A phase that writes has its place among the operations, from 1 on; the layout, before all, has 0.
    """
    if name == MIX:
        return None
    if OPERATIONS[name].writes:
        return 1 + chosen.index(name)
    before = [other for other in chosen[: chosen.index(name)] if OPERATIONS[other].writes]
    if not before:
        return LAYOUT_GENERATION
    whole = fills and OPERATIONS[before[-1]].engine in ("write", "rewrite")
    return 1 + chosen.index(before[-1]) if whole else None


def data_mistakes(values: Values) -> tuple[str, ...]:
    """Shares that are more than all, and verification of what nothing has described."""
    chosen, record = names(values, "operations"), integer(values, "record_size")
    reads = any(OPERATIONS[name].reads for name in chosen)
    zeros, duplicates = fraction(values, "zeros"), fraction(values, "duplicates")
    verified, own = is_verified(values), values["file"] is None
    mistakes = (
        (zeros + duplicates > 1, "found zeros and duplicates of more than 100 % together; expected at most that"),
        (not own and written(values) != "unique", "found compressible, duplicates or zeros with an existing file; expected none"),
        (verified and not own, "found verify with an existing file; expected none: what should be in it is not known"),
        (verified and not reads, "found verify without reads; expected a read among the operations"),
        (
            verified and record % BLOCK,
            f"found verify with record_size {in_bytes(record)}; expected a multiple of {in_bytes(BLOCK)}",
        ),
        (
            verified and repeats(values),
            "found verify with duplicates or zeros; expected one of them: a block that says where it is, is unique",
        ),
    )
    return told(mistakes)
