"""Sizes a chain: what a part carries, which share of it the load uses, what saturates first, what an upgrade buys.

Random writes cost a layout several operations of its disks: 2 in mirrors, 4 with one parity, 6 with two (read old data and
parity, write new ones): Patterson, Gibson, Katz, "A case for redundant arrays of inexpensive disks", SIGMOD 1988; two
parities likewise. With a disk lost, what is spread evenly waits for the mirror that is left alone, so mirrors read half; a read
of what was on the lost disk is one of all that its parity needs, so of n disks with p parities and f lost the random reads of
n / (1 + f (n - p) / (n - f)) are left, half of them with one parity: Holland, Gibson, "Parity declustering for continuous
operation in redundant disk arrays", ASPLOS 1992.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay import units
from assay.records.price import Price
from assay.sizing.chain import ChainLoad, ChainPart, Layout, PartChain, Upgrade
from assay.units import Unit

PARITY: Mapping[Layout, int] = {Layout.RAID5: 1, Layout.RAID6: 2}
"""Disks' worth of parity."""
WRITES: Mapping[Layout, int] = {Layout.RAID10: 2, Layout.RAID5: 4, Layout.RAID6: 6}
"""Operations of the disks for a random write."""
LEAST_DISKS: Mapping[Layout, int] = {Layout.RAID0: 2, Layout.RAID10: 2, Layout.RAID5: 3, Layout.RAID6: 4}


@dataclass(frozen=True, kw_only=True)
class PartLimit:
    """What a part carries a second; 0 where nothing is left of it, None where it sets no limit."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    shared: bool
    """Whether reads and writes take from one capacity."""
    read_ops_per_s: float | None
    write_ops_per_s: float | None
    is_disk: bool

    def used(self, load: ChainLoad) -> float:
        """Return the share of the part that a load takes (0..); infinite where nothing is left and something is asked.

        Disks move heads or move data: random operations take their time by number, sequential ones by bytes. On a wire all
        are bytes.
        """
        if self.is_disk:
            return sum(
                (
                    _share(load.read_bytes_per_s, self.read_bytes_per_s),
                    _share(load.write_bytes_per_s, self.write_bytes_per_s),
                    _share(load.read_ops_per_s, self.read_ops_per_s),
                    _share(load.write_ops_per_s, self.write_ops_per_s),
                )
            )
        each = _share(load.reading, self.read_bytes_per_s), _share(load.writing, self.write_bytes_per_s)
        by_bytes = sum(each) if self.shared else max(each)
        by_number = _share(load.read_ops_per_s, self.read_ops_per_s) + _share(load.write_ops_per_s, self.write_ops_per_s)
        return max(by_bytes, by_number)


def _share(load: float, limit: float | None) -> float:
    if not load or limit is None:
        return 0.0
    return load / limit if limit else float("inf")


@dataclass(frozen=True, kw_only=True)
class Units:
    """How many units' worth of a part is the user's, in bytes and in random operations."""

    read: float = 0.0
    write: float = 0.0
    random_read: float = 0.0
    random_write: float = 0.0


def nominal(part: ChainPart, failed: int = 0) -> PartLimit:
    """Return what the part should carry by its speed, with some of its units failed."""
    speed, units = part.speed, at_work(part, failed)
    return PartLimit(
        read_bytes_per_s=units.read * speed.bytes_per_s,
        write_bytes_per_s=units.write * speed.bytes_per_s,
        shared=speed.shared,
        read_ops_per_s=None if speed.read_ops_per_s is None else units.random_read * speed.read_ops_per_s,
        write_ops_per_s=None if speed.write_ops_per_s is None else units.random_write * speed.write_ops_per_s,
        is_disk=speed.is_disk,
    )


def at_work(part: ChainPart, failed: int) -> Units:
    """Return what is left of the units; a disk that stood by counts only when it is rebuilt, any other unit at once."""
    full = part.speed.count - part.standby
    if not survives(part, failed):
        return Units()
    if part.layout is Layout.RAID10:
        readers = full / 2 if failed else full
        return Units(read=readers, write=full / 2, random_read=readers, random_write=full / WRITES[part.layout])
    if part.layout in PARITY:
        return of_parity(full, PARITY[part.layout], failed, WRITES[part.layout])
    active = max(0, min(full, part.speed.count - failed))
    return Units(read=active, write=active, random_read=active, random_write=active)


def of_parity(full: int, parity: int, failed: int, writes: int) -> Units:
    """Return the same of disks with parity: whole stripes in sequence, single reads and writes at random."""
    left = full - failed
    whole = left * (full - parity) / full
    return Units(
        read=whole,
        write=whole,
        random_read=full / (1 + failed * (full - parity) / left),
        random_write=left / writes,
    )


def survives(part: ChainPart, failed: int) -> bool:
    """Return whether anything is left with so many units failed: a stripe without copies is not."""
    if failed == 0:
        return True
    if part.speed.is_disk and part.layout in (Layout.NONE, Layout.RAID0):
        return False
    bearable = {Layout.RAID10: 1, Layout.RAID5: 1, Layout.RAID6: 2}.get(part.layout, part.speed.count - 1)
    return failed <= bearable


def limit(part: ChainPart, failed: int = 0) -> PartLimit:
    """Return what counts: what was measured of it where that is told, reduced as the nominal limit is by a failure."""
    whole, left = nominal(part), nominal(part, failed)
    measured = part.measured
    return PartLimit(
        read_bytes_per_s=_left_of_measured(measured.read_bytes_per_s, left.read_bytes_per_s, whole.read_bytes_per_s),
        write_bytes_per_s=_left_of_measured(measured.write_bytes_per_s, left.write_bytes_per_s, whole.write_bytes_per_s),
        shared=whole.shared,
        read_ops_per_s=_left_of_measured_ops(measured.ops_per_s, left.read_ops_per_s, whole.read_ops_per_s),
        write_ops_per_s=_left_of_measured_ops(measured.ops_per_s, left.write_ops_per_s, whole.read_ops_per_s),
        is_disk=whole.is_disk,
    )


def _left_of_measured(measured: float | None, left: float, whole: float) -> float:
    return left if measured is None else min(measured, whole) * (left / whole if whole else 0.0)


def _left_of_measured_ops(measured: float | None, left: float | None, whole: float | None) -> float | None:
    """Scale a measured number of reads; writes keep their ratio to reads."""
    if measured is None:
        return left
    if left is None or not whole:
        return measured
    return measured * left / whole


WRITER = "flushes of one writer"
"""What limits commits beside the parts."""
IMPOSSIBLE = 1.02
"""A measured figure so many times above the nominal limit cannot be: the audit's rule L04 takes the same."""


@dataclass(frozen=True, kw_only=True)
class SizedPart:
    """One part under the load."""

    part: ChainPart
    nominal: PartLimit
    limit: PartLimit
    used: float
    """Share of it that the load takes; above 1 it does not carry it."""
    impossible: tuple[str, ...]
    """Measured figures that no such part can have reached."""


@dataclass(frozen=True, kw_only=True)
class UpgradeGain:
    """What an upgrade of one part buys."""

    part: str
    upgrade: Upgrade
    carries: float
    """How many times the chain carries the load then."""
    gain: float
    """That over what it carries now; 1 buys nothing."""
    then_first: str
    """The part that saturates first then."""
    per_byte_per_s: float | None
    """Price of a further byte/s of the load; None without a price, or where nothing is gained."""
    per_op_per_s: float | None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What is left when one unit of a part fails."""

    part: str
    carries: float
    is_single: bool
    """Whether nothing of the part is left, or its data is gone."""
    why: str


@dataclass(frozen=True, kw_only=True)
class Sized:
    """The whole answer."""

    chain: PartChain
    stages: tuple[SizedPart, ...]
    carries: float
    """How many times the load the chain carries."""
    first: str
    """The part that saturates first."""
    upgrades: tuple[UpgradeGain, ...]
    failures: tuple[Failure, ...]
    price: Price | None
    """Of all parts; None where not every part has one."""
    per_byte_per_s: float | None
    """Price of a byte/s that the chain carries of this load."""
    per_op_per_s: float | None


def size(chain: PartChain) -> Sized:
    """Return everything that can be said of a chain. Its load asks for something, and it has a part."""
    stages = tuple(_stage(part, chain.load) for part in chain.parts)
    carries, first = _carries(chain.parts, chain.load, limit)
    price = _whole_price(chain.parts)
    return Sized(
        chain=chain,
        stages=stages,
        carries=carries,
        first=first,
        upgrades=tuple(_upgrades(chain, carries)),
        failures=tuple(_failure(chain, part) for part in chain.parts),
        price=price,
        per_byte_per_s=_per(price, carries * bytes_of(chain.load)),
        per_op_per_s=_per(price, carries * ops_of(chain.load)),
    )


def bytes_of(load: ChainLoad) -> float:
    """Return bytes/s that a load moves, both ways."""
    return load.reading + load.writing


def ops_of(load: ChainLoad) -> float:
    """Random operations/s that a load asks for."""
    return load.read_ops_per_s + load.write_ops_per_s


def _stage(part: ChainPart, load: ChainLoad) -> SizedPart:
    counts = limit(part)
    return SizedPart(
        part=part, nominal=nominal(part), limit=counts, used=counts.used(load), impossible=tuple(_impossible(part, nominal(part)))
    )


def _impossible(part: ChainPart, best: PartLimit) -> Iterator[str]:
    for way, rate, most in (
        ("read", part.measured.read_bytes_per_s, best.read_bytes_per_s),
        ("write", part.measured.write_bytes_per_s, best.write_bytes_per_s),
    ):
        if rate is not None and most and rate > IMPOSSIBLE * most:
            figure, most_text = (units.human(one, Unit.BYTES_PER_S, 4) for one in (rate, most))
            yield f"{part.name}: measured {way} {figure}, {units.times(rate / most)} its limit ({most_text})"


def _carries(parts: Sequence[ChainPart], load: ChainLoad, of: Callable[[ChainPart], PartLimit]) -> tuple[float, str]:
    """Return how many times a load fits, and the part that ends it: the first in the chain among equals, the writer last."""
    used = [(of(part).used(load), part.name) for part in parts]
    used += [(load.commits.used, WRITER)] if load.commits else []
    most = max(share for share, _ in used)
    first = next(name for share, name in used if share == most)
    return (0.0 if math.isinf(most) else 1 / most if most else math.inf), first


def _upgrades(chain: PartChain, now: float) -> Iterator[UpgradeGain]:
    for part in chain.parts:
        for upgrade in part.upgrades:
            changed = _upgraded(part, upgrade)
            parts = tuple(changed if one is part else one for one in chain.parts)
            then, first = _carries(parts, chain.load, limit)
            gained = then - now
            yield UpgradeGain(
                part=part.name,
                upgrade=upgrade,
                carries=then,
                gain=then / now if now else math.inf,
                then_first=first,
                per_byte_per_s=_per(upgrade.price, gained * bytes_of(chain.load)),
                per_op_per_s=_per(upgrade.price, gained * ops_of(chain.load)),
            )


def _upgraded(part: ChainPart, upgrade: Upgrade) -> ChainPart:
    """Return the part as it would be: what was measured of the old one says nothing of the new one."""
    return ChainPart(
        name=part.name,
        speed=upgrade.speed,
        layout=upgrade.layout,
        standby=upgrade.standby,
        price=upgrade.price,
    )


def _failure(chain: PartChain, part: ChainPart) -> Failure:
    lives = survives(part, 1) and part.speed.count > 1
    degraded = [replace(one) for one in chain.parts]
    carries, _ = _carries(degraded, chain.load, lambda one: limit(one, 1 if one.name == part.name else 0))
    if part.speed.count == 1:
        why = "single point of failure: throughput 0"
    elif not survives(part, 1):
        why = f"losing 1 of {part.speed.count} loses all data"
    elif part.speed.is_disk:
        why = f"the other disks serve its data until {'the spare' if part.standby else 'a replacement'} is rebuilt"
    elif part.standby:
        why = "a standby unit takes over"
    else:
        why = f"{part.speed.count - 1} of {part.speed.count} units remain"
    return Failure(part=part.name, carries=carries if lives else 0.0, is_single=not lives, why=why)


def _whole_price(parts: Sequence[ChainPart]) -> Price | None:
    prices = [part.price for part in parts]
    if not all(prices):
        return None
    known = [price for price in prices if price is not None]
    return Price(amount=sum(price.amount for price in known), currency=known[0].currency)


def _per(price: Price | None, amount: float) -> float | None:
    return price.amount / amount if price is not None and 0 < amount < math.inf else None
