"""What the looks of several hosts ask for: machines of one experiment are asked alike, so the first one tells for the others."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.hosts.far_look import Asked

LEAD_S = 3.0
"""So long a host waits for the first one that makes this look; then it asks by itself."""
_OF_A_PROCESS = re.compile(r"/proc/\d+(/|$)")


def recalled(known: Mapping[str, Asked], name: str) -> Asked:
    """Return what the look of this name asked, else what the smallest look did that has all of its observers."""
    if name in known:
        return known[name]
    wanted = set(name.split())
    wider = [other for other in known if wanted <= set(other.split())]
    return known[min(wider, key=len)] if wider else ()


@dataclass
class SharedLooks:
    """The questions of each look by its name, of all hosts together; processes are those of one host."""

    _known: dict[str, Asked] = field(default_factory=dict)
    _led: dict[str, threading.Event] = field(default_factory=dict)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, name: str) -> Asked:
        """Return what another host was asked in this look; the first host gets nothing, and the others wait for it."""
        with self._mutex:
            found, led = recalled(self._known, name), self._led.get(name)
            if not found and led is None:
                self._led[name] = threading.Event()
        if found or led is None:
            return found
        led.wait(LEAD_S)
        with self._mutex:
            return recalled(self._known, name)

    def learn(self, name: str, asked: Asked) -> None:
        """Keep what a host was asked."""
        with self._mutex:
            self._known.setdefault(name, tuple(one for one in asked if not _OF_A_PROCESS.match(one[1])))
            led = self._led.setdefault(name, threading.Event())
        led.set()
