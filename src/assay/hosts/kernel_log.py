"""The kernel's log, read on from where it was last read: a look costs what is new in it, not what is in it."""

from __future__ import annotations

import os

DEVICE = "/dev/kmsg"
LONGEST_RECORD = 8192
"""A read gives one record, and is refused where the buffer is too small for it (Linux: ABI/testing/dev-kmsg)."""
MOST_RECORDS = 10_000
"""Of a log that is written faster than it is read."""
LOST = "lost"
"""A line of its own where records were overwritten before they could be read."""


class KernelLog:
    """Stays open from look to look; the first one only finds the end."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def since(self) -> str:
        """The records since the former call, each as the device gives it; empty at the first. Raises OSError."""
        if self._descriptor is None:
            self._descriptor = os.open(DEVICE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        records: list[str] = []
        while len(records) < MOST_RECORDS:
            try:
                records.append(os.read(self._descriptor, LONGEST_RECORD).decode(errors="replace").rstrip("\n"))
            except BlockingIOError:
                return "\n".join(records)
            except BrokenPipeError:
                records.append(LOST)
        return "\n".join((*records, LOST))
