"""Numbers in the output of a command: recorded texts of several systems, and every way to find none."""

from assay.evidence import observed
from assay.records import Edge, ObserveKind, ObserveSpec, Snapshot

FREEBSD = """1026/4299/5325 mbufs in use (current/cache/total)
1024/1776/2800/1015476 mbuf clusters in use (current/cache/total/max)
0/0/0 requests for mbufs denied (mbufs/clusters/mbuf+clusters)
"""
NFSSTAT = """Server Cache Stats:
   Inprog     Idem Non-idem   Misses
        0        0        0    1,204
"""
CLUSTERS = r"^(?P<used>\d+)/\d+/\d+/(?P<limit>\d+) mbuf clusters"


def spec(pattern=r"(\d+)", **more):
    return ObserveSpec(**{"name": "x", "hosts": ("s",), "argv": ("tool", "-m"), "every_ns": 10**9, "pattern": pattern, **more})


def looks(*outputs):
    return [
        Snapshot(edge=Edge.POLL, at_ns=at * 10**9, took_ns=1, raw={observed.OUTPUT: text} if isinstance(text, str) else text)
        for at, text in enumerate(outputs)
    ]


def parsed(asked, *outputs):
    return observed.parsed(asked, "s", "p", looks(*outputs))


def values(evidence):
    return {one.metric: list(one.value) for one in evidence.series}


def test_groups_are_series_and_counters_begin_at_zero():
    (series,) = parsed(spec(), "5 threads", "7 threads").series
    assert (series.layer, series.metric, series.unit, series.host, series.phase) == ("observe", "x", "count", "s", "p")
    assert (list(series.at_ns), list(series.value), series.subject) == ([0, 10**9], [5.0, 7.0], "")
    evidence = parsed(spec(CLUSTERS, name="mbufs"), FREEBSD)
    assert values(evidence) == {"mbufs.used": [1024.0], "mbufs.limit": [1015476.0], "mbufs.used_share": [1024 / 1015476]}
    assert {one.metric: one.unit for one in evidence.series}["mbufs.used_share"] == "share"
    assert evidence.missing == {}
    (series,) = parsed(spec(kind=ObserveKind.COUNTER), "100", "103", "110").series
    assert list(series.value) == [0.0, 3.0, 10.0]
    assert observed.counts(series)
    assert not observed.counts(parsed(spec(), "100").series[0])
    assert values(parsed(spec(unit="bytes", scale=1024.0), "3 kB")) == {"x": [3072.0]}
    assert values(parsed(spec(r"(\S+)$"), NFSSTAT.strip())) == {}, "the first match is not the last line"
    assert values(parsed(spec(r"^ +\d+ +\d+ +\d+ +(\S+)$"), NFSSTAT)) == {"x": [1204.0]}


def test_numbers_are_read_as_tools_print_them(subtests):
    for text, number in [("12", 12), ("-3", -3), ("1.5", 1.5), ("1,015,476", 1015476), ("2e3", 2000), (" 7 ", 7)]:
        with subtests.test(text=text, number=number):
            assert values(parsed(spec(r"=(.*)$"), f"a={text}")) == {"x": [number]}


def test_what_gives_no_number_is_missing_with_the_reason(subtests):
    for outputs, reason in [
        (("nothing",), r"tool: no match of '(\\d+)' in 'nothing'"),
        (({"reason": "exit status 1: no such option"},), "tool: exit status 1: no such option"),
        (({},), "tool: not run"),
        ((), "0 samples by tool"),
    ]:
        with subtests.test(outputs=outputs, reason=reason):
            evidence = parsed(spec(), *outputs)
            assert evidence.series == ()
            assert evidence.missing == {"observe.x": reason}


def test_what_fails_is_missing_and_the_rest_is_there():
    evidence = parsed(spec(r"(?P<a>\w+) (?P<b>\w+)"), "12 many")
    assert values(evidence) == {"x.a": [12.0]}
    assert "found 'many' by" in evidence.missing["observe.x.b"]
    evidence = parsed(spec(r"(?P<a>\d+)|(?P<b>x)"), "12")
    assert "no match of" in evidence.missing["observe.x.b"]
    evidence = parsed(spec(), "5", {"reason": "too slow"}, "9")
    assert values(evidence) == {"x": [5.0, 9.0]}
    assert evidence.missing == {}
    assert "falling from 9 to 3" in parsed(spec(kind=ObserveKind.COUNTER), "9", "3").missing["observe.x"]
    assert parsed(spec(kind=ObserveKind.COUNTER), "9").missing == {"observe.x": "1 samples by tool"}
    evidence = parsed(spec(r"(?P<used>\d+)/(?P<limit>\d+)"), "3/0")
    assert evidence.missing == {"observe.x.used_share": "a limit of 0"}
