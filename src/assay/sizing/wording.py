"""A sized chain in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay import units
from assay.records.price import Price
from assay.sizing.chain import CommitLimit, Layout, MeasuredLimit, Speed
from assay.sizing.sized import WRITER, PartLimit, Sized, SizedPart, UpgradeGain, bytes_of, ops_of
from assay.units import Unit, human

PART_HEAD = ("part", "speed", "read", "write", "random reads", "random writes", "measured", "used")
UPGRADE_HEAD = ("part", "upgrade", "chain capacity", "next limit", "price", "per MB/s", "per operation/s")
FAILURE_HEAD = ("failed unit of", "chain capacity", "reason")
GAINED = 1.005
"""A gain below half a per cent is none."""
MB = 1e6


def answer(sized: Sized) -> str:
    """Return the first sentence: whether the load fits, and what ends it."""
    shares = {WRITER: sized.chain.load.commits.used} if sized.chain.load.commits else {}
    shares = {**{stage.part.name: stage.used for stage in sized.stages}, **shares}
    first, asked = shares[sized.first], asking(sized)
    if math.isinf(sized.carries):
        return f"No part of the chain limits {asked}. Set operation_size."
    if sized.carries < 1:
        return (
            f"The chain does not carry {asked}: the limit is {sized.first} ({_percent(first)} of its capacity requested), "
            f"so {_times(sized.carries)} of the load gets through."
        )
    after = max((name for name in shares if name != sized.first), key=lambda name: shares[name], default=None)
    then = f", then {after} ({_percent(shares[after])})" if after is not None else ""
    return (
        f"The chain carries {asked}, and up to {_times(sized.carries)} that. First limit: {sized.first} "
        f"({_percent(first)} used){then}."
    )


def asking(sized: Sized) -> str:
    """Return the load in words."""
    load = sized.chain.load
    parts = [
        f"{human(amount, unit)} {what}"
        for amount, unit, what in (
            (load.read_bytes_per_s, Unit.BYTES_PER_S, "read"),
            (load.write_bytes_per_s, Unit.BYTES_PER_S, "written"),
            (load.read_ops_per_s, Unit.PER_S, "random reads"),
            (load.write_ops_per_s, Unit.PER_S, "random writes"),
        )
        if amount
    ]
    directory = f" ({human(load.ldap_ops_per_s, Unit.PER_S)} directory operations)" if load.ldap_ops_per_s is not None else ""
    return " and ".join(parts) + directory


def part_rows(sized: Sized) -> tuple[tuple[str, ...], ...]:
    """Return one line a part, in the order of the chain."""
    return tuple(_part_row(stage, stage.part.name == sized.first) for stage in sized.stages)


def _part_row(stage: SizedPart, is_first: bool) -> tuple[str, ...]:  # noqa: FBT001 - a column of the table
    counts = stage.nominal
    return (
        stage.part.name,
        laid_out(stage.part.speed, stage.part.layout),
        human(counts.read_bytes_per_s, Unit.BYTES_PER_S),
        "shared" if counts.shared and not counts.is_disk else human(counts.write_bytes_per_s, Unit.BYTES_PER_S),
        _ops(counts.read_ops_per_s),
        _ops(counts.write_ops_per_s),
        _measured(stage),
        _percent(stage.used) + (" first" if is_first else ""),
    )


def laid_out(speed: Speed, layout: Layout) -> str:
    """`6 x SATA 7200, raid10`."""
    return speed.text + (f", {layout}" if layout is not Layout.NONE else "")


def _measured(stage: SizedPart) -> str:
    rates = stage.part.measured
    parts = [
        f"{way} {human(amount, unit)}"
        for way, amount, unit in (
            ("R", rates.read_bytes_per_s, Unit.BYTES_PER_S),
            ("W", rates.write_bytes_per_s, Unit.BYTES_PER_S),
            ("", rates.ops_per_s, Unit.PER_S),
        )
        if amount is not None
    ]
    return ", ".join(part.strip() for part in parts) or "-"


def how(sized: Sized) -> tuple[str, ...]:
    """Return how each nominal limit comes about, a line a part."""
    return tuple(
        f"{stage.part.name}: {'; '.join(stage.part.speed.steps)}: {_each(stage.nominal)} ({stage.part.speed.source})"
        for stage in sized.stages
    )


def _each(counts: PartLimit) -> str:
    if counts.shared:
        return f"{human(counts.read_bytes_per_s, Unit.BYTES_PER_S)}, both directions together"
    return f"{human(counts.read_bytes_per_s, Unit.BYTES_PER_S)} each way"


def upgrade_rows(sized: Sized) -> tuple[tuple[str, ...], ...]:
    """Return what each upgrade buys."""
    return tuple(
        (
            one.part,
            laid_out(one.upgrade.speed, one.upgrade.layout),
            _bought(one),
            one.then_first,
            money(one.upgrade.price),
            _unit_price(one.upgrade.price, one.per_byte_per_s, MB),
            _unit_price(one.upgrade.price, one.per_op_per_s, 1),
        )
        for one in sized.upgrades
    )


def _bought(one: UpgradeGain) -> str:
    return (
        f"{_times(one.carries)} (no gain)"
        if one.gain < GAINED
        else f"{_times(one.carries)} ({units.digits(one.gain, trimmed=True)} x now)"
    )


def failure_rows(sized: Sized) -> tuple[tuple[str, ...], ...]:
    """Return what is left when one unit of each part fails."""
    return tuple((one.part, "nothing" if one.is_single else _times(one.carries), one.why) for one in sized.failures)


def costs(sized: Sized) -> str | None:
    """Return the price of the chain and of what it carries; None where a part has no price."""
    if sized.price is None:
        return None
    moved = carried(sized)
    each = [f"{money(sized.price)} in total, for {' and '.join(moved)}"] if moved else [money(sized.price)]
    if sized.per_byte_per_s is not None:
        each.append(f"{units.digits(sized.per_byte_per_s * MB, trimmed=True)} {sized.price.currency} per MB/s")
    if sized.per_op_per_s is not None:
        each.append(f"{units.digits(sized.per_op_per_s, trimmed=True)} {sized.price.currency} per random operation/s")
    return "; ".join(each) + "."


def carried(sized: Sized) -> list[str]:
    """Return the most that the chain carries of a load made as this one."""
    load = sized.chain.load
    amounts = ((bytes_of(load), Unit.BYTES_PER_S, ""), (ops_of(load), Unit.PER_S, " random operations"))
    parts = [f"{human(amount * sized.carries, unit)}{what}" for amount, unit, what in amounts if amount]
    if load.ldap_ops_per_s is not None:
        parts.append(f"{human(load.ldap_ops_per_s * sized.carries, Unit.PER_S)} directory operations")
    return parts


def remarks(sized: Sized) -> Iterator[str]:
    """Yield what a reader must know besides."""
    for stage in sized.stages:
        yield from (f"{one}. The measured figure is ignored." for one in stage.impossible)
    yield from of_upgrades(sized)
    yield from of_load(sized)
    singles = [one.part for one in sized.failures if one.is_single]
    if singles:
        yield f"Single points of failure: {', '.join(singles)}."
    if any(stage.limit.is_disk for stage in sized.stages):
        yield (
            "Shares of sequential and random work add up on a disk. Mixed work and rebuilds cost additional seeks. "
            "Disk classes are guides: measure your disks and set `measured`."
        )
    yield "Nominal limits are upper bounds of the line; hosts, protocols and small records reach less."


def of_upgrades(sized: Sized) -> Iterator[str]:
    """That a measured part is held against upgrades as their data sheets tell them."""
    for stage in sized.stages:
        if stage.part.upgrades and stage.part.measured != MeasuredLimit(source=stage.part.measured.source):
            yield (f"{stage.part.name} counts as measured, its upgrades by nominal speed: their gain may be smaller.")


def of_load(sized: Sized) -> Iterator[str]:
    """Yield what of the load takes nothing here, and what one stream alone does not get."""
    load, wires = sized.chain.load, [stage.part.name for stage in sized.stages if not stage.limit.is_disk]
    if load.commits:
        yield committing(load.commits)
    yield from load.notes
    if wires and ops_of(load) and not load.has_sizes:
        yield f"Random operations have no size here (operation_size), so they use nothing of {', '.join(wires)}."
    several = [one.part for one in sized.stages if not one.limit.is_disk and one.part.speed.count - one.part.standby > 1]
    if several:
        names = ", ".join(one.name for one in several)
        yield f"One stream uses one of several parallel units: only several streams reach the sum ({names})."


def committing(one: CommitLimit) -> str:
    """Return what flushing leaves to a single writer."""
    flush, each = human(round(one.flush_ns), Unit.NANOSECONDS), units.digits(one.flushes_each, trimmed=True)
    whose = "measured by dsio; for other disks set flush" if one.is_measured else "as in the file"
    return (
        f"{WRITER}: {human(one.commits_per_s, Unit.PER_S)} commits of at most {human(one.most_per_s, Unit.PER_S)} "
        f"({_percent(one.used)}), {each} flushes of {flush} each ({whose}). More disks do not help."
    )


def money(price: Price | None) -> str:
    """`1,200 EUR`, or `-`."""
    return f"{price.amount:,.10g} {price.currency}" if price is not None else "-"


def _unit_price(price: Price | None, per: float | None, size: float) -> str:
    return f"{units.digits(per * size, trimmed=True)} {price.currency}" if price is not None and per is not None else "-"


def _ops(value: float | None) -> str:
    return "-" if value is None else human(value, Unit.PER_S)


def _percent(share: float) -> str:
    if share > units.MOST_SHARE:
        return "all" if math.isinf(share) else units.percent(share)
    return f"{units.digits(share * 100, trimmed=True)} %"


def _times(value: float) -> str:
    return _percent(value) if value < 1 else units.times(value)
