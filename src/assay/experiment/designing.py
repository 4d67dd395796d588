"""Whether the factors of a file suit the design that it names: every reason against it at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.experiment import design, fractions, plackett_burman
from assay.experiment.shape import FileShape
from assay.records import Change, DesignKind, Experiment, Factor
from assay.toml_document import Document, Path, Point

TWO_LEVELS = frozenset({DesignKind.FRACTIONAL, DesignKind.SCREENING})
NUMERALS = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII"}
Reason = tuple[Path, str, str, Point]


@dataclass(frozen=True, kw_only=True)
class Designed:
    """The design of a file as far as it can be had: None of both where there is none, or where it was refused."""

    kind: DesignKind | None = None
    combinations: int | None = None


def fits(document: Document, shape: FileShape, factors: Sequence[Factor]) -> Designed:
    """Note everything that speaks against the design."""
    if shape.design is None:
        if shape.resolution is not None:
            document.wrong(("resolution",), f"resolution = {shape.resolution} without a design", 'design = "fractional" with it')
        return Designed()
    several = design.varying(factors)
    found = [*against(shape, shape.design, factors), *too_few_or_many(shape, shape.design, several)]
    for at, seen, wanted, point in found:
        document.wrong(at, seen, wanted, point)
    if found:
        return Designed()
    asked = Experiment(
        title="",
        question="",
        targets=(),
        workloads=(),
        factors=tuple(factors),
        measures=(),
        design=shape.design,
        resolution=shape.resolution,
    )
    return Designed(kind=shape.design, combinations=len(design.combinations(asked, factors)))


def against(shape: FileShape, kind: DesignKind, factors: Sequence[Factor]) -> Iterator[Reason]:
    """What speaks against single factors, and against keys beside the design."""
    if shape.compare is not None and kind is not DesignKind.FULL:
        wanted = 'no compare, or design = "full": in no other design two levels meet under all conditions'
        yield ("compare",), f'compare = {shape.compare!r} with design = "{kind.value}"', wanted, Point.VALUE
    if shape.resolution is not None and kind is not DesignKind.FRACTIONAL:
        found = f'resolution = {shape.resolution} with design = "{kind.value}"'
        yield ("resolution",), found, 'design = "fractional" with it', Point.VALUE
    for factor in factors:
        at, levels = ("factors", factor.path), len(factor.levels)
        if factor.change is Change.MANUAL:
            wanted = "factors that change by themselves: what a person changes cannot be mixed within a block"
            yield at, f"factor {factor.path!r}, changed by hand, in a design", wanted, Point.KEY
        if factor.path == "workload":
            yield at, "factor 'workload' in a design", "another factor: each workload has measures of its own", Point.KEY
        if kind in TWO_LEVELS and levels > 2:
            wanted = 'two levels, the farthest apart that are of interest; design = "full" and "one-at-a-time" take more'
            yield at, f"{levels} levels of {factor.path!r} in a {kind.value} design", wanted, Point.KEY


def too_few_or_many(shape: FileShape, kind: DesignKind, several: Sequence[Factor]) -> Iterator[Reason]:
    """What speaks against the number of factors that vary."""
    count, at = len(several), ("design",)
    found = f'{count} {"factor" if count == 1 else "factors"} with two levels or more for design = "{kind.value}"'
    full = f'; design = "full" has {2**count} combinations' if 1 < count < fractions.FEWEST + 2 else ""
    if kind not in TWO_LEVELS and count < 2:
        yield at, found, "at least 2; a single factor is compared (`compare`)", Point.VALUE
    if kind is DesignKind.SCREENING and not plackett_burman.FEWEST <= count <= plackett_burman.MOST:
        yield at, found, f"from {plackett_burman.FEWEST} to {plackett_burman.MOST}{full}", Point.VALUE
    if kind is not DesignKind.FRACTIONAL:
        return
    if not fractions.FEWEST <= count <= fractions.MOST:
        more = f'; design = "screening" takes up to {plackett_burman.MOST}' if count > fractions.MOST else full
        yield at, found, f"from {fractions.FEWEST} to {fractions.MOST}{more}", Point.VALUE
    elif fractions.smallest(count, shape.resolution or design.DEFAULT_RESOLUTION) is None:
        asked = NUMERALS[shape.resolution or design.DEFAULT_RESOLUTION]
        best = max(one.resolution for one in fractions.of(count))
        wanted = f'resolution = {best} at most, or design = "full" ({2**count} combinations)'
        yield at, f"a fraction of {count} factors with resolution {asked}", wanted, Point.VALUE
