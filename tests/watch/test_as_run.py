"""What of a watched command belongs to it: the places that it used, and whether its data can have crossed a network."""

import os
import socket
from types import SimpleNamespace

import pytest

from assay.records import Direction, EndpointKind, OpenedFile, Place
from assay.watch.as_run import may_cross_network, used_places
from assay.watch.process_tree import is_connected


def place(address, *devices, filesystem="ext4", kind=EndpointKind.DIRECTORY):
    return Place(target="stat", host="h", kind=kind, address=address, devices=devices, filesystem=filesystem)


ROOT, MOUNT = place("/", "vda"), place("/mnt/x", "loop0", "vda")


def command(*paths, places=(ROOT, MOUNT), argv=("dd",), missing=None, connected=False):
    files = [
        OpenedFile(path=path, written=False, size_bytes=1, dirty_bytes=0, cached_before_bytes=0, cached_after_bytes=0)
        for path in paths
    ]
    return SimpleNamespace(files=files, places=places, argv=argv, files_missing=missing, is_connected=connected)


def test_a_place_is_used_where_a_file_on_it_was_touched(subtests):
    for paths, missing, used in [
        (["/mnt/x/f"], None, (MOUNT,)),
        (["/mnt/xy"], None, (ROOT,)),
        (["/etc/f", "/mnt/x/f"], None, (ROOT, MOUNT)),
        ([], None, (ROOT, MOUNT)),
        (["/mnt/x/f"], "others may have been opened", (ROOT, MOUNT)),
    ]:
        with subtests.test(paths=paths, missing=missing, used=used):
            assert used_places(command(*paths, missing=missing)) == used


READS = SimpleNamespace(directions={"read": Direction.READ})


def test_an_address_in_the_words_leads_over_a_network(subtests):
    for argv, crosses in [
        (("dd", "if=/mnt/x/f", "of=/dev/null"), False),
        (("rsync", "-a", "me@host:/srv/", "copy"), True),
        (("sh", "-c", "curl -s https://example.org/f | md5sum"), True),
        (("smbclient", "//host/share"), True),
        (("fio", "--filename=/mnt/x/f", "--time_based", "--runtime=10:00"), False),
    ]:
        with subtests.test(argv=argv, crosses=crosses):
            assert may_cross_network(command("/mnt/x/f", argv=argv), READS) is crosses


def test_a_place_without_a_device_of_this_machine_and_a_connection_do_too():
    share, memory = place("/mnt/x", filesystem="nfs4"), place("/mnt/x", filesystem="tmpfs")
    assert may_cross_network(command("/mnt/x/f", places=(ROOT, share)), READS)
    assert not may_cross_network(command("/mnt/x/f", places=(ROOT, memory)), READS)
    assert may_cross_network(command("/mnt/x/f", connected=True), READS)
    assert may_cross_network(command("/mnt/x/f"), SimpleNamespace(directions={"send": Direction.SEND}))


def test_a_connection_that_leaves_the_machine_is_seen_and_the_loopback_is_none():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
        near.connect(("127.0.0.1", 9))
        assert not is_connected(os.getpid())
        try:
            far.connect(("192.0.2.1", 9))
        except OSError as error:
            pytest.skip(f"no route: {error}")
        assert is_connected(os.getpid())
