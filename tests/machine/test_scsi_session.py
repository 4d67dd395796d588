"""The short iSCSI session: what it makes of the messages of a server. A real server answers in tests/targets/test_iscsi.py."""

from dataclasses import dataclass

import pytest

from assay.errors import TrialError
from assay.machine import scsi_session

ANSWERED, COMMAND_ENDED = 0x23, 0x21


@dataclass
class Said:
    """A host on which the server sends these bytes."""

    answer: bytes

    def run(self, argv, **_other):
        self.argv = argv
        self.stdout = " ".join(f"{byte:02x}" for byte in self.answer)
        return self


def message(code, data=b"", status=(0, 0)):
    header = bytearray(48)
    header[0], header[5:8], header[36:38] = code, len(data).to_bytes(3, "big"), bytes(status)
    return bytes(header) + data + bytes(-len(data) % 4)


def page(flags, descriptors=b""):
    return bytes((23 + len(descriptors), 0, 0, len(descriptors))) + descriptors + bytes((0x88, 18, flags)) + bytes(17)


def asked(*messages):
    return scsi_session.write_cache(Said(b"".join(messages)), "/ns", ("10.0.0.1", 3260), "iqn.a:b", 1)


LOGIN = message(ANSWERED, b"TargetPortalGroupTag=1\0")
ATTENTION = message(COMMAND_ENDED, b"\0\x12\x70\0\6")


def test_the_bit_of_the_caching_page_is_read(subtests):
    for flags, found in [(0x14, "on"), (0x04, "on"), (0x10, "off"), (0x00, "off")]:
        with subtests.test(flags=flags, found=found):
            assert asked(LOGIN, message(0x25, page(flags))) == found


def test_it_is_read_behind_an_attention_and_a_refused_login_is_named():
    assert asked(LOGIN, ATTENTION, message(0x25, page(0x14, bytes(8)))) == "on"
    with pytest.raises(TrialError, match=r"refuses a login at iqn\.a:b \(status 2, 3\)"):
        asked(message(ANSWERED, status=(2, 3)))


def test_no_answer_is_no_write_cache(subtests):
    for answer in [b"", LOGIN, LOGIN + ATTENTION, message(0x25, b"\3\0\0"), message(0x25, bytes(24))]:
        with subtests.test(answer=answer), pytest.raises(TrialError, match="says nothing of the write cache"):
            asked(answer)


def test_requests_are_whole_messages():
    """A server finds the same messages in them: a login, commands with numbers that follow each other, a logout."""
    found = list(scsi_session._messages(scsi_session._requests("iqn.a:b", 1)))
    assert [header[0] for header, _ in found] == [0x43, 1, 1, 1, 1, 0x46]
    assert b"TargetName=iqn.a:b\0" in found[0][1]
    assert [int.from_bytes(header[24:28], "big") for header, _ in found[1:]] == [1, 2, 3, 4, 5]
    assert all(header[9] == 1 for header, _ in found[1:5])
