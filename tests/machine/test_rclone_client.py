"""The end of a put through rclone: the drain of a client ends when the server has every byte, over a slow path too."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError
from assay.machine import rclone_client
from assay.undo.ledger import Ledger
from stage.served_stage import WAN, needs, needs_fuse, needs_root
from stage.targets_host import HOST, MIB, Placed, given

SIZE = 4 * MIB
SLOWEST_S = SIZE / 12.5e6


def over_wan(kind, tmp_path):
    """A client of a server of this kind, over 100 Mbit/s."""
    target = catalogue.find("targets", kind)
    (tmp_path / "scratch").mkdir()
    setting = replace(given(target, Ledger(tmp_path / "ledger"), tmp_path / "scratch", through="wan"), paths={"wan": WAN.knobs})
    return Placed(target, setting)


def put(path, word):
    with path.open("wb") as file:
        file.write(word * (SIZE // len(word)))


@pytest.mark.root
@needs_root
@needs_fuse
@needs("smbd", "testparm", "apache2", "rclone", "fusermount", "ip", "nsenter")
@pytest.mark.parametrize("kind", ["webdav", "smb_samba"])
@pytest.mark.parametrize("write_back", [rclone_client.WRITE_BACK, "0s"], ids=["as shipped", "uploads that its counters miss"])
def test_a_drain_ends_when_the_server_has_the_content(tmp_path, monkeypatch, kind, write_back):
    monkeypatch.setattr(rclone_client, "WRITE_BACK", write_back)
    server = over_wan(kind, tmp_path)
    try:
        end = server.attached()
        there = Path(server.place.address, "f")
        for word in (os.urandom(MIB), os.urandom(MIB)):  # the second file has the size of the first
            put(Path(end.address, "f"), word)
            begun = time.monotonic()
            server.target.flush(HOST, end)
            assert there.read_bytes() == word * (SIZE // MIB)
            assert time.monotonic() - begun > SLOWEST_S / 2, "the path was passed within the drain"
    finally:
        server.end()


@pytest.mark.root
@needs_root
@needs_fuse
@needs("apache2", "rclone", "fusermount", "ip", "nsenter")
def test_a_client_that_claims_to_have_sent_what_the_server_lacks_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(rclone_client, "ARRIVAL_S", 0.3)
    server = over_wan("webdav", tmp_path)
    try:
        end = server.attached()
        put(Path(end.address, "f"), os.urandom(MIB))
        (elsewhere := tmp_path / "elsewhere").mkdir()
        with pytest.raises(TrialError, match="the server lacks bytes of f"):
            server.target.flush(HOST, replace(end, details={**end.details, "data": str(elsewhere)}))
    finally:
        server.end()
