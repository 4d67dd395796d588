"""G10: confirmations of sends without a copy that say they were copied."""

from dataclasses import replace

from assay.records import State
from assay.rules.zerocopy_copied import RULE
from stage.network_cases import between, connection, end
from stage.said import FAIL, PASS, QUALIFIES, UNVERIFIED, hold


def judged(zerocopy, asked=False):
    case = between("G10", load=end(connection(), zerocopy=zerocopy))
    trial = replace(case.run.trial, levels={f"{case.measure.workload}.zerocopy": asked})
    return RULE.check(replace(case, run=replace(case.run, trial=trial)))


def test_what_the_load_receives_is_sent_by_the_server():
    case = between("G10", server=end(connection(), zerocopy=(10, 10)), operation="receive")
    assert RULE.check(case).state is State.FAIL
    assert RULE.applies(case) is None
    assert RULE.applies(between("G10", operation="transaction"))


def test_states():
    hold(
        ("copied all the same", judged((200, 190)), FAIL, QUALIFIES, "190 of 200"),
        ("mostly without a copy", judged((200, 2)), PASS),
        ("sends with a copy are as the workload says", judged(None), PASS),
        ("asked for, and nothing told", judged(None, asked=True), UNVERIFIED),
        ("without confirmations nothing is known", judged((0, 0)), UNVERIFIED),
    )
