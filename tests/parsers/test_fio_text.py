import re

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "fio_text")


def test_rates_are_of_the_unit_in_print():
    found = PARSER.parse(recorded("fio-3.33-text-write.txt"))
    assert not [key for key in found if key.startswith("read.")]
    assert PARSER.resolution(recorded("fio-3.33-text-write.txt"))["write.bytes_per_s"] == 0.5 * (1 << 20)


def test_several_jobs_are_counted_together_over_the_longest():
    found = PARSER.parse(recorded("fio-3.33-text-mixed-3-jobs.txt"))
    assert found["read.count"] + found["write.count"] == 3 * 2048
    assert found["read.latency_mean_ns"] <= found["read.latency_max_ns"]


def test_group_reporting_is_one_job():
    found = PARSER.parse(recorded("fio-3.33-text-grouped.txt"))
    assert found["read.count"] + found["write.count"] == 3 * 2048


@pytest.mark.parametrize(("pattern", "name"), [("randread", "random_read"), ("read", "read_2")])
def test_two_groups_of_one_direction_keep_their_own_figures(pattern, name):
    text = recorded("fio-3.33-text-two-groups.txt").replace("WRITE:", " READ:").replace("write: IOPS", "read: IOPS")
    found = PARSER.parse(text.replace("rw=write", f"rw={pattern}"))
    assert found["read.bytes_per_s"] == 1000 * (1 << 20)
    assert found[f"{name}.bytes_per_s"] == 2667 * (1 << 20)
    assert found[f"{name}.latency_p50_ns"] == 11_000


def test_engines_of_files_move_no_bytes():
    found = PARSER.parse(recorded("fio-3.33-text-filecreate.txt"))
    assert not [name for name in found if "bytes" in name or not name.startswith("create.")]


def test_of_a_polluted_stream_with_intermediate_reports_the_last_counts():
    text = recorded("fio-3.33-text-polluted.txt")
    assert text.count("Run status group 0") > 1


def test_a_report_without_sums_is_refused():
    for name in ("fio-3.33-text-failed.txt", "fio-3.33-minimal.txt", "fio-3.33-randread.json"):
        with pytest.raises(EvidenceError, match="READ: or WRITE:"):
            PARSER.parse(recorded(name))


def test_errors_of_jobs_are_counted():
    text = recorded("fio-3.33-text-write.txt").replace("err= 0", "err= 5")
    found = PARSER.parse(text)
    assert found["write.errors"] == found["write.count"], "a job that ended with an error did not do its work"


def test_a_damaged_last_report_is_not_replaced_by_the_one_before():
    text = recorded("fio-3.33-text-polluted.txt")
    before, line, after = text.rpartition("   READ: bw=")
    for damaged in (f"{before}{line}x{after}", before):
        with pytest.raises(EvidenceError, match="last report, without sums"):
            PARSER.parse(damaged)


def test_a_damaged_sum_of_one_side_is_not_left_out():
    text = recorded("fio-3.33-text-grouped.txt")
    with pytest.raises(EvidenceError, match=r"READ: bw=x.*line of sums"):
        PARSER.parse(text.replace("READ: bw=", "READ: bw=x"))


def test_a_call_without_its_report_is_refused():
    text = recorded("fio-3.33-text-write.txt")
    with pytest.raises(EvidenceError, match="last report, without sums"):
        PARSER.parse(recorded("fio-3.33-text-randread.txt") + text[: text.index("groupid=")])


def test_it_knows_its_own_and_its_file():
    assert PARSER.recognises(("fio", "job"), recorded("fio-3.33-text-write.txt"))
    assert not PARSER.recognises(("fio", "job"), recorded("fio-3.33-randread.json"))
    assert PARSER.result_file(("fio", "--output=there.txt", "job")) == "there.txt"
    assert PARSER.result_file(("fio", "job")) is None


def test_what_is_said_of_trims_is_of_nobody_else():
    text = recorded("fio-3.33-text-grouped.txt")
    assert "  write: IOPS" in text
    whole, trims = PARSER.parse(text), PARSER.parse(re.sub(r"(?m)^  write: IOPS", "   trim: IOPS", text))
    reads = {name: value for name, value in whole.items() if name.startswith("read.")}
    assert {name: trims[name] for name in reads} == reads
    assert not any(name.startswith("write.latency") for name in trims)


@pytest.mark.parametrize("head", ["  write: IOPS=", "(groupid=0", "Run status group"])
def test_a_damaged_head_is_refused(head):
    with pytest.raises(EvidenceError):
        PARSER.parse(recorded("fio-3.33-text-grouped.txt").replace(head, f"{head}?", 1))
