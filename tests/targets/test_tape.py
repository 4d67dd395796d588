"""The plug `tape`: which drive and cartridge it takes, and which it refuses, on recorded drives; the guest runs it for real."""

import json

import pytest

from assay import catalogue
from assay.catalogue import Completed, Order
from assay.errors import UsageError
from assay.hosts.local import Local
from assay.machine import tape
from assay.records import Endpoint, EndpointKind
from assay.targets.tape import LABEL
from stage.rows import each
from stage.targets_host import given

TARGET = catalogue.find("targets", "tape")
READY = """File number=0, block number=0, partition=0.
Tape block size 512 bytes. Density code 0x0 (default).
General status bits on (41010000):
 BOT ONLINE IM_REP_EN
"""
FOREIGN = "TAR of somebody"
BLANK = READY.replace("BOT", "EOD")
AT_MARK = READY.replace("BOT", "EOF").replace("number=0", "number=1", 1)
"""What mt says after a read that gave nothing: of a blank tape, of one that begins with a mark."""


class Drives(Local):
    """A machine with the drive st0 of serial number beaf11, and a cartridge with this first record."""

    def __init__(self, root, *, first="", status=READY, after=BLANK):
        super().__init__("m", root=root)
        drive = root / "sys/class/scsi_tape/st0"
        (drive / "device").mkdir(parents=True)
        (drive / "device/vpd_pg80").write_bytes(b"\x01\x80\x00\x24" + b"beaf11".rjust(36))
        (drive / "device/vendor").write_text("IET     \n")
        (drive / "device/model").write_text("VIRTUAL-TAPE    \n")
        self.first, self.status, self.after, self.ran = first, status, after, []

    def is_root(self):
        return True

    def real_path(self, path):
        return "/dev/nst0" if path == "/dev/tape/by-id/scsi-beaf11-nst" else path

    def run(self, argv, **_more):
        self.ran.append(" ".join(argv))
        if argv[-1] == "status":
            fails = isinstance(self.status, Completed)
            return self.status if fails else Completed(argv=(), status=0, stdout=self.status, stderr="", wall_ns=1)
        reads = argv[0] == "dd" and f"if={argv[1].removeprefix('if=')}" == argv[1]
        self.status = self.after if reads else self.status
        return Completed(argv=(), status=0, stdout=self.first if reads else "/bin/x", stderr="", wall_ns=1)


class Kept(list):
    """A ledger in memory."""

    def add(self, kind, **details):
        self.append((kind, details))

    def undo(self, kind, **details):
        self.remove((kind, details))


def asked(path="/dev/nst0", serial="beaf11", ledger=None, **more):
    return given(TARGET, Kept() if ledger is None else ledger, "/scratch", path=path, serial=serial, **more)


def test_a_drive_is_taken_by_node_and_serial_number(tmp_path):
    host = Drives(tmp_path, first=LABEL)
    assert TARGET.check(host, asked()) == ()
    assert not [one for one in host.ran if one.startswith("mt") and "status" not in one], "a check moves no tape"
    place = TARGET.prepare(host, asked(path="/dev/tape/by-id/scsi-beaf11-nst"))
    assert (place.tape, place.kind, place.address) == ("st0", EndpointKind.DEVICE, "/dev/nst0")
    assert host.ran[-1] == "mt -f /dev/nst0 fsf 1", "it stands after the label"
    reads = next(at for at, one in enumerate(host.ran) if "if=" in one)
    assert "mt -f /dev/nst0 setblk 0" in host.ran[:reads], "a label cannot be read with a fixed block size"
    assert not any("of=" in one for one in host.ran), "our own label is not written again"
    assert dict(TARGET.facts(host, place))["tape.serial"] == "beaf11"


@each(
    "knobs status words",
    ({"path": "/dev/st0"}, READY, "Use /dev/nst0"),
    ({"path": "/dev/sda"}, READY, "no tape drive"),
    ({"path": "/dev/nst1"}, READY, "no drive st1"),
    ({"serial": "other"}, READY, "st0: IET VIRTUAL-TAPE, serial beaf11"),
    ({}, READY.replace("BOT", "BOT WR_PROT"), "write-protected"),
    ({}, READY.replace("BOT ONLINE", "DR_OPEN"), "no cartridge"),
    ({}, Completed(argv=(), status=1, stdout="", stderr="/dev/nst0: Device or resource busy\n", wall_ns=1), "in use"),
)
def test_what_is_refused_before_anything_is_moved(tmp_path, knobs, status, words):
    host = Drives(tmp_path, status=status)
    found = TARGET.check(host, asked(**knobs))
    assert len(found) == 1
    assert words in found[0]
    assert not any("rewind" in one for one in host.ran)


@each("first erase written", ("", False, True), (FOREIGN, True, True), (LABEL, True, False))
def test_a_blank_or_given_up_cartridge_is_labelled_once(tmp_path, first, erase, written):
    host = Drives(tmp_path, first=first)
    TARGET.prepare(host, asked(erase=erase))
    assert any("of=/dev/nst0" in one for one in host.ran) is written


@each("told command", (READY, "mt -f /dev/nst0 setblk 512"), (READY.replace("Tape block", "Tape"), "true"))
def test_the_block_size_that_the_drive_had_is_in_the_ledger_until_it_is_given_back(tmp_path, told, command):
    ledger, host = Kept(), Drives(tmp_path, first=LABEL, status=told, after=told)
    place = TARGET.prepare(host, asked(ledger=ledger))
    ((kind, details),) = ledger
    assert (kind, " ".join(json.loads(details["argv"]))) == ("command", command)
    TARGET.teardown(host, asked(ledger=ledger), place)
    assert not ledger


def test_a_refused_cartridge_leaves_nothing_in_the_ledger(tmp_path):
    ledger = Kept()
    with pytest.raises(UsageError):
        TARGET.prepare(Drives(tmp_path, first=FOREIGN), asked(ledger=ledger))
    assert not ledger


@each(
    "printed size",
    (READY, 512),
    (READY.replace("512", "0"), 0),
    ("drive type = 114\ndrive status = 1174470656\nfile number = 0\nblock number = 0\n", 65536),
    ("File number=0, block number=0, partition=0.\n", None),
)
def test_the_block_size_is_read_of_either_mt(printed, size):
    assert tape.status(printed).block_bytes == size


@each(
    "first after",
    (FOREIGN, READY),
    ("", AT_MARK),
    ("", READY),
    ("", Completed(argv=(), status=1, stdout="", stderr="", wall_ns=1)),
)
def test_a_foreign_cartridge_is_rewound_and_refused(tmp_path, first, after):
    """Also one that begins with a mark, whose first record is too long to be read, or that answers nothing."""
    host = Drives(tmp_path, first=first, after=after)
    with pytest.raises(UsageError, match="erase = true"):
        TARGET.prepare(host, asked())
    assert host.ran[-1] == "mt -f /dev/nst0 rewind"
    assert not any("of=" in one for one in host.ran)


def test_a_kernel_without_drives_is_told_in_one_line(tmp_path):
    found = TARGET.check(Local("m", root=tmp_path), asked())
    assert len(found) == 1
    assert "module st (the guest of `make long` has it)" in found[0]


@each("data serial", (b"\x01\x80\x00\x00", None), (b"\x01\x80\x00\x04  \x00A", "A"))
def test_serial_numbers_are_read_as_the_drive_pads_them(tmp_path, data, serial):
    host = Drives(tmp_path)
    (tmp_path / "sys/class/scsi_tape/st0/device/vpd_pg80").write_bytes(data)
    assert tape.serial(host, "st0") == serial


def test_a_command_is_given_the_device():
    workload = catalogue.find("workloads", "command")
    knobs = catalogue.resolved(workload.knobs, {"argv": ("dd", "of={device}")})
    end = Endpoint(kind=EndpointKind.DEVICE, address="/dev/nst0")
    (phase,) = workload.phases(Order(workload="w", knobs=knobs, endpoints=(end,), seed=1))
    assert phase.settings[0]["argv"] == ["dd", "of=/dev/nst0"]
    assert phase.settings[0]["directory"] == "/"
