"""`assay dsio` on real servers: every operation counted, its I/O seen where it happens, and wrong calls refused."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from assay.machine import dsio_server
from stage import stat_stage
from stage.assay_process import COMMAND, Bench
from stage.dsio_stage import HOST, NO_389, NO_SLAPD, enterable, needs, ns_slapd, per_operation, slapd, watched

SEARCHES, MODIFIES, COMPARES = 4000, 200, 500


@pytest.fixture(scope="module")
def openldap(tmp_path_factory):
    server = slapd(tmp_path_factory.mktemp("slapd"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def directory_389(tmp_path_factory):
    home = tmp_path_factory.mktemp("ds389")
    enterable(home)
    server = ns_slapd(home)
    yield server
    server.stop()


GAVE_UP = 1
"""operationsError: ns-slapd has tried a change again and again beside its own housekeeping, as it does on a busy machine."""
TRIES = 3


class GaveUpError(Exception):
    """The server gave a change up: what it did of the others is no longer what was asked for."""


def work(server):
    """The operations of the test: a compare of another value fails, a search without an entry finds none."""
    with server.client() as client:
        assert client.bind() == 0
        for number in range(SEARCHES):
            assert client.search(number if number < SEARCHES - 100 else 10**6) == 0
        for number in range(MODIFIES):
            if (code := client.modify(number, f"new {number}")) == GAVE_UP:
                raise GaveUpError
            assert code == 0
        for number in range(COMPARES):
            assert client.compare(number, "s" if number % 5 else "t") == (6 if number % 5 else 5)


def warmed(server):
    with server.client() as client:
        for number in range(SEARCHES):
            client.search(number)


def judged(found):
    """What holds on both servers."""
    operations = found["operations"]
    assert {kind: operations[kind]["count"] for kind in ("search", "modify", "compare")} == {
        "search": SEARCHES,
        "modify": MODIFIES,
        "compare": COMPARES,
    }
    assert operations["search"]["entries"] == SEARCHES - 100
    assert operations["search"]["codes"] == {"0": SEARCHES}
    assert operations["modify"]["codes"] == {"0": MODIFIES}
    assert operations["compare"]["codes"] == {"5": COMPARES // 5, "6": COMPARES - COMPARES // 5}
    search = operations["search"]
    assert (search["reads"], search["device_reads"], search["flushes"]) == (0, 0, 0)
    assert all(row["time_ns"] > 0 for row in operations.values())
    assert found["lost_events"] == 0
    assert found["status"] == 0
    assert f"{SEARCHES:,} search" in found["stdout"]


@pytest.mark.root
@needs(NO_SLAPD)
def test_slapd_is_counted_exactly_and_each_modify_flushes(openldap, tmp_path):
    warmed(openldap)
    with watched(tmp_path, openldap, "-l") as found:
        work(openldap)
    judged(found)
    assert not dsio_server.server(HOST, openldap.process.pid).writes_in_turn
    assert found["operations"]["bind"]["count"] == 1
    assert found["missing"] == {}
    modify = found["operations"]["modify"]
    assert per_operation(modify, "flushes") >= 1
    assert modify["flush_ns"] > 0
    assert modify["writes"] >= 2 * MODIFIES
    assert modify["write_bytes"] >= 4096 * MODIFIES
    assert modify["device_flushes"] >= MODIFIES
    assert modify["device_write_bytes"] > 0


@pytest.mark.root
@needs(NO_389)
def test_ns_slapd_is_counted_exactly_though_modifies_search(directory_389, tmp_path):
    warmed(directory_389)
    for left in reversed(range(TRIES)):
        try:
            with watched(tmp_path, directory_389, "-l") as found:
                work(directory_389)
            break
        except GaveUpError:
            assert left, f"ns-slapd gave changes up in {TRIES} tries"
    judged(found)
    assert dsio_server.server(HOST, directory_389.process.pid).writes_in_turn
    assert per_operation(found["operations"]["modify"], "flushes") >= 1
    assert {"bind", "compare", "extended"} <= set(found["missing"])


@pytest.fixture(scope="module", params=["readahead", "nordahead", "ns-slapd"])
def on_own_disk(request, tmp_path_factory):
    """A server on a disk of its own: whatever that disk reads, it reads for the server."""
    lacking = NO_389 if request.param == "ns-slapd" else NO_SLAPD
    if lacking or os.geteuid():
        pytest.skip(lacking or "needs root")
    disk = stat_stage.loop_disk(tmp_path_factory.mktemp("disk"), direct="off", size=2 << 30)  # ns-slapd wants room for its logs
    place = next(disk) / "home"
    Path(f"/sys/block/{Path(stat_stage.device_of(place.parent)).name}/queue/read_ahead_kb").write_text("128")
    place.mkdir()
    enterable(place)
    server = (
        ns_slapd(place) if request.param == "ns-slapd" else slapd(place, "envflags nordahead" * (request.param == "nordahead"))
    )
    yield server
    server.stop()
    for _ in disk:
        pass


def sectors_read(device):
    return int(Path(f"/sys/block/{Path(device).name}/stat").read_text().split()[2])


@pytest.mark.root
@needs()
def test_cold_searches_read_what_the_disk_read(on_own_disk, tmp_path):
    device = stat_stage.device_of(on_own_disk.home.parent)
    on_own_disk.cool()
    with watched(tmp_path, on_own_disk, "-r") as found:
        before = sectors_read(device)
        with on_own_disk.client() as client:
            client.bind()
            for number in range(0, 4000, 3):
                client.search(number)
        read_bytes = (sectors_read(device) - before) * 512
    search = found["operations"]["search"]
    assert read_bytes > 1 << 20
    assert search["device_read_bytes"] == pytest.approx(read_bytes, rel=0.05)
    assert search["page_faults"] > 0
    assert found["server"]["devices"] == [Path(device).name]
    assert "device reads" in found["stdout"]
    assert "flushes" not in found["stdout"]


@pytest.mark.root
@needs()
def test_another_process_on_the_same_disk_is_told_apart(on_own_disk, tmp_path):
    with watched(tmp_path, on_own_disk) as found:
        subprocess.run(
            ["dd", "if=/dev/zero", f"of={on_own_disk.home}/noise", "bs=1M", "count=8", "oflag=direct"],
            check=True,
            capture_output=True,
        )
        with on_own_disk.client() as client:
            client.bind()
            client.search(1)
    assert found["others"]["dd"]["device_write_bytes"] == 8 << 20
    assert all(row["device_write_bytes"] == 0 for row in found["operations"].values())


@pytest.mark.root
@needs(NO_SLAPD)
def test_csv_comes_by_interval_and_the_end_by_itself(openldap, tmp_path):
    words = ["dsio", "-P", str(openldap.process.pid), "--interval", "500 ms", "--duration", "6 s", "--csv", "-w"]
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "Ctrl-C" in process.stderr.readline()
    with openldap.client() as client:
        client.bind()
        client.modify(1, "x")
    stdout, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    rows = [*csv.DictReader(io.StringIO(stdout))]
    assert sum(int(row["count"]) for row in rows if row["operation"] == "modify") == 1
    assert len({row["t_s"] for row in rows}) >= 3
    assert {"outside", "modify"} <= {row["operation"] for row in rows}


@pytest.mark.root
@needs(NO_SLAPD)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_standard_output_is_named_for_rows_that_come_by_interval(openldap):
    words = ["dsio", "-P", str(openldap.process.pid), "--interval", "500 ms", "--duration", "1 s", "--csv"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "standard output: not written (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.root
@needs(NO_SLAPD)
def test_the_watch_ends_with_the_server(tmp_path):
    server = slapd(tmp_path)
    with watched(tmp_path, server) as found:
        server.stop()
    assert found["ended"] in ("the server ended", "interrupted")
    assert found["status"] == 0


@pytest.mark.root
@needs(NO_SLAPD)
def test_files_of_both_kinds_beside_the_terminal(openldap, tmp_path):
    words = ["--duration", "2 s", "--interval", "1 s", f"--csv={tmp_path / 'a.csv'}", f"--json={tmp_path / 'a.json'}"]
    process = subprocess.Popen([*COMMAND, "dsio", *words, "-P", str(openldap.process.pid)], stdout=subprocess.PIPE, text=True)
    stdout, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert stdout.count("Each operation (means)") == 3, "two intervals and the whole"
    rows = [*csv.DictReader((tmp_path / "a.csv").read_text().splitlines())]
    found = json.loads((tmp_path / "a.json").read_text())
    assert (found["schema"], found["ended"], len(found["intervals"])) == ("assay.dsio/1", "the time is over", 2)
    assert {row["t_s"] for row in rows} == {str(round(one["to_ns"] / 1e9, 3)) for one in found["intervals"]}


def traces_of(pid):
    """The programs for bpftrace that watch a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"bpftrace" in words[0] and any(f"pid == {pid}".encode() in word for word in words):
                found.append(path.parent.name)
    return found


@pytest.mark.root
@needs(NO_SLAPD)
def test_however_a_watch_ends_nothing_of_it_stays(openldap, tmp_path, subtests):
    for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]:
        with subtests.test(number=number):
            pid, bench = openldap.process.pid, Bench(tmp_path)
            with bench.start("dsio", "-P", str(pid)) as process:
                assert "Ctrl-C" in process.stderr.readline()
                assert traces_of(pid)
                process.send_signal(number)
                stdout, _ = process.communicate(timeout=300)
            assert (process.returncode, "(interrupted)" in stdout) == (
                (-number, False) if number == signal.SIGKILL else (0, True)
            )
            until = time.monotonic() + 120
            while traces_of(pid) and time.monotonic() < until:
                time.sleep(0.1)
            assert not traces_of(pid)
            assert bench.run("doctor").returncode == 0, "a killed watch is struck out of the ledger"


CHAIN = """[load]
ldap = {{ search = "3000 /s", modify = "{modify} /s", io = "dsio.json" }}
[[part]]
name = "spindles"
speed = "900 x SAS 15k"
"""


@pytest.mark.root
@needs(NO_SLAPD)
def test_what_was_seen_sizes_a_chain_with_the_flushes_of_one_writer_beside_spindles(openldap, tmp_path):
    with watched(tmp_path, openldap) as found, openldap.client() as client:
        client.bind()
        for number in range(60):
            client.search(number)
            client.modify(number, f"sized {number}")
    modify = found["operations"]["modify"]
    most = 1e9 / (modify["flush_ns"] / modify["count"])
    for rate in (most / 2, most * 2):
        (tmp_path / "chain.toml").write_text(CHAIN.format(modify=round(rate)))
        done = Bench(tmp_path).run("size", "chain.toml")
        assert done.returncode == 0, done.stderr
        used = re.search(r"commits of at most .* \(([\d.]+) %\), .* flushes of ", done.stdout)
        assert float(used[1]) == pytest.approx(100 * round(rate) / most, rel=0.02)
        assert "More disks do not help." in done.stdout
        assert ("does not carry" in done.stdout) == (rate > most)
        assert re.search(r"spindles +900 x SAS 15k", done.stdout)
