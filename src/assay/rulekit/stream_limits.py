"""What of a TCP stream's buffers decides its rate: the window, the sender's buffer, or a reader that is slow.

The case's thresholds are `window_share`, `limited_share`, `little_share` and `restless_share`.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import TrialCase
from assay.measures.connections import StreamUse
from assay.units import Unit


def limiter(case: TrialCase, use: StreamUse, restless: float | None) -> tuple[str | None, str]:
    """What the number is limited by, None where no buffer limits it, and the figures."""
    limits, window, share = case.thresholds, use.window_bytes, use.window_share
    way = f"{bytes_of(use.on_the_way_bytes)} on the way ({measures.with_unit(use.rtt_ns, Unit.NANOSECONDS)} round trip)"
    granted = f"{way} of a window of {bytes_of(window)}" if window else way
    if share is not None and share >= limits["window_share"]:
        return "limited by the receive window", granted
    short = use.buffer_limited_share
    if short is not None and short >= limits["limited_share"]:
        return (
            "limited by the sender's buffer",
            f"{granted}; the sender waited for its buffer {measures.percent(short)} of the time",
        )
    full = use.receiver_limited_share
    if full is not None and full >= limits["limited_share"]:
        words = f"{granted}; the window was full {measures.percent(full)} of the time"
        if restless is not None and restless >= limits["restless_share"]:
            return None, f"{words}, because the receiver lacked CPU time (L12)"
        if share is not None and share >= limits["little_share"]:
            return "limited by the receive window", words
        return "limited by a slow reader (the receiver's TCP queue was full)", words
    known = f"; window full {measures.percent(full)} of the time" if full is not None else ""
    return None, f"{granted}{known}"


def bytes_of(amount: float) -> str:
    """An amount with its unit."""
    return measures.with_unit(amount, Unit.BYTES)
