"""Commands that lie about their figure or about where their bytes went, really run: none may come out SOUND."""

import json

import pytest

from stage.assay_process import Bench

MEDIA = 'claim = { tier = "device", durability = "stable-media" }'
LIES = r"""
title = "Lies of external commands"
repeats = 1

[targets.here]
kind = "directory"
path = "."

[workloads.boast]
kind = "command"
argv = ["sh", "-c", "sleep 1; echo 9999 MB/s; dd if=/dev/urandom of={directory}/f bs=1M count=64 conv=fsync status=none"]
parse = "regex"
pattern = "([0-9.]+) MB/s"
unit = "MB/s"
direction = "write"
flush = "inside"
data_files = ["f"]

[workloads.gone]
kind = "command"
argv = ["sh", "-c", '''
dd if=/dev/urandom of={directory}/g bs=1M count=64 status=none; rm {directory}/g
dd if=/dev/urandom of={directory}/h bs=4k count=1 conv=fsync status=none; echo 64 MB/s
''']
parse = "regex"
pattern = "([0-9.]+) MB/s"
unit = "MB/s"
direction = "write"
flush = "inside"
data_files = ["h"]

[workloads.clock]
kind = "command"
argv = ["sh", "-c", '''
sleep 1; dd if=/dev/urandom of={directory}/k bs=1M count=64 conv=fsync status=none; cat {directory}/../report.json
''']
parse = "fio_json"
direction = "write"
flush = "inside"
data_files = ["k"]

[measures]
"boast.write.bytes_per_s" = { MEDIA }
"gone.write.bytes_per_s" = { MEDIA }
"clock.write.bytes_per_s" = { MEDIA }
"""
BYTES, TOLD_MS = 64 << 20, 8
SIDE = {
    "total_ios": 64,
    "io_bytes": BYTES,
    "runtime": TOLD_MS,
    "bw_bytes": BYTES * 1000 // TOLD_MS,
    "iops": 64 * 1000 / TOLD_MS,
    "lat_ns": {"N": 64, "mean": 125_000, "max": 150_000},
}
REPORT = {
    "fio version": "fio-3.33",
    "jobs": [{"groupid": 0, "error": 0, "read": {**SIDE, "total_ios": 0}, "write": SIDE}],
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    home = tmp_path_factory.mktemp("lies")
    bench = Bench(home)
    (home / "report.json").write_text(json.dumps(REPORT))
    text = LIES.replace("{ MEDIA }", f"{{ {MEDIA} }}").replace("{directory}/../report.json", str(home / "report.json"))
    (home / "lies.toml").write_text(text)
    done = bench.run("run", "lies.toml", "--json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    return run["verdicts"]


def rule(verdict, name):
    (finding,) = (finding for finding in verdict["findings"] if finding["rule"] == name)
    return finding


def test_a_figure_of_a_time_that_nobody_saw_is_not_sound(subtests, verdicts):
    for lie in ["boast", "clock"]:
        with subtests.test(lie=lie):
            verdict = verdicts[f"{lie}.write.bytes_per_s"]
            finding = rule(verdict, "E05")
            assert verdict["state"] not in ("SOUND", "BOUNDED")
            assert (finding["state"], "a time that only it measured" in finding["statement"]) == ("unverified", True)
            assert finding["bound"]["low"] < BYTES


def test_what_was_removed_before_it_was_written_is_not_on_stable_media(verdicts):
    verdict = verdicts["gone.write.bytes_per_s"]
    assert verdict["state"] == "INVALID"
    assert "removed before write-back" in rule(verdict, "D06")["statement"]
