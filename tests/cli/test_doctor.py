import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.cli import doctor as verb
from assay.hosts.local import Local
from assay.machine import ownership
from stage.assay_process import COMMAND
from stage.served_stage import needs
from stage.targets_host import HOST, needs_root


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """A ledger of our own with one orphan: a directory that a killed process left."""
    place = tmp_path / "ledger"
    monkeypatch.setattr("assay.undo.ledger.default_directory", lambda: place)
    code = (
        "import os, sys; from assay.undo.ledger import Ledger; from assay.hosts.local import Local; "
        "from assay.machine import ownership\n"
        "ownership.make_directory(Local(), Ledger(sys.argv[1]), sys.argv[2], 'm'); os.kill(os.getpid(), 9)"
    )
    left = tmp_path / f"{ownership.PREFIX}left"
    subprocess.run([sys.executable, "-c", code, str(place), str(left)], check=False)
    assert left.exists()
    return left


def test_an_orphan_is_told_and_then_undone(ledger, capsys):
    assert verb.doctor(json_to=None, fix=False) == 0
    assert ledger.exists()
    assert str(ledger) in capsys.readouterr().out
    assert verb.doctor(json_to="-", fix=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in told["cleaned"]] == ["undone"]
    assert not ledger.exists()
    assert verb.doctor(json_to=None, fix=True) == 0
    assert "Leftovers of killed runs: none." in capsys.readouterr().out


def test_what_cannot_be_undone_is_a_failure(ledger, capsys):
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    HOST.run(["mount", "-t", "tmpfs", "none", str(ledger)])
    HOST.write(f"{ledger}/{ownership.MARKER}", "m")
    try:
        assert verb.doctor(json_to=None, fix=True) == 1
        assert "still mounted" in capsys.readouterr().out
    finally:
        HOST.run(["umount", str(ledger)])
    assert verb.doctor(json_to=None, fix=True) == 0


def test_abilities_are_what_this_machine_really_allows():
    found = {one.name: one for one in verb.abilities(HOST)}
    assert found["root"].allowed == (os.geteuid() == 0)
    assert found["pressure"].allowed == Path("/proc/pressure/io").exists()
    assert all(one.reason for one in found.values() if not one.allowed)


def test_a_bare_machine_is_told_what_it_lacks(tmp_path):
    bare = Local("bare", root=tmp_path)
    found = {one.name: one for one in verb.abilities(bare)}
    assert not any(one.allowed for one in found.values())
    assert "xfsprogs" in found["mkfs.xfs"].reason
    gaps = verb.gaps(bare, catalogue.names("observers"))
    assert gaps, "observers say why they cannot look"
    assert "make clients" in found["NFS client"].reason
    assert "Install slapd" in found["slapd"].reason
    text = verb.text(verb.Health(host="bare", abilities=tuple(found.values()), gaps=gaps, orphans=(), cleaned=()))
    assert "no  mkfs.xfs" in text
    assert "Missing evidence:" in text
    assert f"Missing: {len(found)} of {len(found)} (root, " in text
    here, gone = verb.Ability(name="fio", allowed=True, serves="loads"), next(iter(found.values()))
    health = verb.Health(host="local", abilities=(here, gone), gaps=(), orphans=(), cleaned=())
    assert f"\nMissing: 1 of 2 ({gone.name})." in verb.text(health)
    assert "\nAll 1 are here.\n" in verb.text(replace(health, abilities=(here,)))


def test_a_tape_drive_is_told_with_what_its_target_asks_for():
    here = verb.Ability(name="root", allowed=True, serves="mounts")
    drives = (verb.TapeDrive(path="/dev/nst0", model="IET VIRTUAL-TAPE", serial="beaf11"),)
    health = verb.Health(host="local", abilities=(here,), gaps=(), orphans=(), cleaned=(), tapes=drives)
    assert "tape /dev/nst0  IET VIRTUAL-TAPE, serial beaf11" in verb.text(health)
    assert "tape" not in verb.text(replace(health, tapes=()))


@needs_root
@needs("unshare")
def test_a_container_is_told_with_what_it_hides(bench):
    """Namespaces of its own and files on layers: as the recipe in docs/howto/containers.md makes it."""
    layers = "mkdir l u w m && mount -t tmpfs t u && mkdir u/u u/w && mount -t overlay -o lowerdir=/,upperdir=u/u,workdir=u/w o m"
    inside = f"{layers} && mount -t proc p m/proc && mount --rbind /dev m/dev && exec chroot m {shlex.join(COMMAND)} doctor"
    apart = ["unshare", "--pid", "--fork", "--mount", "--cgroup", "sh", "-c", inside]
    home = {**bench.environment(), "HOME": "/nonexistent"}
    done = subprocess.run(apart, cwd=bench.home, env=home, capture_output=True, text=True, check=False)
    assert "whole machine" in done.stdout, done.stderr
    (line,) = [one for one in done.stdout.splitlines() if one[4:].startswith("whole machine")]
    assert line.startswith("no ")
    for part in ("pid, cgroup", "overlay layers", "quotas above it", "measure a volume"):
        assert part in line
    here = bench.run("doctor").stdout
    assert "whole machine" in here
