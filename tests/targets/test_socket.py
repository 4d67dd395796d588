"""The plug `socket`: an address of the target's host, nothing made."""

import shutil

import pytest

from assay import catalogue
from assay.records import EndpointKind
from stage.rows import each
from stage.targets_host import HOST, setting

TARGET = catalogue.find("targets", "socket")


def given(tmp_path, address):
    return setting(None, tmp_path, address=address)


@each("address", "127.0.0.1", "127.0.0.1:5201", "[::1]:5201", "203.0.113.9:5201")
def test_addresses(tmp_path, address):
    wanted = given(tmp_path, address)
    assert TARGET.check(HOST, wanted) == ()
    place = TARGET.prepare(HOST, wanted)
    assert (place.kind, place.address, place.devices) == (EndpointKind.SOCKET, address, ())
    endpoint = TARGET.attach(HOST, wanted, place, 0)
    assert (endpoint.kind, endpoint.address) == (EndpointKind.SOCKET, address)
    assert TARGET.facts(HOST, place)[0] == ("address", address)
    TARGET.teardown(HOST, wanted, place)


@each("address", "storage", "127.0.0.1:0", "127.0.0.1:99999", "1.2.3", "")
def test_what_is_no_address(tmp_path, address):
    (mistake,) = TARGET.check(HOST, given(tmp_path, address))
    assert mistake.startswith(f"found address {address!r}; expected an IP address")


@each("address", "fe80::1", "fe80::1%eth0")
def test_a_link_local_address_is_refused_before_the_run(tmp_path, address):
    (mistake,) = TARGET.check(HOST, given(tmp_path, address))
    assert mistake.startswith(f"address {address} is link-local: both ends of Assay need an address without an interface.")
    assert TARGET.check(HOST, given(tmp_path, f"[{address}]:5201")) == (), "a tool may take it"


@pytest.mark.skipif(not shutil.which("ip"), reason="no ip")
def test_an_address_of_another_host(tmp_path):
    (mistake,) = TARGET.check(HOST, given(tmp_path, "203.0.113.9"))
    assert mistake.startswith("address 203.0.113.9 is not an address of host local. Use one of: 127.0.0.1, ")
