"""A real drive of the kernel's st, made of an image by tgtd: counts are exact, and a command is judged by its marks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import UsageError
from assay.experiment import read
from assay.hosts.local import Local
from assay.machine import tape
from assay.observers.tape import OBSERVER
from assay.records import Direction, Edge, Outcome, Rung, State, Subject
from assay.selftest.control import measured
from assay.undo.ledger import Ledger
from stage.observer_looks import look, readings, the_series
from stage.targets_host import given

HOST = Local()
OWN = Subject(tapes=("st0",))
NODE, SERIAL = "/dev/nst0", "beaf11"
RECORDS = 40
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0 or tape.serial(HOST, "st0") != SERIAL or tape.model(HOST, "st0") != "IET VIRTUAL-TAPE",
        reason="needs the virtual tape drive of the emulated guest: make long",
    ),
]


def mt(*words):
    subprocess.run(["mt", "-f", NODE, *words], check=True)


def seen(argv):
    """The evidence of a command."""
    armed = look(OBSERVER, HOST, OWN, Edge.ARMED, 0)
    subprocess.run(argv, check=True, capture_output=True)
    return OBSERVER.parse("h", "p", [armed, look(OBSERVER, HOST, OWN, Edge.LAST, 1)], OWN)


def moved(evidence, direction):
    (one,) = readings(evidence, rung=Rung.LOWEST_DEVICE, direction=direction)
    return one.bytes, one.operations


@pytest.mark.parametrize("record", [65536, 4096])
def test_bytes_and_records_are_those_of_the_load(record):
    mt("rewind")
    wrote = seen(["dd", "if=/dev/urandom", f"of={NODE}", f"bs={record}", f"count={RECORDS}", "iflag=fullblock"])
    assert moved(wrote, Direction.WRITE) == (record * RECORDS, RECORDS)
    assert list(the_series(wrote, "file_number", "device:st0").value) == [0, 1]
    mt("rewind")
    back = seen(["dd", f"if={NODE}", "of=/dev/null", f"bs={record}"])
    assert moved(back, Direction.READ)[1] == RECORDS + 1, "the last read meets the mark"
    assert moved(back, Direction.WRITE) == (0, 0)


def stat(tmp_path, *argv, held=()):
    """What `assay stat` says of a command that may inherit open files."""
    words = [sys.executable, "-c", "from assay.cli.main import main; main()", "stat", f"--json={tmp_path}/said.json", *argv]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, pass_fds=held)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "said.json").read_text())


def state(said, rule):
    """What a rule says of it."""
    return next((one["state"] for one in said["findings"] if one["rule"] == rule), "not asked")


def test_stat_knows_that_a_closed_tape_has_a_mark(tmp_path):
    mt("rewind")
    said = stat(tmp_path, "--", "dd", "if=/dev/urandom", f"of={NODE}", "bs=64k", f"count={RECORDS}", "iflag=fullblock")
    assert {rule: state(said, rule) for rule in ("D11", "L22", "E05")} == {"D11": "pass", "L22": "pass", "E05": "pass"}, said
    assert state(said, "D01") != "fail"
    assert said["verdict"] not in ("INVALID", "UNVERIFIED"), said["findings"]


def test_stat_names_a_drive_that_is_held_open_without_a_mark(tmp_path):
    mt("rewind")
    script = "tar --totals -b 128 -cf - -C /usr/bin bash >&$1"
    with Path(NODE).open("wb", buffering=0) as held:
        said = stat(
            tmp_path,
            "--claim=durability=stable-media",
            "--",
            "bash",
            "-c",
            script,
            NODE,
            str(held.fileno()),
            held=(held.fileno(),),
        )
    assert state(said, "D11") == "fail", said
    assert said["verdict"] == "INVALID"


def test_stat_names_the_node_that_rewinds(tmp_path):
    mt("rewind")
    said = stat(tmp_path, "--", "dd", "if=/dev/urandom", "of=/dev/st0", "bs=64k", f"count={RECORDS}", "iflag=fullblock")
    assert state(said, "L22") == "fail", said
    assert state(said, "D11") == "pass", "the driver wrote a mark before"


def test_a_cartridge_of_others_is_refused_and_ours_is_taken(tmp_path):
    target, ledger = catalogue.find("targets", "tape"), Ledger(tmp_path / "ledger", host=HOST)
    asked = given(target, ledger, tmp_path, path=NODE, serial=SERIAL)
    mt("rewind")
    subprocess.run(["dd", "if=/dev/urandom", f"of={NODE}", "bs=4k", "count=3"], check=True, capture_output=True)
    mt("setblk", "1024")
    with pytest.raises(UsageError, match="erase = true"):
        target.prepare(HOST, asked)
    place = target.prepare(HOST, given(target, ledger, tmp_path, path=NODE, serial=SERIAL, erase=True))
    status = tape.status(str(tape.status_text(HOST, "st0")))
    assert (status.file, status.block, status.block_bytes) == (1, 0, 0)
    target.teardown(HOST, asked, place)
    assert tape.status(str(tape.status_text(HOST, "st0"))).block_bytes == 1024, "as it was"
    target.teardown(HOST, asked, target.prepare(HOST, asked))
    mt("setblk", "0")
    ledger.close()


TAPE_IO = f"""
title = "tape"
repeats = 1
[targets.drive]
kind = "tape"
path = "{NODE}"
serial = "{SERIAL}"
erase = true
[workloads.w]
kind = "tape_io"
file_size = "1 MiB"
files = 2
[measures]
"w.write.bytes_per_s" = {{ claim = {{ durability = "stable-media" }} }}
"w.read.bytes_per_s" = {{}}
"w.rewind.elapsed_ns" = {{}}
"w.locate.elapsed_ns" = {{}}
"""


def test_files_are_written_to_their_marks_found_and_read(tmp_path):
    results = measured(read.parse(TAPE_IO, "tape.toml"), TAPE_IO, tmp_path)
    (one,) = results.runs[:1]
    assert one.run.outcome is Outcome.FINISHED, one.run.error
    values = {name: value for phase in one.run.phases for name, value in phase.values.items()}
    assert (values["write.bytes"], values["read.bytes"]) == (2 << 20, 2 << 20)
    assert min(values["rewind.elapsed_ns"], values["locate.elapsed_ns"]) > 0
    found = {(key, finding.rule): finding for key, verdict in one.verdicts.items() for finding in verdict.findings}
    states = {(key.split(".")[1], rule): finding.state for (key, rule), finding in found.items() if rule in ("D11", "L22", "E05")}
    assert states["write", "D11"] is State.PASS, found
    assert states["write", "L22"] is State.PASS
    assert (states["write", "E05"], states["read", "E05"]) == (State.PASS, State.PASS), found
