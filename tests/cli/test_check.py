"""The verb as a user calls it: verdict first, what was understood, what was not, JSON and the gate."""

import json
import re
from pathlib import Path

import pytest

from assay.cli.check import check
from assay.laboratory.gate import Gate
from assay_process import Bench

EXAMPLE = "1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"
MOST_LINES = 15


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_the_verdict_leads_and_says_what_was_understood(bench):
    done = bench.run("check", EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "INVALID: a memory test, not a disk test: faster than 2 x 2GFC can carry, 413.3 MB/s; 512 MB fits 23"
    )
    assert "understood      rate 1 GB/s (read), amount 512 MB, time 0.6 s, memory 12 GB, link 2 x 2GFC" in lines
    assert [line.split()[0] for line in lines if line[:3] in {"L04", "T05", "W01", "E05"}] == ["L04", "T05", "W01", "E05"]
    assert len(lines) <= MOST_LINES
    assert max(len(line) for line in lines) <= 120


def test_verdicts_of_published_claims(capsys, subtests):
    for claim, verdict in [
        ("1-2 GB/s over 2 x 2GFC", "INVALID: faster than 2 x 2GFC can carry, 413.3 MB/s"),
        ("450 MB/s read over 2 x 2GFC", "INVALID: faster than 2 x 2GFC can carry, 413.3 MB/s"),
        (
            "512 MB at 815 MB/s, 12 GB RAM",
            "TAINTED: a memory test, not a disk test: 512 MB fits 23 times into 12 GB of memory; lasts only 0.63 s",
        ),
        (
            "0.52 against 0.6",
            "BOUNDED: 0.52 against 0.6 is between 4.5 % and 21 % less by the printed digits (13.3 % less from the",
        ),
        ("478.16 against 491", "UNVERIFIED: no contradiction among these figures; 478.16 against 491 is 2.6 % less"),
        ("941 Mbit/s over 1GbE", "UNVERIFIED: no contradiction among these figures; limited by 1GbE"),
        ("1 GB/s, 1 GB in 2 s", "INVALID: 1 GB in 2 s is 500 MB/s, not 1 GB/s"),
        ("1q5 MB/s, 100 GB in 100 s", "UNVERIFIED: no contradiction among these figures; not judged: '1q5'"),
        ("520 Mbit/s", "UNVERIFIED: 520 Mbit/s = 65 MB/s"),
        ("125 MB/s on a 2 Gb port", "UNVERIFIED: no contradiction among these figures; 60.5 % of what 2GFC carries"),
        ("125 MB/s = 25 % of a 2 Gb port", "TAINTED: 60.5 % of 2GFC one way, not 25 %"),
        ("101 MB/s over 1GbE", "UNVERIFIED: no contradiction among these figures; 85.8 % of what 1GbE carries"),
        ("146 MB/s over 1GbE", "INVALID: faster than 1GbE can carry, 117.7 MB/s"),
        ("40 TB a week", "UNVERIFIED: 40 TB a week = 66.1 MB/s (65.3 to 67.0 MB/s) sustained"),
        (
            "30:56.62 against 35:04.60",
            "UNVERIFIED: no contradiction among these figures; 30:56.62 against 35:04.60 is 11.8 % less",
        ),
        ("93 MB/s inside, under 20 MB/s", "BOUNDED: 93 MB/s against under 20 MB/s is at least 4.62 times as much"),
    ]:
        with subtests.test(claim=claim):
            assert check([claim], json_to=None, gate=Gate.OFF) == 0
            lines = capsys.readouterr().out.splitlines()
            assert verdict in f"{lines[0]} {lines[1].strip()}"
            assert len(lines) <= MOST_LINES


def test_words_without_quotes_are_one_claim(bench):
    assert bench.run("check", *EXAMPLE.split()).stdout == bench.run("check", EXAMPLE).stdout


def test_what_was_not_understood_and_what_was_assumed_are_said(bench):
    done = bench.run("check", "125 MB/s on a 2 Gb port of sda, 3k blocks")
    assert "assumed         '2 Gb port' is 2GFC (fibre channel); if not, write the name of the link" in done.stdout
    assert "not understood  column 28 'sda': unknown word" in done.stdout
    assert "not understood  column 33 '3k': for 'k' write kB (1,000 bytes) or KiB (1,024 bytes)" in done.stdout


def test_a_claim_without_a_figure_is_wrong_usage(bench):
    done = bench.run("check", "3k random at 100 Mbps")
    assert (done.returncode, done.stdout) == (2, "")
    assert "column 1 '3k': for 'k' write" in done.stderr
    assert "found no figure" in done.stderr
    assert "for 'Mbps' write" in done.stderr
    assert EXAMPLE in done.stderr
    assert bench.run("check", "x" * 4001).returncode == 2
    assert bench.run("check").returncode == 2


def test_json_owns_its_stream(bench):
    done = bench.run("check", "1 GB/s read, under 20 s, 2 Gb port, sda", "--json")
    told = json.loads(done.stdout)
    assert done.stderr == ""
    assert (told["schema"], told["state"]) == ("assay.check/1", "INVALID")
    rate, time = told["understood"]
    assert (rate["kind"], rate["value"], rate["low"], rate["high"], rate["unit"]) == ("rate", 1e9, 0.5e9, 1.5e9, "bytes/s")
    assert (time["kind"], time["low"], time["high"], time["column"]) == ("time", 0, 20, 14)
    assert told["links"][0]["name"] == "2GFC"
    assert told["not_understood"] == [{"column": 37, "text": "sda", "reason": "unknown word"}]
    assert {finding["rule"] for finding in told["findings"]} == {"L04"}
    assert len(told["assumed"]) == 1


def test_the_gate_and_that_arithmetic_never_passes_a_strict_one(bench, subtests):
    for claim, gate, status in [
        (EXAMPLE, "--gate", 3),
        ("512 MB at 815 MB/s, 12 GB RAM", "--gate=on", 3),
        ("941 Mbit/s over 1GbE", "--gate", 0),
        ("0.52 against 0.6", "--gate", 0),
        ("941 Mbit/s over 1GbE", "--gate=strict", 3),
        ("0.52 against 0.6", "--gate=strict", 3),
    ]:
        with subtests.test(claim=claim):
            assert bench.run("check", claim, gate).returncode == status


PAGE = Path(__file__).parents[2] / "docs" / "howto" / "check.md"
SHOWN = re.findall(r'```\n\$ assay check "([^"\n]*)"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_manual_shows_what_is_printed(capsys, subtests):
    for claim, output in SHOWN:
        with subtests.test(claim=claim):
            assert check([claim], json_to=None, gate=Gate.OFF) == 0
            assert capsys.readouterr().out == output


def test_the_manual_shows_something():
    assert len(SHOWN) >= 5


def test_a_block_size_is_written_as_tools_of_storage_write_it(bench):
    done = bench.run("check", "4k random 100k IOPS over 1GbE")
    assert "understood      request size 4k, operations 100k IOPS (random), link 1GbE" in done.stdout
    assert done.stdout.startswith("INVALID: faster than 1GbE can carry")
    assert "E05 passes" in bench.run("check", "16K read 2 GB/s 122000 IOPS").stdout


def test_a_block_size_is_read_as_people_write_it(bench, subtests):
    for text in ["100k IOPS at 4k is 800 MB/s", "bs=4k, 100k IOPS, 800 MB/s", "4k at QD32: 100k IOPS, 800 MB/s"]:
        with subtests.test(text=text):
            done = bench.run("check", text)
            assert "INVALID: 100k IOPS of 4k is 410 MB/s, not 800 MB/s" in done.stdout
            assert "not understood" not in done.stdout


def test_operations_of_a_size_are_a_rate_also_without_a_link(bench):
    alone = bench.run("check", "550k IOPS, 4k blocks").stdout
    assert alone.startswith("UNVERIFIED: 550k IOPS of 4k = 2.25 GB/s; nothing to check: ")
    assert "in other words" not in bench.run("check", "100k IOPS of 4 KiB, 410 MB/s").stdout, "the rate is printed already"


def test_a_k_that_may_count_something_else_is_asked_back(bench, subtests):
    for text in ["64k ops/s", "3k records", "100k", "1.4k read 1 GB/s"]:
        with subtests.test(text=text):
            done = bench.run("check", text)
            assert "kB (1,000 bytes) or KiB (1,024 bytes)" in " ".join(f"{done.stdout}{done.stderr}".split())
