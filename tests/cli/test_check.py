"""The verb as a user calls it: verdict first, what was understood, what was not, JSON and the gate."""

import json
import re
from pathlib import Path

from assay.cli.check import check
from assay.laboratory.gate import Gate

EXAMPLE = "1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"
MOST_LINES = 15
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "check.md"


def said(capsys, claim, gate=Gate.OFF):
    status = check([claim], json_to=None, gate=gate)
    return status, capsys.readouterr().out


def test_the_verdict_leads_and_says_what_was_understood(bench):
    done = bench.run("check", EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("INVALID: ")
    (understood,) = [line for line in lines if line.startswith("understood ")]
    assert [part in understood for part in ("1 GB/s (read)", "512 MB", "0.6 s", "12 GB", "2 x 2GFC")] == [True] * 5
    assert [line.split()[0] for line in lines if line[:3] in {"L04", "T05", "W01", "E05"}] == ["L04", "T05", "W01", "E05"]
    assert len(lines) <= MOST_LINES
    assert max(len(line) for line in lines) <= 120
    assert bench.run("check", *EXAMPLE.split()).stdout == done.stdout, "words without quotes are one claim"


def test_verdicts_of_published_claims(capsys, subtests):
    for claim, verdict, figure in (
        ("1-2 GB/s over 2 x 2GFC", "INVALID", "413.3 MB/s"),
        ("450 MB/s read over 2 x 2GFC", "INVALID", "413.3 MB/s"),
        ("512 MB at 815 MB/s, 12 GB RAM", "TAINTED", "0.63 s"),
        ("0.52 against 0.6", "BOUNDED", "between 4.5 % and 21 % less"),
        ("478.16 against 491", "UNVERIFIED", "2.6 % less"),
        ("941 Mbit/s over 1GbE", "UNVERIFIED", "limited by 1GbE"),
        ("1 GB/s, 1 GB in 2 s", "INVALID", "500 MB/s, not 1 GB/s"),
        ("1q5 MB/s, 100 GB in 100 s", "UNVERIFIED", "'1q5'"),
        ("520 Mbit/s", "UNVERIFIED", "65 MB/s"),
        ("125 MB/s on a 2 Gb port", "UNVERIFIED", "60.5 %"),
        ("125 MB/s = 25 % of a 2 Gb port", "TAINTED", "60.5 % of 2GFC one way, not 25 %"),
        ("101 MB/s over 1GbE", "UNVERIFIED", "85.8 %"),
        ("146 MB/s over 1GbE", "INVALID", "117.7 MB/s"),
        ("40 TB a week", "UNVERIFIED", "66.1 MB/s (65.3 to 67.0 MB/s)"),
        ("30:56.62 against 35:04.60", "UNVERIFIED", "11.8 % less"),
        ("93 MB/s inside, under 20 MB/s", "BOUNDED", "at least 4.62 times"),
        ("4k random 100k IOPS over 1GbE", "INVALID", "1GbE"),
        ("550k IOPS, 4k blocks", "UNVERIFIED", "2.25 GB/s"),
        *((text, "INVALID", "410 MB/s, not 800 MB/s") for text in ("100k IOPS at 4k is 800 MB/s", "bs=4k, 100k IOPS, 800 MB/s")),
        ("4k at QD32: 100k IOPS, 800 MB/s", "INVALID", "410 MB/s, not 800 MB/s"),
    ):
        with subtests.test(claim=claim):
            status, text = said(capsys, claim)
            lines = text.splitlines()
            assert (status, lines[0].partition(":")[0]) == (0, verdict)
            assert figure in f"{lines[0]} {lines[1].strip()}"
            assert len(lines) <= MOST_LINES
            assert ("not understood" in text) == ("1q5" in claim)
    assert "E05 passes" in said(capsys, "16K read 2 GB/s 122000 IOPS")[1]
    assert "in other words" not in said(capsys, "100k IOPS of 4 KiB, 410 MB/s")[1], "the rate is printed already"


def test_what_was_not_understood_and_what_was_assumed_are_said(bench):
    done = bench.run("check", "125 MB/s on a 2 Gb port of sda, 3k blocks")
    assert re.search(r"^assumed +'2 Gb port' is 2GFC", done.stdout, re.MULTILINE)
    assert "column 28 'sda'" in done.stdout
    assert "column 33 '3k'" in done.stdout
    done = bench.run("check", "3k random at 100 KB/s")
    assert (done.returncode, done.stdout) == (2, ""), "no figure"
    assert [part in done.stderr for part in ("column 1 '3k'", "for 'KB/s'", "no figure", EXAMPLE)] == [True] * 4
    assert [bench.run("check", *words).returncode for words in ((), ("x" * 4001,))] == [2, 2]
    for text in ("3k records", "100k", "1.4k read 1 GB/s"):  # a k that may count something else is asked back
        done = bench.run("check", text)
        assert "kB (1,000 bytes) or KiB (1,024 bytes)" in " ".join(f"{done.stdout}{done.stderr}".split()), text


def test_json_owns_its_stream(bench):
    done = bench.run("check", "1 GB/s read, under 20 s, 2 Gb port, sda", "--json")
    told = json.loads(done.stdout)
    assert done.stderr == ""
    assert (told["schema"], told["state"]) == ("assay.check/1", "INVALID")
    rate, time = told["understood"]
    assert (rate["kind"], rate["value"], rate["low"], rate["high"], rate["unit"]) == ("rate", 1e9, 0.5e9, 1.5e9, "bytes/s")
    assert (time["kind"], time["low"], time["high"], time["column"]) == ("time", 0, 20, 14)
    assert told["links"][0]["name"] == "2GFC"
    assert [(one["column"], one["text"]) for one in told["not_understood"]] == [(37, "sda")]
    assert {finding["rule"] for finding in told["findings"]} == {"L04"}
    assert len(told["assumed"]) == 1


def test_the_gate_and_that_arithmetic_never_passes_a_strict_one(bench, capsys):
    tainted, clean, bounded = "512 MB at 815 MB/s, 12 GB RAM", "941 Mbit/s over 1GbE", "0.52 against 0.6"
    assert [said(capsys, one, Gate.ON)[0] for one in (EXAMPLE, tainted, clean, bounded)] == [3, 3, 0, 0]
    assert [said(capsys, one, Gate.STRICT)[0] for one in (clean, bounded)] == [3, 3]
    assert [bench.run("check", clean, gate).returncode for gate in ("--gate", "--gate=on", "--gate=strict")] == [0, 0, 3]


def test_the_manual_shows_what_is_printed(capsys):
    shown = re.findall(r'```\n\$ assay check "([^"\n]*)"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(shown) >= 5
    assert [claim for claim, output in shown if said(capsys, claim) != (0, output)] == []
