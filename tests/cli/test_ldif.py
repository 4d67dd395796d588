"""The verb as a user calls it: the same bytes for the same seed, a beginning of a larger one, every mistake at once."""

import json
import os
import shutil
import signal
import subprocess
import threading
from dataclasses import replace

import pytest
import typer

from assay.cli.verbs import app
from assay.hosts.local import Local
from assay.machine import population
from stage.assay_process import LET_GO, Bench, wait_until
from stage.directory_stage import ENGINE

pytestmark = pytest.mark.skipif(not ENGINE.is_file(), reason="the engine is not built")
MIB = 1 << 20
MANY = ("ldif", "--entries", "9000", "--seed", "7")
"""A population of four and a half MiB: some whole writes past the page cache, and a rest."""


def test_standard_output_has_the_population_and_nothing_else(bench):
    done = bench.run("ldif", "--entries", "50", "--seed", "3", "--base", "o=Lab", text=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"dn: o=Lab\n")
    assert done.stdout.count(b"\ndn: ") + 1 == 54
    assert done.stderr == b'{"entries": 54, "bytes": %d}\n' % len(done.stdout)
    assert bench.run("ldif", "--entries", "50", "--seed", "3", "--base", "o=Lab", text=False).stdout == done.stdout
    larger = bench.run("ldif", "--entries", "60", "--seed", "3", "--base", "o=Lab", text=False).stdout
    assert larger.startswith(done.stdout)
    assert bench.run("ldif", "--entries", "50", "--seed", "4", "--base", "o=Lab", text=False).stdout != done.stdout


@pytest.fixture(scope="module")
def population_of_many(tmp_path_factory):
    """Its bytes, through a pipe."""
    whole = Bench(tmp_path_factory.mktemp("whole")).run(*MANY, text=False).stdout
    assert len(whole) > 4 * MIB
    return whole


def has_direct(folder):
    """Whether files of this folder can be opened for direct I/O."""
    try:
        os.close(os.open(folder / "probe", os.O_WRONLY | os.O_CREAT | os.O_DIRECT))
    except OSError:
        return False
    return True


def test_a_file_has_the_bytes_of_the_pipe_is_in_no_cache_and_replaces_a_longer_one(bench, population_of_many):
    path = bench.home / "people.ldif"
    path.write_bytes(b"x" * (len(population_of_many) + 3 * MIB))
    done = bench.run(*MANY, "--out", "people.ldif")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(done.stderr) == {"entries": 9004, "bytes": len(population_of_many)}
    with path.open("rb", buffering=0) as file:
        if has_direct(bench.home):
            assert Local().syscalls.cachestat(str(path)).cached <= MIB // 4096, "only the end goes through the page cache"
        assert file.read() == population_of_many
    assert bench.run("ldif", "--entries", "20", "--template", "account", "--out", path).returncode == 0
    assert "userPassword: secret00000019\n" in path.read_text()


def test_a_named_pipe_gets_a_stream_and_no_packets(bench, population_of_many):
    path, read = bench.home / "pipe", []
    os.mkfifo(path)

    def reader():
        with path.open("rb", buffering=0) as file:
            while part := file.read(1000):  # less than a packet, whose rest would be lost
                read.append(part)

    thread = threading.Thread(target=reader)
    thread.start()
    assert bench.run(*MANY, "--out", path).returncode == 0
    thread.join()
    assert b"".join(read) == population_of_many


def test_an_end_by_ctrl_c_leaves_a_beginning_of_the_population(bench):
    path = bench.home / "people.ldif"
    with bench.start("ldif", "--entries", "100000000", "--out", path) as lab:
        wait_until(lambda: path.exists() and path.stat().st_size > 3 * MIB)
        lab.send_signal(signal.SIGINT)
        assert lab.wait(300) == -signal.SIGINT
    size = path.stat().st_size
    with bench.start("ldif", "--entries", "100000000", text=False) as lab, path.open("rb") as file:
        while part := file.read(MIB):
            assert lab.stdout.read(len(part)) == part
        lab.kill()
    assert size >= 3 * MIB


def on_a_file_system(bench, kind, *options):
    """The bench, whose calls see another file system in the folder `there`; skipped where it cannot be mounted."""
    there = bench.home / "there"
    there.mkdir(exist_ok=True)
    script = f"{LET_GO}\nmount -t {kind} {' '.join(options)} none '{there}' && exec \"$@\""
    through = ("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")
    if subprocess.run([*through, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"no {kind} can be mounted here")
    return replace(bench, through=through)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_file_system_without_direct_io_gets_the_same_bytes(bench, population_of_many):
    there = on_a_file_system(bench, "ramfs")
    script = '"$@" --out there/people.ldif && cat there/people.ldif'
    inside = replace(there, through=(*there.through, "sh", "-c", script, "sh"))
    assert inside.run(*MANY, text=False).stdout == population_of_many


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_full_disk_is_named_with_what_to_do(bench, population_of_many, subtests):
    for size in ["2m", "2100k"]:
        with subtests.test(size=size):
            there = on_a_file_system(bench, "tmpfs", "-o", f"size={size}")
            script = '"$@" --out there/people.ldif; status=$?; cat there/people.ldif; exit $status'
            inside = replace(there, through=(*there.through, "sh", "-c", script, "sh"))
            done = inside.run(*MANY, text=False)
            assert done.returncode == 1
            assert (
                done.stderr
                == b"assay: there/people.ldif: not written (No space left on device (os error 28)). Free some space.\n"
            )
            assert len(done.stdout) >= 2 * MIB
            assert population_of_many.startswith(done.stdout)


def test_every_mistake_at_once(bench):
    wrong = {"--entries": "many", "--seed": "-1", "--template": "robot", "--base": "cn=x", "--out": "/no/such/file"}
    done = bench.run("ldif", *(word for pair in wrong.items() for word in pair))
    assert (done.returncode, done.stdout) == (2, "")
    assert [
        part for part in ("'many'", "'-1'", "person, account", "dc=example", "/no/such/file") if part not in done.stderr
    ] == []


def test_a_reader_that_has_enough_ends_it_quietly(bench):
    with bench.start("ldif", "--entries", "1000000", stderr=subprocess.PIPE) as lab:
        assert lab.stdout.readline() == "dn: dc=example,dc=com\n"
        lab.stdout.close()
        assert lab.wait(300) == 0
        assert lab.stderr.read() == ""


def test_the_suffix_is_that_of_the_targets():
    (base,) = (one for one in typer.main.get_command(app).commands["ldif"].params if one.name == "base")
    assert base.default == population.BASE
