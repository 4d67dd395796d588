"""The ladder of operations: three counts of each kind, without what Assay itself asked, and how they differ."""

from assay.evidence.operations import OperationGap, gaps, operations
from stage.operation_cases import TCP, asked, series

UNSENT, LOST, OTHERS, ELSEWHERE, UNCOUNTED = OperationGap


def ladder(case):
    return operations(case.run, case.phase, case.observations)


def test_how_three_counts_differ(subtests):
    for counts, lacking, expected in [
        ((10, 10, 10), 0, {}),
        ((10, 10, None), 0, {}),
        ((None, 10, 10), 0, {}),
        ((10, None, 10), 0, {}),
        ((10, 13, 13), 0, {OTHERS: 3}),
        ((10, 10, 13), 0, {ELSEWHERE: 3}),
        ((10, 12, 13), 0, {ELSEWHERE: 1, OTHERS: 2}),
        ((10, 8, 10), 0, {LOST: 2}),
        ((10, 8, 9), 0, {LOST: 2}),
        ((20, 10, 10), 0, {UNSENT: 10}),
        ((20, 10, None), 0, {UNSENT: 10}),
        ((20, 10, 10), 5, {UNSENT: 10}),
        ((20, 10, None), 5, {LOST: 10}),
        ((None, 10, 13), 5, {LOST: 3}),
        ((10, 10, 13), 5, {LOST: 3}),
        ((10, 10, 9), 0, {UNCOUNTED: 1}),
    ]:
        with subtests.test(counts=counts, lacking=lacking, expected=expected):
            assert gaps(*counts, lacking=lacking) == expected


def test_requests_on_lost_connections_may_not_have_been_sent():
    assert gaps(20, 19, 19, lacking=0, unsure=1) == {}
    assert gaps(20, 17, 17, lacking=0, unsure=1) == {UNSENT: 2}


def test_what_is_not_seen_has_no_counts():
    assert ladder(asked({"search": 40}, more=[series("wire", "search", 0, at_s=(-1,))])) is None, "nobody looked at the end"
    armed = series("wire", "search", 0, at_s=(-1, 100))
    assert ladder(asked({"search": 40}, more=[armed])).captured
    ended = asked({"search": 40}, more=[armed], missing={"wire.search": "observer wire failed: the capture ended early"})
    assert not ladder(ended).captured
    found = ladder(asked({"search": 5}, {"search": 6}, {"search": 6}))
    assert found.step("search").gaps == {OTHERS: 1}
    found = ladder(asked(wire={"search": 20}, server={"search": 20}, printed={"search.count": 40.0}))
    assert found.step("search").gaps == {UNSENT: 20}
    case = asked({"search": 5}, {"search": 0, "opaque_bytes": 900}, {"search": 5})
    found = ladder(case)
    assert (found.captured, found.encrypted_bytes, found.step("search").wire) == (False, 900, None)
    found = ladder(asked({"search": 5}, server={"search": 8}))
    assert (found.captured, found.step("search").client, found.step("search").server) == (False, 5, 8)
    assert ladder(asked({"search": 5})) is None
    assert ladder(asked({"search": 5}, {"search": 5, "capture_drops": 7, "gaps": 2})).lacking == 9


def test_each_kind_by_each_of_the_three():
    found = ladder(
        asked({"search": 5, "rename": 2}, {"search": 5, "rename": 2, "bind": 0}, {"search": 5, "rename": 2, "bind": 0})
    )
    assert [(one.operation, one.client, one.wire, one.server) for one in found.steps] == [
        ("search", 5, 5, 5),
        ("rename", 2, 2, 2),
    ]
    assert (found.captured, found.monitored, found.lacking) == (True, True, 0)


def test_looks_at_the_monitor_over_the_wire_are_taken_off():
    # The look before the clock ends before the capture's own one, so only the look after the last operation is in its counts.
    later = series("directory", "search", 5, at_s=(-2, 1.5))
    case = asked({"search": 5}, {"search": 6, "bind": 1}, more=[later], monitor=TCP)
    found = ladder(case)
    search, bind = found.step("search"), found.step("bind")
    assert (search.wire, search.own, search.gaps) == (5, 1, {})
    assert bind is None


def test_others_are_named_by_address_without_the_loads_own():
    clients = [
        series("wire", "search", 12, "client:10.0.0.1"),
        series("wire", "search", 3, "client:10.0.0.2"),
        series("wire", "bind", 1, "client:10.0.0.2"),
    ]
    found = ladder(asked({"search": 10}, {"search": 15, "bind": 1}, {"search": 15, "bind": 1}, more=clients))
    assert found.step("search").others == {"10.0.0.1": 2, "10.0.0.2": 3}
    assert found.step("bind").others == {"10.0.0.2": 1}
