"""Segments that the ends of a TCP load sent again: of each connection by its kernel, else of each end's network namespace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalogue import TrialCase
from assay.evidence import ladder
from assay.measures import connections
from assay.records import Observations

LAYER = "end_network"
NAMES = ("retransmits", "dsacks", "reorderings", "segments_out")
COUNTERS = ("tcp_retransmitted_segments", "tcp_dsacks", "tcp_reorderings", "tcp_sent_segments")


@dataclass(frozen=True, kw_only=True)
class SentAgain:
    """What an end sent again, how much of it its peer had already, and why it may have been."""

    end: str
    again: float
    needless: float
    reorderings: float
    sent: float

    @property
    def needless_share(self) -> float:
        """Of the segments sent again, those that had arrived."""
        return min(1.0, self.needless / self.again) if self.again else 0.0

    @property
    def needed_share(self) -> float:
        """Of all segments, those sent again that had not arrived."""
        return max(0.0, self.again - self.needless) / self.sent if self.sent else 0.0

    @property
    def share(self) -> float:
        """Of all segments, those sent again."""
        return self.again / self.sent if self.sent else 0.0


def of_ends(case: TrialCase) -> list[SentAgain]:
    """The ends that sent segments, by their connections where the kernel tells them, else by their namespaces."""
    return [one for one in by_connection(case) if one.sent] or [one for one in by_namespace(case) if one.sent]


def by_connection(case: TrialCase) -> Iterator[SentAgain]:
    """The connections of each end of Assay, all together."""
    for end, clients in (("the load", case.phase.clients), ("the server", case.phase.servers)):
        known = connections.sums(clients, NAMES)
        if known is not None:
            again, needless, reorderings, sent = (float(known[name]) for name in NAMES)
            yield SentAgain(end=end, again=again, needless=needless, reorderings=reorderings, sent=sent)


def by_namespace(case: TrialCase) -> Iterator[SentAgain]:
    """The network namespaces of foreign ends."""
    for seen in case.sides():
        spaces = {one.subject for one in seen.over_time(case.phase.name, LAYER, COUNTERS[0])}
        for number, space in enumerate(sorted(spaces), start=1):
            each = [risen(case, seen, space, name) for name in COUNTERS]
            if each[0] is not None and each[1] is not None and each[3] is not None:
                end = f"network namespace {number}" if len(spaces) > 1 else "the ends' network namespace"
                yield SentAgain(end=end, again=each[0], needless=each[1], reorderings=each[2] or 0.0, sent=each[3])


def risen(case: TrialCase, seen: Observations, space: str, metric: str) -> float | None:
    """By how much a counter of a namespace rose under the clock; None if nobody counted."""
    series = next(seen.over_time(case.phase.name, LAYER, metric, space), None)
    return None if series is None else ladder.rise(series, case.phase.start_ns, case.phase.end_ns)
