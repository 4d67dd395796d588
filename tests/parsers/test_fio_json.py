import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import catalogue
from assay.errors import EvidenceError

OUTPUT = Path(__file__).parent.parent / "fixtures" / "output"
PARSER = catalogue.find("parsers", "fio_json")
WHOLE = sorted(path.name for path in OUTPUT.glob("fio-3.33-*.json") if "failed" not in path.name)


def recorded(name):
    return (OUTPUT / name).read_text()


def test_rates_are_bytes_not_kibibytes():
    found = PARSER.parse(recorded("fio-3.33-randread.json"))
    assert not [key for key in found if key.startswith("write.")]


def test_jobs_are_added_over_the_longest_run_time_and_their_bins_merged():
    report = json.loads(recorded("fio-3.33-mixed-3-jobs-plus.json"))
    found = PARSER.parse(recorded("fio-3.33-mixed-3-jobs-plus.json"))
    for side in ("read", "write"):
        rows = [job[side] for job in report["jobs"]]
        assert len(rows) == 3
        assert found[f"{side}.bytes"] == sum(row["io_bytes"] for row in rows)
        assert found[f"{side}.elapsed_ns"] == max(row["runtime"] for row in rows) * 1e6
        medians = [row["clat_ns"]["percentile"]["50.000000"] for row in rows]
        assert min(medians) <= found[f"{side}.latency_p50_ns"] <= max(medians)
        assert found[f"{side}.latency_p50_ns"] <= found[f"{side}.latency_p99_ns"] <= found[f"{side}.latency_max_ns"]


def test_several_jobs_without_bins_have_no_percentiles():
    report = json.loads(recorded("fio-3.33-mixed-3-jobs-plus.json"))
    for job in report["jobs"]:
        for side in ("read", "write"):
            job[side]["clat_ns"].pop("bins", None)
    found = PARSER.parse(json.dumps(report, indent=1))
    assert "read.latency_p50_ns" not in found
    assert "read.latency_mean_ns" in found


def test_one_job_merged_from_its_bins_agrees_with_fios_own_percentile():
    plus = json.loads(recorded("fio-3.33-write-plus.json"))
    told = PARSER.parse(json.dumps(plus))
    plus["jobs"] *= 2
    merged = PARSER.parse(json.dumps(plus))
    for name in ("p50", "p90", "p99"):
        assert merged[f"write.latency_{name}_ns"] == pytest.approx(told[f"write.latency_{name}_ns"], rel=0.02)


def test_two_jobs_of_two_directions_keep_their_own_figures():
    found = PARSER.parse(recorded("fio-3.33-two-jobs.json"))
    assert found["read.bytes"] == found["write.bytes"] == 8 << 20


def test_groups_that_write_after_each_other_are_not_added_over_one_of_their_times():
    report = json.loads(recorded("fio-3.33-stonewalled.json"))
    assert [job["groupid"] for job in report["jobs"]] == [0, 1]
    found = PARSER.parse(recorded("fio-3.33-stonewalled.json"))
    for name, job in zip(("write", "write_2"), report["jobs"], strict=True):
        assert found[f"{name}.latency_max_ns"] == job["write"]["lat_ns"]["max"]
    report["jobs"][1]["job options"]["rw"] = "randwrite"
    assert PARSER.parse(json.dumps(report))["random_write.bytes"] == 8 << 20
    report["jobs"][1]["groupid"] = 0
    assert PARSER.parse(json.dumps(report))["write.bytes"] == 16 << 20


def test_engines_of_files_move_no_bytes():
    found = PARSER.parse(recorded("fio-3.33-filestat.json"))
    assert not [name for name in found if "bytes" in name or not name.startswith("stat.")]


def test_run_times_are_whole_milliseconds():
    halves = PARSER.resolution(recorded("fio-3.33-randread.json"))
    assert {key: half for key, half in halves.items() if half} == {"read.elapsed_ns": 5e5, "read.bytes_per_s": 0.5}
    assert PARSER.result_file(("fio", "--output=there.json", "x")) == "there.json"
    assert PARSER.recognises(("sudo", "fio", "x"), recorded("fio-3.33-randread.json"))


def test_group_reporting_is_one_job():
    report = json.loads(recorded("fio-3.33-grouped.json"))
    assert len(report["jobs"]) == 1


def test_text_before_and_after_is_skipped():
    text = recorded("fio-3.33-polluted.json")
    assert not text.startswith("{")
    assert not text.rstrip().endswith("}")
    assert PARSER.parse("{not json\n{}\n" + text)["write.bytes"] == 8 << 20


def test_the_last_of_several_reports_counts_if_it_is_whole():
    first, last = recorded("fio-3.33-randread.json"), recorded("fio-3.33-two-jobs.json")
    assert PARSER.parse(first + last) == PARSER.parse(last)
    for end in (len(last) // 2, last.rindex("}") - 1):
        with pytest.raises(EvidenceError, match="complete last report"):
            PARSER.parse(first + last[:end])


def test_output_without_a_report_is_refused():
    for text in (recorded("fio-3.33-failed-setup.json"), "", "{}", '{"fio version": "x"}', "[]", "{" * 5000):
        with pytest.raises(EvidenceError, match="complete last report"):
            PARSER.parse(text)


@pytest.mark.parametrize("value", ["12", None, -1, True, float("inf"), [], {}])
@pytest.mark.parametrize("field", ["io_bytes", "bw_bytes", "runtime", "total_ios", "iops"])
def test_hostile_figures_are_refused(field, value):
    report = json.loads(recorded("fio-3.33-randread.json"))
    report["jobs"][0]["read"][field] = value
    with pytest.raises(EvidenceError):
        PARSER.parse(json.dumps(report))


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(WHOLE), cut=st.floats(min_value=0, max_value=0.99))
def test_a_report_cut_anywhere_is_refused_or_whole(name, cut):
    text = recorded(name)
    part = text[: int(len(text) * cut)]
    try:
        found = PARSER.parse(part)
    except EvidenceError:
        return
    assert found == PARSER.parse(text), "only text after the report may be missing"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), junk=JSON)
def test_any_value_anywhere_gives_figures_or_a_refusal(data, junk):
    report = json.loads(recorded("fio-3.33-write-plus.json"))
    node = report["jobs"][0]
    for _ in range(data.draw(st.integers(min_value=1, max_value=4))):
        key = data.draw(st.sampled_from(sorted(node)))
        if isinstance(node[key], dict) and node[key] and data.draw(st.booleans()):
            node = node[key]
            continue
        node[key] = junk
        break
    try:
        found = PARSER.parse(json.dumps(report))
    except EvidenceError:
        return
    assert all(isinstance(value, float) and math.isfinite(value) and value >= 0 for value in found.values())


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='{}[]",:fio version0123456789\n ', max_size=200))
def test_any_text_gives_figures_or_a_refusal(text):
    try:
        PARSER.parse(text)
    except EvidenceError:
        return
