"""Write a job file of fio as an experiment file (`assay from-fio`)."""

from __future__ import annotations

import sys
from pathlib import Path

from assay.errors import UsageError
from assay.experiment.fio_job import translated
from assay.plain import to_plain
from assay.terminal.output import STANDARD_OUTPUT, deliver, say

MOST_BYTES = 1 << 20


def from_fio(job: Path, json_to: str | None) -> int:
    """Print the experiment file, and on standard error what it cannot say. Raises UsageError, InputErrors."""
    try:
        with job.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{job}: {error.strerror}; expected a job file of fio") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{job}: found over {MOST_BYTES >> 20} MiB; expected a job file of fio")
    found = translated(data.decode("utf-8-sig", errors="replace"), str(job))
    deliver(json_to, "from-fio", lambda: to_plain(found), found.text.rstrip)
    for one in found.left_out if json_to != STANDARD_OUTPUT else ():
        say(f"assay: {job}: {one}", sys.stderr)
    return 0
