"""What a unit of a measured rate costs: the target's price over the figure of a cell, per MB/s or per operation a second."""

from __future__ import annotations

from assay.frozen import dataclass
from assay.records import Cell, Experiment, TargetSpec
from assay.records.price import Price
from assay.units import Unit

SIZES = {Unit.BYTES_PER_S: (1e6, "MB/s"), Unit.PER_S: (1.0, "operation/s")}
"""Units of rates -> what a price is given for."""
SMALL = 0.01
"""A price below this needs significant digits instead of two decimals."""


@dataclass(frozen=True, kw_only=True)
class UnitPrice:
    """What one unit costs, with the interval of the figure: the lower the rate, the higher the price."""

    price: Price
    low: float | None
    high: float | None
    unit: str


def of_cell(experiment: Experiment, cell: Cell) -> UnitPrice | None:
    """Return the price of a unit of a cell's figure; None without a price, a figure that counts, or for what is no rate."""
    whole, figure = _target(experiment, cell), cell.estimate
    if whole is None or whole.price is None or figure is None or figure.unit not in SIZES or figure.value <= 0:
        return None
    size, unit = SIZES[Unit(figure.unit)]
    amount = whole.price.amount * size
    return UnitPrice(
        price=Price(amount=amount / figure.value, currency=whole.price.currency),
        low=amount / figure.high if figure.high else None,
        high=amount / figure.low if figure.low and figure.low > 0 else None,
        unit=unit,
    )


def _target(experiment: Experiment, cell: Cell) -> TargetSpec | None:
    first = experiment.first_target
    wanted = cell.levels.get("target", first.name if first else None)
    return next((one for one in experiment.targets if one.name == wanted), None)


def words(found: UnitPrice | None) -> str:
    """Return `9.50 EUR per MB/s (9.10 to 9.90)`; empty where there is no price."""
    if found is None:
        return ""
    interval = f" ({_amount(found.low)} to {_amount(found.high)})" if found.low is not None and found.high is not None else ""
    return f"{_amount(found.price.amount)} {found.price.currency} per {found.unit}{interval}"


def _amount(value: float) -> str:
    return f"{value:.3g}" if 0 < value < SMALL else f"{value:,.2f}"
