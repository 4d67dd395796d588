"""client_mounts: the kernel's counters of NFS and SMB mounts, in the forms of several kernels; the guest has real mounts."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.evidence.mount_texts import afs_client, nfs_mounts, smb_shares
from assay.hosts.local import Local
from assay.machine import afs_files
from assay.observers import client_mounts
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import the_series
from stage.rows import each

OBSERVER = catalogue.find("observers", "client_mounts")
NFS, SMB = "/proc/self/mountstats", "/proc/fs/cifs/Stats"
LINUX_6_1 = """device proc mounted on /proc with fstype proc
device 10.9.0.1:/mnt/exp mounted on /mnt/my\\040files with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=524288,wsize=524288,namlen=255,acregmin=3,acregmax=60,hard,nolock,proto=tcp,port=2049,timeo=600
\tage:\t1
\tcaps:\tcaps=0xf,wtmult=4096,dtsize=524288,bsize=0,namlen=255
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t0 0 0 0 1 1 3 1024 0 0 0 1 0 0 2 1 0 1 0 0 1024 0 0 0 0 0 0
\tbytes:\t0 4194304 0 0 0 4194304 0 1024
\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)
\txprt:\ttcp 972 0 2 0 0 20 20 0 46 0 8 33 21
\tper-op statistics
\t        NULL: 1 1 0 44 24 15 26 43 0
\t     GETATTR: 2 2 0 168 224 0 3 8 0
\t      LOOKUP: 1 1 0 92 116 0 10 10 1
\t       WRITE: 8 8 0 4195200 1088 619 1348 1972 0
\t      COMMIT: 1 1 0 104 128 0 59 60 0

device tmpfs mounted on /tmp with fstype tmpfs
"""
"""As the kernel of Debian 12 printed it: 4 MiB were written and flushed (dd conv=fsync)."""
BEFORE_5_3 = """device srv:/ mounted on /srv with fstype nfs4 statvers=1.1
\tage:\t83520
\tnfsv4:\tbm0=0xfdffafff,bm1=0xf9be3e,bm2=0x800,acl=0x0,sessions,pnfs=not configured
\tbytes:\t100 200 4096 8192 4196 8392 2 3
\tRPC iostats version: 1.0  p/v: 100003/4 (nfs)
\txprt:\ttcp 940 0 2 0 1 938 938 0 12 0
\tper-op statistics
\t        READ: 10 12 1 7000 179000 20 400 460
\tOPEN_CONFIRM: 0 0 0 0 0 0 0 0
\t  TEST_STATEID: 3 3 0 300 200 0 4 5
"""
"""Operations without errors, and fewer figures of the connection."""
SMB_5 = """Resources in use
CIFS Session: 1
Share (unique mount targets): 2
SMB Request/Response Buffer: 1 Pool size: 5
Operations (MIDs): 0

0 session 0 share reconnects
Total vfs operations: 54 maximum at one time: 2

Max requests in flight: 3
1) \\\\localhost\\test
SMBs: 105
Bytes read: 165675008  Bytes written: 5
Open files: 0 total (local), 0 open on server
Creates: 18 total 0 failed
Flushes: 1 total 0 failed
Reads: 42 total 0 failed
Writes: 1 total 1 failed
2) \\\\localhost\\test\tDISCONNECTED
SMBs: 5
Bytes read: 8  Bytes written: 2
Reads: 1 total 0 failed
"""
SMB2_BEFORE_5 = "1) \\\\srv\\data\nSMBs: 20\nReads: 7 sent 2 failed\nWrites: 3 sent 0 failed\nFlushes: 2 sent 0 failed\n"
SMB1 = "1) \\\\ODIE\\DATA\nSMBs: 9 Oplocks breaks: 0\nReads:  4 Bytes: 4096\nWrites: 2 Bytes: 100\nFlushes: 1\nLocks: 0 \n"
SMB1_2_6 = "1) \\\\ODIE\\DATA\nSMBs: 9 Oplock Breaks: 0\nReads: 4 Bytes 4096\nWrites: 2 Bytes: 100"


def test_a_mount_of_nfs_is_read_to_the_byte():
    (found,) = nfs_mounts(LINUX_6_1, NFS).items()
    assert found == (
        "/mnt/my files",
        {
            "age_s": 1,
            "asked_read_bytes": 0,
            "asked_write_bytes": 4 << 20,
            "from_server_bytes": 0,
            "to_server_bytes": 4 << 20,
            "writes": 8,
            "commits": 1,
            "operations": 13,
            "retransmissions": 0,
            "timeouts": 0,
            "queue_ms": 634,
            "rtt_ms": 1446,
            "execute_ms": 2093,
        },
    )


def test_older_kernels_have_fewer_figures():
    found = nfs_mounts(BEFORE_5_3, NFS)["/srv"]
    assert (found["reads"], found["retransmissions"], found["timeouts"], found["operations"]) == (10, 2, 1, 13)
    assert (found["asked_read_bytes"], found["from_server_bytes"], found["to_server_bytes"]) == (4196, 4196, 8392)


@each(
    "text share found",
    (
        SMB_5,
        "\\\\localhost\\test",
        {
            "operations": 110,
            "from_server_bytes": 165675016,
            "to_server_bytes": 7,
            "reads": 43,
            "failed_reads": 0,
            "writes": 1,
            "failed_writes": 1,
            "flushes": 1,
        },
    ),
    (
        SMB2_BEFORE_5,
        "\\\\srv\\data",
        {"operations": 20, "reads": 7, "failed_reads": 2, "writes": 3, "failed_writes": 0, "flushes": 2},
    ),
    (
        SMB1,
        "\\\\ODIE\\DATA",
        {"operations": 9, "reads": 4, "from_server_bytes": 4096, "writes": 2, "to_server_bytes": 100, "flushes": 1},
    ),
    (SMB1_2_6, "\\\\ODIE\\DATA", {"operations": 9, "reads": 4, "from_server_bytes": 4096, "writes": 2, "to_server_bytes": 100}),
)
def test_each_generation_of_smb_is_read(text, share, found):
    assert smb_shares(text) == {share: found}


@each(
    "text",
    LINUX_6_1.replace("bytes:\t0 4194304", "bytes:\tx 4194304"),
    LINUX_6_1.replace("COMMIT: 1 1 0 104 128 0 59 60 0", "COMMIT: 1 1"),
)
def test_a_damaged_line_is_refused(text):
    with pytest.raises(EvidenceError, match="expected"):
        nfs_mounts(text, NFS)


def test_other_texts_have_no_mounts():
    assert nfs_mounts("device a mounted on /b with fstype ext4\n\tbytes: 1\n", NFS) == {}
    assert smb_shares("Resources in use\nCIFS Session: 0\nReads: 7 total 0 failed\n") == {}


def looks(*nfs, smb=SMB_5):
    edges = (Edge.ARMED, Edge.LAST, Edge.DRAINED)
    return [
        Snapshot(edge=edge, at_ns=at * 10**9, took_ns=1, raw={NFS: text, SMB: smb})
        for at, (edge, text) in enumerate(zip(edges, nfs, strict=False))
    ]


def test_counters_rise_over_a_phase_and_a_new_mount_is_no_rise():
    later = LINUX_6_1.replace("bytes:\t0 4194304 0 0 0 4194304", "bytes:\t0 8388608 0 0 0 6291456").replace(
        "WRITE: 8 8", "WRITE: 12 13"
    )
    evidence = OBSERVER.parse("h", "p", looks(LINUX_6_1, later), Subject())
    assert list(the_series(evidence, "to_server_bytes", "mount:/mnt/my files").value) == [0, 2 << 20]
    assert list(the_series(evidence, "retransmissions", "mount:/mnt/my files").value) == [0, 1]
    assert not evidence.missing
    anew = OBSERVER.parse("h", "p", looks(later, LINUX_6_1), Subject())
    assert {one.subject for one in anew.series} == {"share:\\\\localhost\\test"}
    assert "/mnt/my files" in anew.missing["mount.to_server_bytes"]
    assert OBSERVER.parse("h", "p", looks("", LINUX_6_1), Subject()).missing


def test_a_host_without_such_mounts_has_no_evidence_and_lacks_none():
    evidence = OBSERVER.parse("h", "p", looks("", "", smb={"error": "No such file"}), Subject())
    assert (evidence.series, evidence.missing) == ((), {})


AFS_6_1 = """kAFS statistics
dir-mgmt: look=3 reval=0 inval=2 relpg=0
dir-data: rdpg=3
dir-edit: cr=1 rm=0
file-rd : n=69 nb=8394765
file-wr : n=1 nb=8388608
"""
"""Linux 6.1: 8 MiB were written and flushed, and read once more after a new mount; reads count the directory (2048 bytes)."""


def test_the_client_of_afs_is_read_to_the_byte():
    wanted = {"reads": 69, "from_server_bytes": 8_394_765, "writes": 1, "to_server_bytes": 8_388_608}
    assert afs_client(AFS_6_1, "stats") == wanted
    assert afs_client("", "stats") == {}


@each("text", AFS_6_1.replace("nb=8388608", "nb=eight"), AFS_6_1.partition("file-wr")[0], "kAFS statistics\n")
def test_a_damaged_text_of_afs_is_refused(text):
    with pytest.raises(EvidenceError):
        afs_client(text, "stats")


def test_each_network_namespace_of_afs_is_a_client():
    first, last = (
        {f"/proc/{pid}/net/afs/stats": text for pid in ("17", "self")} for text in (AFS_6_1, AFS_6_1.replace("n=69", "n=71"))
    )
    at = [
        Snapshot(edge=edge, at_ns=at, took_ns=1, raw=raw)
        for at, (edge, raw) in enumerate(((Edge.ARMED, first), (Edge.DRAINED, last)))
    ]
    evidence = OBSERVER.parse("h", "p", at, Subject())
    for subject in ("afs:17", "afs:self"):
        assert list(the_series(evidence, "reads", subject).value) == [0, 2]
        assert list(the_series(evidence, "to_server_bytes", subject).value) == [0, 0]
    assert not evidence.missing


def test_the_namespaces_are_those_of_the_clients_mounts_and_the_labs_own(tmp_path, monkeypatch):
    monkeypatch.setattr(afs_files, "OWN", str(tmp_path))
    (tmp_path / "network").write_text("17\n")
    assert client_mounts.spaces(Local(), Subject(endpoints=(f"{tmp_path}/mount", "/elsewhere/mount"))) == ("17", "self")
    monkeypatch.setattr(afs_files, "OWN", str(tmp_path / "none"))
    assert client_mounts.spaces(Local(), Subject(endpoints=(f"{tmp_path}/mount",))) == ()
