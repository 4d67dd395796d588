"""What is traced of a directory server: which probe of each kind is chosen, the program, and what its maps say."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from assay.catalogue import Beside
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.machine import bpftrace, dsio_program, dsio_server, dsio_trace
from assay.machine.dsio_server import CalledFrom, TracedServer, chosen, software_of
from assay.records import Subject
from assay.sampler import companion
from assay.undo.ledger import Ledger
from stage.assay_process import wait_until
from stage.dsio_stage import WHY_NOT

EXE, LIB, DB = "/usr/sbin/ns-slapd", "/lib/libslapd.so.0", "/lib/libback-ldbm.so"
PATHS = {"": EXE, "libslapd.so": LIB, "libback-ldbm.so": DB}
STRIPPED = frozenset(
    {
        *(f"uprobe:{LIB}:{name}" for name in ("do_add", "do_delete", "do_modify", "do_modrdn", "op_shared_search")),
        *(f"uprobe:{DB}:ldbm_back_{kind}" for kind in ("bind", "compare")),
    }
)


def by_kind(software, paths, listed):
    return {probe.kind: probe for probe in chosen(software, paths, listed)}


def test_slapd_has_a_function_for_every_kind():
    listed = frozenset(f"uprobe:/usr/sbin/slapd:do_{kind}" for kind in dsio_server.KINDS)
    found = by_kind("slapd", {"": "/usr/sbin/slapd"}, listed)
    assert list(found) == list(dsio_server.KINDS)
    assert found["search"].end == "uretprobe:/usr/sbin/slapd:do_search"
    assert dsio_server.not_seen(found.values()) == {}


def test_a_stripped_ns_slapd_is_seen_in_its_libraries_where_clients_call_them():
    found = by_kind("ns-slapd", PATHS, STRIPPED)
    assert found["search"].begin == f"uprobe:{LIB}:op_shared_search"
    assert (found["search"].reached, found["search"].nests) == (CalledFrom.FROM_EXECUTABLE, True)
    assert found["modify"].begin == f"uprobe:{LIB}:do_modify"
    assert "root DN" in found["bind"].limit
    assert set(dsio_server.not_seen(found.values())) == {"extended", "unbind", "abandon"}


def test_a_marker_is_better_than_a_function_and_a_function_than_what_it_calls():
    functions = STRIPPED | {f"uprobe:{EXE}:do_search"}
    assert by_kind("ns-slapd", PATHS, functions)["search"].begin == f"uprobe:{EXE}:do_search"
    markers = functions | {f"usdt:{EXE}:ns-slapd:do_search__entry"}
    found = by_kind("ns-slapd", PATHS, markers)["search"]
    assert (found.begin, found.is_marker) == (f"usdt:{EXE}:ns-slapd:do_search__entry", True)
    assert found.end == f"usdt:{EXE}:ns-slapd:do_search__return"


def test_code_is_found_in_the_maps_of_a_process():
    maps = (
        "55d0c0000000-55d0c0010000 r--p 00000000 fe:00 12 /usr/sbin/slapd\n"
        "55d0c0010000-55d0c0020000 r-xp 00010000 fe:00 12                         /usr/sbin/slapd\n"
        "7f0000000000-7f0000001000 r-xp 00000000 fe:00 13 /lib/x y.so\n7f0-7f1 rwxp 00000000 00:00 0 \n"
    )
    assert dsio_server.code_of(maps) == {
        "/usr/sbin/slapd": (0x55D0C0010000, 0x55D0C0020000),
        "/lib/x y.so": (0x7F0000000000, 0x7F0000001000),
    }


def test_the_servers_own_tools_are_no_servers(subtests, tmp_path_factory):
    for comm, cmdline, software in [
        ("slapd", "/usr/sbin/slapd\0-h\0ldap:///\0", "slapd"),
        ("slapadd", "slapadd\0-l\0x\0", None),
        ("slapd", "/usr/sbin/slapd\0-Tadd\0", None),
        ("ns-slapd", "/usr/sbin/ns-slapd\0-D\0/etc/dirsrv\0", "ns-slapd"),
        ("ns-slapd", "/usr/sbin/ns-slapd\0ldif2db\0-D\0/etc\0", None),
        ("bash", "bash\0", None),
    ]:
        with subtests.test(comm=comm, cmdline=cmdline, software=software):
            tmp_path = tmp_path_factory.mktemp("case")
            folder = tmp_path / "proc/7"
            folder.mkdir(parents=True)
            (folder / "comm").write_text(f"{comm}\n")
            (folder / "cmdline").write_text(cmdline)
            host = Local(root=tmp_path)
            assert software_of(host, 7) == software
            assert dsio_server.running(host) == (((7, software),) if software else ())
            if software is None:
                with pytest.raises(EvidenceError, match="expected a directory server"):
                    dsio_server.server(host, 7)


def test_maps_become_counts_of_each_kind_and_what_belongs_to_none():
    modify = dsio_server.KINDS.index("modify") + 1
    maps = {
        "ended": {f"{modify}": 2, "1": 5},
        "ended_total": {f"{modify}": 900, "1": 50},
        "writes": {f"{modify}": 16, "0": 1},
        "writes_total": {f"{modify}": 65536, "0": 100},
        "flushes": {f"{modify}": 2},
        "flushes_total": {f"{modify}": 500},
        "faults": {"0": 3},
        "entries": {"1": 4},
        "codes": {"1,0": 4, "1,32": 1},
        "bios": {f"{modify},WS,1": 6, f"{modify},FWS,0": 2, f"{modify},FWFS,1": 1, "0,RA,1": 1, "1,D,1": 9},
        "bios_total": {f"{modify},WS,1": 48, f"{modify},FWS,0": 0, f"{modify},FWFS,1": 8, "0,RA,1": 64, "1,D,1": 8},
        "apart": {"jbd2/vda-8,WS,1": 3, "odd,name,R,1": 1},
        "apart_total": {"jbd2/vda-8,WS,1": 24, "odd,name,R,1": 8},
        "unseen": {"3": 1},
    }
    found = dsio_trace.counted({"maps": maps, "lost": 0})
    one = found.operations["modify"]
    assert (one.count, one.time_ns, one.writes, one.write_bytes, one.flushes, one.flush_ns) == (2, 900, 16, 65536, 2, 500)
    assert (one.device_writes, one.device_write_bytes, one.device_flushes) == (7, 56 * 512, 3)
    search = found.operations["search"]
    assert (search.entries, search.codes, search.device_reads, search.device_writes) == (4, {"0": 4, "32": 1}, 0, 0)
    assert (found.outside.device_reads, found.outside.device_read_bytes, found.outside.page_faults) == (1, 64 * 512, 3)
    assert found.others["jbd2/vda-8"].device_write_bytes == 24 * 512
    assert found.others["odd,name"].device_reads == 1
    assert found.unseen == ("bind",)
    assert found.since(found).operations == {}


SERVER = TracedServer(
    pid=42,
    software="ns-slapd",
    executable=EXE,
    probes=tuple(chosen("ns-slapd", PATHS, STRIPPED)),
    missing={"bind": "x"},
    code=(0x1000, 0x2000),
    answer_probes=(f"uprobe:{LIB}:send_ldap_result_ext",),
    devices=(),
)


def test_a_nested_search_neither_begins_nor_ends_an_operation():
    text = dsio_program.program(Local(), SERVER)
    search = next(line for line in text.splitlines() if line.startswith("uprobe") and "op_shared_search" in line)
    assert "if ($from >= 4096 && $from < 8192)" in search
    assert 'reg("sp") >= @sp[tid]' in next(
        line for line in text.splitlines() if line.startswith("uretprobe") and "op_shared" in line
    )
    assert "block_bio_queue" not in text
    assert "@codes" not in text
    assert "@unseen[3] = 1; print(@ended)" in text


def test_answers_by_write_are_looked_at_only_where_files_may_be_written_so(subtests, tmp_path_factory):
    for software, more, traced in [
        ("slapd", {}, False),
        ("slapd", {"2": "errors"}, False),
        ("slapd", {"9": "log.0000000001"}, True),
        ("ns-slapd", {}, True),
    ]:
        with subtests.test(software=software, more=more, traced=traced):
            tmp_path = tmp_path_factory.mktemp("case")
            numbers = tmp_path / "proc/7/fd"
            (tmp_path / "proc/7/fdinfo").mkdir(parents=True)
            numbers.mkdir()
            for number, name in {"7": "data.mdb", "8": "lock.mdb", **more}.items():
                (tmp_path / name).touch()
                (numbers / number).symlink_to(tmp_path / name)
                (tmp_path / f"proc/7/fdinfo/{number}").write_text("pos:\t0\nflags:\t0102002\nmnt_id:\t21\n")
            (tmp_path / "read").touch()
            (numbers / "5").symlink_to(tmp_path / "read")
            (tmp_path / "proc/7/fdinfo/5").write_text("pos:\t0\nflags:\t0100000\nmnt_id:\t21\n")
            assert dsio_server.writes_in_turn(Local(root=tmp_path), 7, software) is traced
            assert [*dsio_server.written_mounts(Local(root=tmp_path), 7)] == [21] * (2 + len(more))
            text = dsio_program.program(Local(), replace(SERVER, writes_in_turn=traced))
            assert ("sys_enter_write /" in text, "sys_exit_write," in text) == (traced, traced)
            assert "sys_enter_writev /" in text


def test_stats_of_bpftrace_are_counts_and_totals():
    found = {"@x": {"1": {"count": 2, "average": 3, "total": 6}}, "@y": {"2": 5}, "@z": {}}
    assert bpftrace.maps_of(found) == {"x": {"1": 2}, "x_total": {"1": 6}, "y": {"2": 5}, "z": {}}
    pairs = [("1,W", {"count": 1, "total": 8}), ("1,W", {"count": 2, "total": 9})]
    assert bpftrace.summed(pairs) == {"1,W": {"count": 3, "total": 17}}


# ------------------------------------------------------------------------------------------------ really run

MARKED = r"""
#include <sys/sdt.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static void do_search(int file) {
    char data[4096];
    DTRACE_PROBE(ns-slapd, do_search__entry);
    if (pread(file, data, sizeof data, 0) < 0) _exit(1);
    DTRACE_PROBE(ns-slapd, do_search__return);
}
int main(int argc, char **argv) {
    char line[8], data[4096];
    int file = open(argv[2], O_RDONLY), log = open(argv[3], O_WRONLY | O_CREAT | O_DSYNC, 0600);
    while (fgets(line, sizeof line, stdin)) {
        for (int i = 0; i < 7; i++) do_search(file);
        for (int i = 0; i < 3; i++) if (pread(file, data, sizeof data, 0) < 0) return 1;
        if (write(log, data, 512) != 512 || write(1, "done\n", 5) != 5) return 1;
    }
    return argc;
}
"""
UNPACKED = Path(__file__).parents[2] / ".build/sdt/usr/include"
SDT = next((path for root in (Path("/usr/include"), UNPACKED) for path in root.glob("**/sys/sdt.h")), None)


@pytest.mark.root
@pytest.mark.skipif(WHY_NOT is not None or SDT is None or not shutil.which("cc"), reason=WHY_NOT or "needs sys/sdt.h and cc")
def test_markers_of_the_authors_are_traced_and_what_is_outside_is_told_apart(tmp_path):
    (tmp_path / "marked.c").write_text(MARKED)
    program = tmp_path / "ns-slapd"
    subprocess.run(["cc", "-O1", f"-I{SDT.parents[1]}", "-o", program, tmp_path / "marked.c"], check=True)
    (tmp_path / "data").write_bytes(bytes(8192))
    words = [program, "-D", tmp_path / "data", tmp_path / "log"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    host, ledger = Local(), Ledger(tmp_path / "ledger")
    wait_until((tmp_path / "log").exists)
    try:
        server = dsio_server.server(host, process.pid)
        text = dsio_program.program(host, server)
        running = companion(host, ledger, Beside(argv=lambda *_: bpftrace.argv(text), read=bpftrace.counts), Subject())
        try:
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
            found = dsio_trace.counted(running.read())
        finally:
            running.end()
    finally:
        process.kill()
        process.communicate()
        ledger.close()
    assert [probe.kind for probe in server.probes] == ["search"]
    search = found.operations["search"]
    assert (search.count, search.reads, search.read_bytes) == (7, 7, 7 * 4096)
    assert (found.outside.reads, found.outside.writes, found.outside.write_bytes, found.outside.flushes) == (3, 1, 512, 1)
    assert set(found.unseen) == set(dsio_server.KINDS) - {"search"}
