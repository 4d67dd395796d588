"""HammerDB: transactions and new orders of TPROC-C per second, and the times of the query sets of TPROC-H.

It prints both per minute (`NOPM` of the schema, `TPM` of the database); the figures are a 60th of them. Transactions of the
database are those of all its users. A test in which a virtual user or a query failed has no figure. A virtual
user of TPROC-H tells the seconds of its query sets; those of each query are figures where only one user ran them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = (
    "HammerDB's line `TEST RESULT : System achieved N NOPM from M TPM` of TPROC-C, or `Completed N query set(s)` of TPROC-H"
)
RESULT = re.compile(
    r".{0,200}TEST RESULT : System achieved "
    r"(?:(?P<nopm>\d{1,15}) NOPM from (?P<tpm>\d{1,15}) .{0,40}TPM"
    r"|(?P<tpm_3>\d{1,15}) .{1,40}TPM at (?P<nopm_3>\d{1,15}) NOPM)\s*"
)
FAILED = re.compile(r".{0,200}(?:Vuser \d{1,6}:FINISHED FAILED|Vuser \d{1,6}:Query Failed : |Error in Virtual User \d).{0,9000}")
SETS = re.compile(r".{0,100}Vuser (\d{1,6}):Completed (\d{1,9}) query set\(s\) in (\d{1,9}) seconds\s*")
QUERY = re.compile(r".{0,100}Vuser (\d{1,6}):query (\d{1,2}) completed in ([\d.]{1,20}) seconds\s*")
SAID = re.compile(
    r".{0,100}(?:HammerDB CLI v|Vuser \d{1,6}:|Hammerdb (?:Time Profile Report|Transaction Counter Log) @ ).{1,200}"
)
PER_MINUTE = 1 / 60


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last result in the output."""
    rows = printed.lines(text)
    for match in (match for row in rows if (match := RESULT.fullmatch(row))):
        yield "transaction_new_order.ops_per_s", printed.number(match["nopm"] or match["nopm_3"], PER_MINUTE)
        yield "transaction.ops_per_s", printed.number(match["tpm"] or match["tpm_3"], PER_MINUTE)
    yield from _query_sets(rows)


def _query_sets(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of TPROC-H: the time of the slowest user, and of each query of a single one."""
    sets = [match for row in rows if (match := SETS.fullmatch(row))]
    if not sets:
        return
    yield "request_query_set.count", printed.exact(sum(int(match[2]) for match in sets))
    yield "request_query_set.elapsed_ns", printed.number(max((match[3] for match in sets), key=int), printed.SECOND)
    each = [match for row in rows if (match := QUERY.fullmatch(row))]
    if len(sets) == 1 and len({match[2] for match in each}) == len(each):
        yield from ((f"request_query_{match[2]}.elapsed_ns", printed.number(match[3], printed.SECOND)) for match in each)


PARSER = Parser(
    name="hammerdb",
    programs=("hammerdbcli", "hammerdb"),
    recognises=printed.prints(("hammerdbcli", "hammerdb"), SAID, RESULT),
    **printed.reads(_figures, EXPECTED, ends=RESULT, broken=FAILED),
)
