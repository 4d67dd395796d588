"""mdtest: operations per second on files, directories and the tree, from its summary.

The figure is the column `Mean`: the mean of the rates of all iterations in ops/sec (mdtest 4.1 of IOR, src/mdtest.c). Operations
that did not run are printed as 0.000 and have no figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "mdtest's summary of rates (SUMMARY rate, or SUMMARY: up to 1.9)"
BEGUN = re.compile(r"mdtest-\S{1,40} was launched with .{1,80}")
HEADER = re.compile(r"SUMMARY(?: rate(?: \(in ops/sec\))?)?: \(of \d+ iterations\).*")
ROW = re.compile(r"\s*([A-Z][a-z]{1,20} [a-z]{1,20})\s*:?((?:\s+\d{1,15}\.\d{1,6}){4,8})\s*")
OPERATIONS = {
    "Directory creation": "mkdir",
    "Directory stat": "stat_dir",
    "Directory rename": "rename_dir",
    "Directory removal": "rmdir",
    "File creation": "create",
    "File stat": "stat",
    "File read": "read",
    "File rename": "rename",
    "File removal": "unlink",
    "Tree creation": "create_tree",
    "Tree removal": "remove_tree",
}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output, from its summary of rates, not of times.

    With statistics of each rank the columns of the iterations come last: the mean is the last but one in either form.
    """
    whole = printed.lines(text)
    inside = False
    for row in whole[printed.last_run(whole, BEGUN) :]:
        match = ROW.fullmatch(row)
        inside = bool(HEADER.fullmatch(row)) or (inside and not row.startswith("SUMMARY"))
        if inside and match and match[1] in OPERATIONS:
            mean = match[2].split()[-2]
            if float(mean) > 0:
                yield f"{OPERATIONS[match[1]]}.ops_per_s", printed.number(mean)


PARSER = Parser(
    name="mdtest",
    recognises=printed.prints(("mdtest",), HEADER),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
    tier=printed.of_device,
)
