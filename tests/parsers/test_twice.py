"""Each recorded result twice in one text: two runs, a refusal with its reason, or a form whose runs cannot be told apart."""

import pytest

from assay.catalogue import console
from assay.errors import EvidenceError
from assay.watch import imported
from stage.parser_cases import OUTPUT

FORMS = {
    "scp": "a line a file: one copy of many files looks the same",
    "rsync-3.5.0-progress2": "lines of a progress, without a summary that ends one",
    "ldclt": "each line has the number of its process: the text given twice is of one process",
    "hammerdb-4-tproc-h": "sets of queries of one log",
    "iozone-pdsh-three-hosts": "a line a host: which pass a line is of is not told",
    "iozone-quoted-mail": "a table cut out of a mail, without a head",
    "searchrate-odsee-11": "a line without a head",
    "iperf2-2.0.5-two-streams-without-head": "a report without its head",
}
"""What is read as one run, by how its name begins, and why."""


def texts():
    for folder in ("output", "published"):
        for path in sorted((OUTPUT.parent / folder).iterdir()):
            text = console.decoded(path.read_bytes())
            yield path.name, text if text.endswith("\n") else text + "\n"


def runs(text):
    try:
        return len(imported.all_runs(text)[0])
    except EvidenceError:
        return 0


@pytest.mark.slow
def test_what_is_given_twice_is_two_runs_or_refused():
    found = {name: (runs(text), runs(text + text)) for name, text in texts()}
    wrong = {name: each for name, each in found.items() if each[0] and each[1] not in (0, 2 * each[0])}
    grown = {"fio-3.33-text-polluted.txt"}  # reports that grow are one run, until they begin anew
    assert {name for name in wrong if not name.startswith(tuple(FORMS))} <= grown
    assert sum(each[1] == 2 * each[0] for each in found.values() if each[0]) >= 365
