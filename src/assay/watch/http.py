"""Looks at the answers of an HTTP server while a command that loads it runs, a few milliseconds at a time."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Sequence

from assay.hosts import http_answers
from assay.records import HttpAnswers

URL = re.compile(r"http://(?:[^/\s@]*@)?(?:\[[0-9a-fA-F:.]+\]|[^/:\s\[\]]+)(?::(\d{1,5}))?(?:[/?#]|$)")
DEFAULT_PORT, MOST_PORT = 80, 65535
LOOK_S, FIRST_S, SLOWER, MOST_S = 0.005, 0.1, 1.5, 5.0
"""How long a look takes; after how long the first one comes, and how much later each further one."""


def port_of(argv: Sequence[str]) -> int | None:
    """Return the port of the first URL without TLS in the words; None where there is none."""
    found = next((match for word in argv[1:] for match in [URL.search(word)] if match), None)
    port = int(found[1] or DEFAULT_PORT) if found else 0
    return port if 0 < port <= MOST_PORT else None


class AnswerLooks:
    """A thread that looks again and again; nothing is seen where nobody may look."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._found: Counter[http_answers.Answer] = Counter()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait_s = FIRST_S
        with contextlib.suppress(OSError):
            while not self._over.wait(wait_s):
                self._found += http_answers.look(self._port, LOOK_S)
                wait_s = min(MOST_S, wait_s * SLOWER)

    def seen(self) -> HttpAnswers:
        """Stop, and return what was seen."""
        self._over.set()
        self._thread.join()
        statuses: Counter[int] = Counter()
        for one, count in self._found.items():
            statuses[one.status] += count
        empty = sum(count for one, count in self._found.items() if one.is_empty)
        return HttpAnswers(statuses=dict(statuses), empty=empty)
