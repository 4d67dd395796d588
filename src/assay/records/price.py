"""What something costs, in one currency, and what a unit of its rate costs."""

from __future__ import annotations

import re

from assay.frozen import dataclass

EXAMPLE = 'a price such as "1200 EUR" or "1,200.50 EUR"'
"""What is expected, in words."""
_PRICE = re.compile(r"\s*(?P<amount>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,2})?)\s*(?P<currency>[A-Z]{3})\s*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Price:
    """What something costs, in one currency."""

    amount: float
    currency: str


def price_of(text: object) -> Price | None:
    """Return the price that a text names (`1,200.50 EUR`); None where it names none."""
    match = _PRICE.fullmatch(text) if isinstance(text, str) else None
    return None if match is None else Price(amount=float(match["amount"].replace(",", "")), currency=match["currency"])
