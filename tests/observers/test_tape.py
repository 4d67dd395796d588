"""tape: counters and positions of a drive, from texts that Linux 6.1 and mt-st 1.5 gave of a virtual LTO drive (tgt 1.0)."""

import pytest

from assay.catalogue import Completed, find
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.machine import tape
from assay.records import Direction, Edge, Rung, Span, Subject
from stage.observer_looks import look, readings, the_series
from stage.rows import each

OBSERVER = find("observers", "tape")
NAMES = (
    "in_flight",
    "io_ns",
    "other_cnt",
    "read_byte_cnt",
    "read_cnt",
    "read_ns",
    "resid_cnt",
    *("write_byte_cnt", "write_cnt", "write_ns"),
)
FRESH = (0, 18688810, 4, 0, 0, 0, 0, 0, 0, 0)
WRITTEN = (0, 1097611650, 8, 0, 0, 0, 0, 2621440, 40, 966228470)
"""40 records of 64 KiB, closed: the driver opened (3 commands) and wrote a mark."""
STATUS = """SCSI 2 tape drive:
File number={file}, block number={block}, partition=0.
Tape block size 0 bytes. Density code 0x0 (default).
Soft error count since last status=0
General status bits on ({bits}
"""
AT_START, AFTER_MARK = (
    STATUS.format(file=0, block=0, bits="41010000):\n BOT ONLINE IM_REP_EN"),
    STATUS.format(file=1, block=0, bits="81010000):\n EOF ONLINE IM_REP_EN"),
)
BUSY = Completed(argv=(), status=1, stdout="", stderr="/dev/nst0: Device or resource busy\n", wall_ns=1)
OWN = Subject(tapes=("st0",))


class Drive(Local):
    """A recorded machine with one drive; mt answers as it was recorded, and what it sends counts at the drive."""

    def __init__(self, root, drive="st0"):
        super().__init__("m", root=root)
        self.stats = root / "sys/class/scsi_tape" / drive / "stats"
        for name in (drive, f"n{drive}", f"{drive}a"):
            (root / "sys/class/scsi_tape" / name / "stats").mkdir(parents=True)
        self.asked, self.mt = 0, AT_START
        self.count(FRESH)

    def count(self, numbers):
        for name, value in zip(NAMES, numbers, strict=True):
            (self.stats / name).write_text(f"{value}\n")

    def run(self, argv, **_more):
        assert argv == ["mt", "-f", "/dev/nst0", "status"]
        self.asked += 1
        others = self.stats / "other_cnt"
        others.write_text(f"{int(others.read_text()) + 3}\n")
        return self.mt if isinstance(self.mt, Completed) else Completed(argv=(), status=0, stdout=self.mt, stderr="", wall_ns=1)


def phase(host, subject, numbers=WRITTEN, mt=AFTER_MARK):
    """A phase in which the counters rose to `numbers` and mt then tells this."""
    armed = look(OBSERVER, host, subject, Edge.ARMED, 0)
    sent = 3 * host.asked
    host.count([value + sent * (name == "other_cnt") for name, value in zip(NAMES, numbers, strict=True)])
    host.mt = mt
    return OBSERVER.parse("m", "p", [armed, look(OBSERVER, host, subject, Edge.LAST, 2)], subject)


def test_bytes_commands_and_positions_are_exact(tmp_path):
    evidence = phase(Drive(tmp_path), OWN)
    clock = readings(evidence, rung=Rung.LOWEST_DEVICE, span=Span.CLOCK)
    assert {one.direction: (one.bytes, one.operations, one.subject) for one in clock} == {
        Direction.READ: (0, 0, "device:st0"),
        Direction.WRITE: (2621440, 40, "device:st0"),
    }
    assert list(the_series(evidence, "other_operations", "device:st0").value) == [0, 4], "without the commands of mt itself"
    assert list(the_series(evidence, "write_ns", "device:st0").value) == [0, 966228470]
    assert [list(the_series(evidence, f"{name}_number", "device:st0").value) for name in ("file", "block")] == [[0, 1], [0, 0]]
    assert not evidence.missing


def test_drives_of_others_are_counted_and_never_opened(tmp_path):
    host = Drive(tmp_path)
    evidence = phase(host, Subject())
    assert host.asked == 0
    assert not evidence.readings
    assert the_series(evidence, "write_bytes", "device:st0").value[-1] == 2621440


def test_a_drive_that_is_held_open_tells_no_position(tmp_path):
    evidence = phase(Drive(tmp_path), OWN, mt=BUSY)
    assert "Device or resource busy" in evidence.missing["tape.block_number"]
    assert list(the_series(evidence, "file_number", "device:st0").value) == [0], "that of the beginning stays"


def test_a_drive_that_goes_is_missing_and_a_falling_counter_is_refused(tmp_path):
    host = Drive(tmp_path)
    armed = look(OBSERVER, host, Subject(), Edge.ARMED, 0)
    (host.stats / "io_ns").unlink()
    evidence = OBSERVER.parse("m", "p", [armed, look(OBSERVER, host, Subject(), Edge.LAST, 1)], Subject())
    assert not evidence.series
    assert "no counters at 1 looks" in evidence.missing["tape.io_ns"]
    for numbers in (tuple(max(0, value - 1) for value in FRESH), (*FRESH[:-1], "?")):
        host.count(numbers)
        with pytest.raises(EvidenceError):
            OBSERVER.parse("m", "p", [armed, look(OBSERVER, host, Subject(), Edge.LAST, 1)], Subject())
        host.count(FRESH)


def test_a_machine_without_a_drive_has_no_evidence_and_lacks_none(tmp_path):
    bare = Local("m", root=tmp_path)
    looks = [look(OBSERVER, bare, Subject(), edge, at) for at, edge in enumerate((Edge.ARMED, Edge.LAST))]
    evidence = OBSERVER.parse("m", "p", looks, Subject())
    assert (OBSERVER.available(bare), evidence.series, evidence.missing) == (None, (), {})


@each(
    "path drive rewinds",
    ("/dev/st0", "st0", True),
    ("/dev/nst0", "st0", False),
    ("/dev/nst12a", "st12", False),
    ("/dev/st1l", "st1", True),
)
def test_a_node_names_its_drive(path, drive, rewinds):
    assert tape.node(path) == tape.TapeNode(drive=drive, rewinds=rewinds)


@each("path", "/dev/sst0", "/dev/nst", "/dev/stdin", "/dev/tape", "/dev/nst0x", "/st0")
def test_other_files_name_none(path):
    assert tape.node(path) is None


@each(
    "text file block bits",
    (AFTER_MARK, 1, 0, ("EOF", "ONLINE", "IM_REP_EN")),
    ("drive type = 114\ndrive status = 0\nsense key error = 0\nfile number = 2\nblock number = 17\n", 2, 17, ()),
    (
        "File number=-1, block number=-1, partition=0.\nGeneral status bits on (1010000):\n ONLINE IM_REP_EN\n",
        -1,
        -1,
        ("ONLINE", "IM_REP_EN"),
    ),
)
def test_both_programs_called_mt_are_read(text, file, block, bits):
    found = tape.status(text)
    assert (found.file, found.block, found.bits) == (file, block, bits)
    assert tape.status("mt: unrecognized opcode status\n") is None
