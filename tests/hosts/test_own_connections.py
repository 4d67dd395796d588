"""What the lab's own connections moved: the kernel's count of real ones."""

import socket

import pytest

from assay.catalogue import lab_bytes
from assay.hosts import own_connections
from assay.hosts.local import Local


class Connected:
    """A connection as asyncssh shows it."""

    def __init__(self, own, peer):
        self.told = {"socket": own, "peername": peer}

    def get_extra_info(self, name, default=None):
        return self.told.get(name, default)


@pytest.fixture
def pair():
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as own:
        other, _ = listening.accept()
        with other:
            yield own, other


def test_both_directions_count_without_headers(pair):
    own, other = pair
    own.sendall(bytes(3_000))
    other.recv(3_000, socket.MSG_WAITALL)
    other.sendall(bytes(50_000))
    own.recv(50_000, socket.MSG_WAITALL)
    assert own_connections.passed(Connected(own, ("192.0.2.1", 22))) == pytest.approx(53_000, abs=1)


def test_what_passes_no_interface_or_is_unknown_is_nothing(pair):
    own, other = pair
    other.sendall(bytes(50_000))
    own.recv(50_000, socket.MSG_WAITALL)
    for known in (Connected(own, ("127.0.0.1", 22)), Connected(own, ("::1", 22, 0, 0)), Connected(None, ("192.0.2.1", 22))):
        assert own_connections.passed(known) == 0
    assert own_connections.passed(Connected(own, None)) == 0
    assert own_connections.passed(Connected(own, ("fe80::1%eth0", 22, 0, 3))) > 50_000
    own.close()
    assert own_connections.passed(Connected(own, ("192.0.2.1", 22))) == 0


def test_this_machine_has_those_of_all_hosts():
    class Door:
        def moved(self):
            return 7_000

    before = Local().lab_bytes()
    door = Door()
    own_connections.DOORS.add(door)
    assert lab_bytes(Local()) == (before + 7_000, before + 7_000)
    assert lab_bytes(Local(root="/")) == (0, 0)
