"""What an external command is expected to have done, so that what it reports can be held against it.

`EXPECTED`: its knobs `expected_count`, `expected_bytes` and `expected_read_share`; add them to KNOBS. They tell the command
nothing: rules G05 and G08 read them.
"""

from __future__ import annotations

from assay.catalogue import Unit
from assay.settings.knobs import number, quantity, share

EXPECTED = (
    number("expected_count", "how many answers each run must report (G05)", between=(0, None)),
    quantity("expected_bytes", "how many bytes each run must report (G05)", Unit.BYTES, between=(0, None)),
    share("expected_read_share", "share of reads among what it reads and writes (G08)"),
)
