"""Several calls of one tool in one command: whose figures are whose, and what they did while all of them ran."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalogue import find, names
from assay.errors import EvidenceError
from assay.records.watched import Lived
from assay.watch import invocations as several
from assay.watch.invocations import CallReport
from assay.watch.reports import at_once, likely, programs
from stage.watch_stage import MIB, watched

MS = 10**6
READ, WRITE = frozenset({"read"}), frozenset({"write"})


def part(moved, from_ms, to_ms, operation="read"):
    values = {f"{operation}.bytes": float(moved), f"{operation}.bytes_per_s": moved * 1e3 / (to_ms - from_ms)}
    return CallReport(values=values, from_ns=from_ms * MS, to_ns=to_ms * MS)


def said(moved, own_ms):
    both = ("read", "write")
    return {f"{side}.{name}": float(value) for side in both for name, value in (("bytes", moved), ("elapsed_ns", own_ms * MS))}


def lived(from_ms, to_ms, slack_ms=0):
    return Lived(argv=("dd",), from_ns=from_ms * MS, to_ns=to_ms * MS, slack_ns=slack_ms * MS)


def test_what_ran_together_is_counted_while_all_ran():
    values = several.summed([part(1000, 0, 1000), part(3000, 500, 1500)])
    assert values == {"read.bytes": 4000, "read.bytes_per_s": 4000, "read.elapsed_ns": 1500 * MS}
    values = several.summed([part(1000, 0, 1000), part(3000, 1500, 2000)])
    assert values["read.bytes_per_s"] == 2000
    values = several.summed([part(1000, 0, 1000), part(3000, 0, 1000, "write")])
    assert (values["read.bytes"], values["write.bytes"]) == (1000, 3000)
    each = [said(100, 900), said(500, 300)]
    first, second = several.parts(each, [READ, WRITE], [lived(0, 310, 20), lived(100, 1010, 20)])
    assert (first.values["read.bytes"], first.from_ns, first.to_ns) == (500, 0, 300 * MS)
    assert (second.values["write.bytes"], second.from_ns, second.to_ns) == (100, 100 * MS, 1000 * MS)
    assert (first.operations, second.operations) == (("read",), ("write",))


spans = st.tuples(st.integers(0, 5000), st.integers(100, 5000)).map(lambda one: (one[0], one[0] + one[1]))


@given(st.lists(st.tuples(st.integers(1, 10**9), spans), min_size=2, max_size=5))
def test_the_rate_is_never_more_than_the_sum_of_what_each_says(calls):
    parts = [part(moved, *span) for moved, span in calls]
    rate = several.summed(parts)["read.bytes_per_s"]
    most = several.own_rates([one.values for one in parts])["read.bytes_per_s"]
    whole = sum(moved for moved, _ in calls) * 1e9 / (max(one.to_ns for one in parts) - min(one.from_ns for one in parts))
    assert whole * 0.999 <= rate <= most * 1.001


def test_figures_that_could_be_either_calls_are_refused_where_it_matters():
    times = [lived(0, 300), lived(0, 310)]
    with pytest.raises(EvidenceError, match="cannot be assigned"):
        several.parts([said(100, 300), said(900, 301)], [READ, WRITE], times)
    assert len(several.parts([said(100, 300), said(101, 301)], [READ, WRITE], times)) == 2
    assert len(several.parts([said(100, 300), said(900, 301)], [READ, READ], times)) == 2


def test_mixed_lines_of_several_dds_are_all_read():
    records = "8+0 records in\n8+0 records out\n"
    lines = [
        "8388608 bytes (8.4 MB, 8.0 MiB) copied, 0.1 s, 84 MB/s\n",
        "8388608 bytes (8.4 MB, 8.0 MiB) copied, 0.2 s, 42 MB/s\n",
    ]
    parser = find("parsers", "dd")
    assert len(several.reports_in(parser, records + records + "".join(lines))) == 2
    assert len(several.reports_in(parser, records + lines[0] + records + lines[1])) == 2


def test_what_a_script_does_not_wait_for(subtests):
    for script, expected in [("a & b", True), ("a && b", False), ("a 2>&1; b", False), ("a&", True), ("a", False)]:
        with subtests.test(script=script, expected=expected):
            assert at_once(("sh", "-c", script)) is expected


def test_only_scripts_have_calls_to_be_met():
    assert programs(("dd", "if=a")) == frozenset()
    assert "dd" in programs(("sh", "-c", "dd if=a & dd if=b"))
    assert {"sftp", "scp"} <= programs(("sh", "-c", "sftp x"))


def test_every_parser_is_found_by_the_names_of_its_programs():
    for name in names("parsers"):
        words = find("parsers", name).programs or (name.partition("_")[0],)
        assert [word for word in words if name not in likely((word,))] == []


def test_calls_are_met_with_their_words_and_times(room):
    (room / "f").write_bytes(bytes(8 * MIB))
    script = "sh -c 'exec sleep 0.8' & sleep 0.2; sleep 0.5 & wait"
    seen, *_ = watched(room, "sh", "-c", script, options=("--programs", "sleep"), stdout=subprocess.DEVNULL)
    times = {" ".join(one["argv"]): one for one in seen["lived"]}
    assert set(times) == {"sleep 0.8", "sleep 0.2", "sleep 0.5"}
    first, second, third = (times[f"sleep {seconds}"] for seconds in ("0.8", "0.2", "0.5"))
    for one, slept_ns in ((first, 800 * MS), (second, 200 * MS), (third, 500 * MS)):
        assert one["to_ns"] - one["from_ns"] + one["slack_ns"] >= 0.85 * slept_ns
    assert third["from_ns"] >= 170 * MS
    assert first["to_ns"] <= seen["elapsed_ns"]
    assert second["to_ns"] - second["slack_ns"] <= third["from_ns"] + 20 * MS
