"""The answer about a chain: what saturates first, what upgrades buy, what remains after a failure, what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.sizing.chain import Chain, Load, Part, Price, Upgrade
from assay.sizing.limits import Limit, limit, nominal, survives

IMPOSSIBLE = 1.02
"""A measured figure so many times above the nominal limit cannot be: the audit's rule L04 takes the same."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One part under the load."""

    part: Part
    nominal: Limit
    limit: Limit
    used: float
    """Share of it that the load takes; above 1 it does not carry it."""
    impossible: tuple[str, ...]
    """Measured figures that no such part can have reached."""


@dataclass(frozen=True, kw_only=True)
class Buying:
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

    chain: Chain
    stages: tuple[Stage, ...]
    carries: float
    """How many times the load the chain carries."""
    first: str
    """The part that saturates first."""
    upgrades: tuple[Buying, ...]
    failures: tuple[Failure, ...]
    price: Price | None
    """Of all parts; None where not every part has one."""
    per_byte_per_s: float | None
    """Price of a byte/s that the chain carries of this load."""
    per_op_per_s: float | None


def size(chain: Chain) -> Sized:
    """Everything that can be said of a chain. Its load asks for something, and it has a part."""
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


def bytes_of(load: Load) -> float:
    """Bytes/s that a load moves, both ways."""
    return load.reading + load.writing


def ops_of(load: Load) -> float:
    """Random operations/s that a load asks for."""
    return load.read_ops_per_s + load.write_ops_per_s


def _stage(part: Part, load: Load) -> Stage:
    counts = limit(part)
    return Stage(
        part=part, nominal=nominal(part), limit=counts, used=counts.used(load), impossible=tuple(_impossible(part, nominal(part)))
    )


def _impossible(part: Part, best: Limit) -> Iterator[str]:
    for way, told, most in (
        ("read", part.measured.read_bytes_per_s, best.read_bytes_per_s),
        ("write", part.measured.write_bytes_per_s, best.write_bytes_per_s),
    ):
        if told is not None and most and told > IMPOSSIBLE * most:
            ratio = f"{told / most:.3g} times what it can carry ({most / 1e6:.4g} MB/s)"
            yield f"{part.name}: a measured {way} of {told / 1e6:.4g} MB/s is {ratio}"


def _carries(parts: Sequence[Part], load: Load, of: Callable[[Part], Limit]) -> tuple[float, str]:
    """How many times a load fits, and the part that ends it: the first in the chain among equals."""
    used = [(of(part).used(load), part.name) for part in parts]
    most = max(share for share, _ in used)
    first = next(name for share, name in used if share == most)
    return (0.0 if math.isinf(most) else 1 / most if most else math.inf), first


def _upgrades(chain: Chain, now: float) -> Iterator[Buying]:
    for part in chain.parts:
        for upgrade in part.upgrades:
            changed = _upgraded(part, upgrade)
            parts = tuple(changed if one is part else one for one in chain.parts)
            then, first = _carries(parts, chain.load, limit)
            gained = then - now
            yield Buying(
                part=part.name,
                upgrade=upgrade,
                carries=then,
                gain=then / now if now else math.inf,
                then_first=first,
                per_byte_per_s=_per(upgrade.price, gained * bytes_of(chain.load)),
                per_op_per_s=_per(upgrade.price, gained * ops_of(chain.load)),
            )


def _upgraded(part: Part, upgrade: Upgrade) -> Part:
    """The part as it would be: what was measured of the old one says nothing of the new one."""
    return Part(
        name=part.name,
        speed=upgrade.speed,
        layout=upgrade.layout,
        standby=upgrade.standby,
        price=upgrade.price,
    )


def _failure(chain: Chain, part: Part) -> Failure:
    lives = survives(part, 1) and part.speed.count > 1
    degraded = [replace(one) for one in chain.parts]
    carries, _ = _carries(degraded, chain.load, lambda one: limit(one, 1 if one.name == part.name else 0))
    if part.speed.count == 1:
        why = "there is one of it: all stands still"
    elif not survives(part, 1):
        why = f"one of {part.speed.count} takes the data of all with it"
    elif part.speed.is_disk:
        why = f"its data is read from the others until {'the spare' if part.standby else 'a new one'} is rebuilt"
    elif part.standby:
        why = "one that stood by takes its place"
    else:
        why = f"{part.speed.count - 1} of {part.speed.count} carry on"
    return Failure(part=part.name, carries=carries if lives else 0.0, is_single=not lives, why=why)


def _whole_price(parts: Sequence[Part]) -> Price | None:
    prices = [part.price for part in parts]
    if not all(prices):
        return None
    known = [price for price in prices if price is not None]
    return Price(amount=sum(price.amount for price in known), currency=known[0].currency)


def _per(price: Price | None, amount: float) -> float | None:
    return price.amount / amount if price is not None and 0 < amount < math.inf else None
