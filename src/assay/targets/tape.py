"""A tape drive of this host, with a cartridge that is blank, labelled by Assay, or given up with `erase`.

The drive is named twice, by its node and by its serial number (`assay doctor` prints both), so that no other one is written.
Assay writes a label of one record and a mark at the beginning of the tape; each trial begins after that mark.
Data that an earlier trial wrote are overwritten. The cartridge keeps label and data, and the drive the block size that it had.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import UsageError, refuse
from assay.machine import external_commands, tape
from assay.machine.tape import END_OF_DATA, NO_MEDIUM, WRITE_PROTECTED
from assay.records import Endpoint, EndpointKind, Place
from assay.settings.knobs import switch

LABEL = "ASSAY-TAPE 1\n"
"""How the first record of a cartridge of ours begins."""
LABEL_BYTES, MOST_BYTES = 512, 1 << 20
"""The record of the label, and the longest first record that is read of a foreign cartridge."""
PATIENCE_S = 600.0
"""How long a drive may take to rewind and to find the first mark."""
BUSY_S, STEP_S = 60.0, 0.5
BUSY = "busy"
"""In the words of mt for EBUSY: one program at a time has a drive."""
GUESS_S = 120.0


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the drive, its serial number or its cartridge; moves no tape."""
    if found := lacks(host, setting.knobs):
        return found
    path = str(setting.knobs["path"])
    node = tape.node(host.real_path(path))
    if node is None:
        return (f"{path} is no tape drive. Correct `path` (for example /dev/nst0).",)
    if node.rewinds:
        return (f"{path} rewinds when it is closed, and the next write overwrites the data. Use /dev/n{node.drive}.",)
    if node.drive not in tape.drives(host):
        return (f"{path}: no drive {node.drive} on {host.name}. {_known(host)}",)
    serial = tape.serial(host, node.drive)
    if serial != setting.knobs["serial"]:
        return (f"found serial {setting.knobs['serial']!r}; expected that of {node.drive}. {_known(host)}",)
    return _cartridge(host, node.drive)


def lacks(host: Host, _knobs: object) -> tuple[str, ...]:
    """Return what this host lacks for any drive."""
    if not tape.drives(host):
        return (f"{tape.CLASS}: no tape drive. Load the kernel module st (the guest of `make long` has it), or connect a drive.",)
    if not host.is_root():
        return ("a tape drive needs root. Run as root.",)
    return external_commands.missing(host, (tape.MT, "dd"))


def _known(host: Host) -> str:
    return "; ".join(f"{drive}: {tape.model(host, drive)}, serial {tape.serial(host, drive)}" for drive in tape.drives(host))


def _cartridge(host: Host, drive: str) -> tuple[str, ...]:
    text = tape.status_text(host, drive)
    if not isinstance(text, str):
        return (f"{drive} does not tell its status ({text['error']}). It may be in use, or without a cartridge.",)
    found = tape.status(text)
    bits = found.bits if found else ()
    if NO_MEDIUM in bits:
        return (f"{drive} has no cartridge. Insert one.",)
    if WRITE_PROTECTED in bits:
        return (f"the cartridge in {drive} is write-protected. Move its switch, or use another one.",)
    return ()


def prepare(host: Host, setting: Setting) -> Place:
    """Label the cartridge and stand after the label. Raises UsageError for a foreign cartridge without `erase`, TrialError."""
    _await_close(host, str(setting.knobs["path"]))
    refuse(check(host, setting))
    path = host.real_path(str(setting.knobs["path"]))
    node = tape.node(path)
    assert node is not None
    back = _block_back(host, node.drive)
    setting.undo.add("command", argv=back)
    try:
        _stand_after_label(host, setting, path, node.drive)
    except BaseException:
        setting.undo.undo("command", argv=back)
        raise
    return Place(
        target=setting.name, host=host.name, kind=EndpointKind.DEVICE, address=path, tape=node.drive, private={"back": back}
    )


def _block_back(host: Host, drive: str) -> str:
    """Return the command that gives a drive the block size that it has now; one that does nothing where that is not told."""
    text = tape.status_text(host, drive)
    found = tape.status(text) if isinstance(text, str) else None
    is_told = found is not None and found.block_bytes is not None
    return json.dumps([tape.MT, "-f", f"/dev/n{drive}", "setblk", str(found.block_bytes)] if is_told and found else ["true"])


def _stand_after_label(host: Host, setting: Setting, path: str, drive: str) -> None:
    """Label a cartridge that may be written. Raises UsageError for a foreign one without `erase`.

    With a fixed block size a record of another size, such as the label, cannot be read.
    """
    host.run([tape.MT, "-f", path, "setblk", "0"], timeout_s=PATIENCE_S)
    host.run([tape.MT, "-f", path, "rewind"], timeout_s=PATIENCE_S)
    owner = first_record(host, path)
    if not owner.startswith(LABEL):
        if not setting.knobs["erase"] and (owner or not is_at_end_of_data(host, drive)):
            host.run([tape.MT, "-f", path, "rewind"], timeout_s=PATIENCE_S)
            holds = "holds other data" if owner else "is not known to be blank: its first record cannot be read"
            raise UsageError(f"the cartridge in {drive} {holds}. Insert a blank one, or set erase = true to lose its data.")
        host.run([tape.MT, "-f", path, "rewind"], timeout_s=PATIENCE_S)
        argv = ["dd", f"of={path}", f"bs={LABEL_BYTES}", "conv=sync", "status=none"]
        host.run(argv, input_text=LABEL, timeout_s=PATIENCE_S)
    host.run([tape.MT, "-f", path, "rewind"], timeout_s=PATIENCE_S)
    host.run([tape.MT, "-f", path, "fsf", "1"], timeout_s=PATIENCE_S)


def _await_close(host: Host, path: str) -> None:
    """Wait a while for a program that still holds the drive open, such as one that the trial before left."""
    node, deadline = tape.node(host.real_path(path)), time.monotonic() + BUSY_S
    while node and isinstance(text := tape.status_text(host, node.drive), Mapping) and BUSY in text["error"]:
        if time.monotonic() > deadline:
            return
        time.sleep(STEP_S)


def is_at_end_of_data(host: Host, drive: str) -> bool:
    """Return whether a read that gave nothing met the end of all data, as on a blank tape, and neither a mark nor an error."""
    text = tape.status_text(host, drive)
    found = tape.status(text) if isinstance(text, str) else None
    return found is not None and found.file == 0 and END_OF_DATA in found.bits


def first_record(host: Host, path: str) -> str:
    """Return the record at the beginning of a tape; empty where the tape is blank, begins with a mark, or cannot be read."""
    argv = ["dd", f"if={path}", f"bs={MOST_BYTES}", "count=1", "status=none"]
    return host.run(argv, check=False, timeout_s=PATIENCE_S).stdout


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the drive, its serial number, and the settings that decide its speed."""
    drive = str(place.tape)
    settings = []
    for name in ("options", "default_compression", "default_blksize"):
        try:
            settings.append((f"tape.{name}", host.read(f"{tape.CLASS}/{drive}/{name}").strip()))
        except OSError:
            continue
    return (("tape.model", tape.model(host, drive)), ("tape.serial", tape.serial(host, drive) or "unknown"), *settings)


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Rewind, and give the drive its block size back; the cartridge keeps label and data."""
    host.run([tape.MT, "-f", place.address, "rewind"], check=False, timeout_s=PATIENCE_S)
    setting.undo.undo("command", argv=str(place.private["back"]))


TARGET = Target(
    name="tape",
    knobs=(
        Knob(name="path", kind=KnobKind.PATH, required=True, help="node of the drive that does not rewind (/dev/nst0)"),
        Knob(name="serial", kind=KnobKind.TEXT, required=True, help="serial number of the drive, as `assay doctor` prints it"),
        switch("erase", "whether a cartridge that holds other data may be overwritten"),
    ),
    endpoint=EndpointKind.DEVICE,
    check=check,
    lacks=lacks,
    prepare=prepare,
    attach=lambda host, setting, place, client: Endpoint(kind=EndpointKind.DEVICE, address=place.address),
    drop_caches=lambda host, place: None,  # a tape has no cache of the kernel
    facts=facts,
    teardown=teardown,
    seconds=lambda knobs: (0.0, GUESS_S),
)
