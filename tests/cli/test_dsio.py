"""`assay dsio` on real servers: every operation counted, its I/O seen where it happens, and wrong calls refused."""

import csv
import io
import os
import re
import subprocess
from pathlib import Path

import pytest

import stat_stage
from assay.cli import dsio as verb
from assay.errors import MissingError, RefusedError, UsageError
from assay.hosts.local import Local
from assay_process import COMMAND, Bench
from dsio_stage import NO_389, NO_SLAPD, enterable, needs, ns_slapd, per_operation, slapd, watched

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


def work(server):
    """The operations of the test: a compare of another value fails, a search without an entry finds none."""
    with server.client() as client:
        assert client.bind() == 0
        for number in range(SEARCHES):
            assert client.search(number if number < SEARCHES - 100 else 10**6) == 0
        for number in range(MODIFIES):
            assert client.modify(number, f"new {number}") == 0
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
    with watched(tmp_path, directory_389, "-l") as found:
        work(directory_389)
    judged(found)
    assert per_operation(found["operations"]["modify"], "flushes") >= 1
    assert {"bind", "compare", "extended"} <= set(found["missing"])


@pytest.fixture(scope="module", params=["", "envflags nordahead"], ids=["readahead", "nordahead"])
def on_own_disk(request, tmp_path_factory):
    """slapd on a disk of its own: whatever that disk reads, it reads for slapd."""
    if NO_SLAPD or os.geteuid():
        pytest.skip(NO_SLAPD or "needs root")
    disk = stat_stage.loop_disk(tmp_path_factory.mktemp("disk"), direct="off")
    place = next(disk) / "slapd"
    Path(f"/sys/block/{Path(stat_stage.device_of(place.parent)).name}/queue/read_ahead_kb").write_text("128")
    place.mkdir()
    server = slapd(place, request.param)
    yield server
    server.stop()
    for _ in disk:
        pass


def sectors_read(device):
    return int(Path(f"/sys/block/{Path(device).name}/stat").read_text().split()[2])


@pytest.mark.root
@needs(NO_SLAPD)
def test_cold_searches_read_what_the_disk_read(on_own_disk, tmp_path):
    device = stat_stage.device_of(on_own_disk.home.parent)
    on_own_disk.cool()
    with watched(tmp_path, on_own_disk, "-r") as found:
        before = sectors_read(device)
        with on_own_disk.client() as client:
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
@needs(NO_SLAPD)
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
    words = ["dsio", "-P", str(openldap.process.pid), "--interval", "500 ms", "--duration", "2 s", "--csv", "-w"]
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "Ctrl-C" in process.stderr.readline()
    with openldap.client() as client:
        client.bind()
        client.modify(1, "x")
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    rows = [*csv.DictReader(io.StringIO(stdout))]
    assert sum(int(row["count"]) for row in rows if row["operation"] == "modify") == 1
    assert len({row["t_s"] for row in rows}) >= 3
    assert {"outside", "modify"} <= {row["operation"] for row in rows}


@pytest.mark.root
@needs(NO_SLAPD)
def test_the_watch_ends_with_the_server(tmp_path):
    server = slapd(tmp_path)
    with watched(tmp_path, server) as found:
        server.stop()
    assert found["ended"] in ("the server ended", "interrupted")
    assert found["status"] == 0


# ------------------------------------------------------------------------------------------------ bad input


class Lacking(Local):
    """This machine without some of what it has."""

    def __init__(self, *, root=True, bpftrace=True, servers=()):
        super().__init__()
        self.root_user, self.has_bpftrace = root, bpftrace
        self.servers = {f"/proc/{pid}": name for pid, name in servers}

    def is_root(self):
        return self.root_user

    def exists(self, path):
        return self.has_bpftrace if path.endswith("/bpftrace") else super().exists(path)

    def list(self, path):
        return tuple(name.removeprefix("/proc/") for name in self.servers) if path == "/proc" else super().list(path)

    def read(self, path):
        folder, _, name = path.rpartition("/")
        if folder in self.servers and name in ("comm", "cmdline"):
            return {"comm": f"{self.servers[folder]}\n", "cmdline": f"/usr/sbin/{self.servers[folder]}\0-x\0"}[name]
        return super().read(path)


def refused(host, **words):
    with pytest.raises((UsageError, MissingError, RefusedError)) as caught:
        verb.resolved(host, verb.DsioRequest(**words))
    return caught.value


def test_no_server_two_servers_and_no_directory_server():
    none = refused(Lacking())
    assert (none.exit_status, "found no directory server" in str(none)) == (1, True)
    two = refused(Lacking(servers=((12, "slapd"), (34, "ns-slapd"))))
    assert (two.exit_status, str(two).splitlines()[0]) == (
        2,
        "found 2 directory servers: slapd (12), ns-slapd (34); expected one. Choose it with -P PID.",
    )
    other = refused(Lacking(), pid=os.getpid())
    assert other.exit_status == 2
    assert re.search(rf"found process {os.getpid()} \(.+\); expected a directory server", str(other))
    assert "(not running)" in str(refused(Lacking(), pid=2**22 + 1))


def test_rights_and_bpftrace_are_named_together():
    error = refused(Lacking(root=False, bpftrace=False, servers=((12, "slapd"),)))
    assert isinstance(error, RefusedError)
    assert "CAP_BPF" in str(error)
    assert "Install bpftrace" in str(error)
    assert isinstance(refused(Lacking(bpftrace=False, servers=((12, "slapd"),))), MissingError)


def test_every_mistake_of_a_call_comes_at_once():
    text = str(refused(Lacking(root=False), interval="1 ms", duration="soon", csv_to="-", json_to="-"))
    for key in ("--interval", "--duration", "--csv and --json", "CAP_BPF", "no directory server"):
        assert key in text


def test_a_call_that_is_refused_exits_2_with_the_reason(tmp_path):
    done = Bench(tmp_path).run("dsio", "-P", os.getpid(), "--interval", "often")
    assert done.returncode == 2
    assert f"found process {os.getpid()}" in done.stderr
    assert "--interval" in done.stderr
