"""HammerDB: transactions and new orders of TPROC-C, per second.

It prints both per minute (`NOPM` of the schema, `TPM` of the database); the figures are a 60th of them. Transactions of the
database are those of all its users. A test in which a virtual user failed has no figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "HammerDB's line `TEST RESULT : System achieved N NOPM from M TPM` of TPROC-C"
RESULT = re.compile(
    r".{0,200}TEST RESULT : System achieved "
    r"(?:(?P<nopm>\d{1,15}) NOPM from (?P<tpm>\d{1,15}) .{0,40}TPM"
    r"|(?P<tpm_3>\d{1,15}) .{1,40}TPM at (?P<nopm_3>\d{1,15}) NOPM)\s*"
)
FAILED = re.compile(r".{0,200}Vuser \d{1,6}:FINISHED FAILED.{0,200}")
SAID = re.compile(
    r".{0,100}(?:HammerDB CLI v|Vuser \d{1,6}:|Hammerdb (?:Time Profile Report|Transaction Counter Log) @ ).{1,200}"
)
PER_MINUTE = 1 / 60


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last result in the output."""
    rows = printed.lines(text)
    if failed := printed.first_match(rows, FAILED):
        raise ValueError(f"virtual user ({failed[0].strip()[:60]!r})")
    for match in (match for row in rows if (match := RESULT.fullmatch(row))):
        yield "transaction_new_order.ops_per_s", printed.number(match["nopm"] or match["nopm_3"], PER_MINUTE)
        yield "transaction.ops_per_s", printed.number(match["tpm"] or match["tpm_3"], PER_MINUTE)


PARSER = Parser(
    name="hammerdb",
    programs=("hammerdbcli", "hammerdb"),
    recognises=printed.prints(("hammerdbcli", "hammerdb"), SAID, RESULT),
    **printed.reads(_figures, EXPECTED, ends=RESULT),
)
