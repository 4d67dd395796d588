"""Zerocopy over two network cards with a cable: those of the emulated guest (`make long`), beyond which a receiver is."""

import os
import subprocess
from pathlib import Path

import pytest

from assay.records import State
from assay.rules.zerocopy_copied import RULE
from stage.network_cases import between, connection, end

CARDS = ("52:54:00:a5:5a:01", "52:54:00:a5:5a:02")
"""Those of benchmarks/guest.py: no card of another machine is touched."""
ADDRESSES = ("10.213.10.1", "10.213.10.2")
SECOND = 1_000_000_000


def cards():
    """The interfaces with these addresses."""
    known = {path.read_text().strip(): path.parent.name for path in Path("/sys/class/net").glob("*/address")}
    return [known[address] for address in CARDS if address in known]


@pytest.fixture(scope="module")
def namespaces():
    """Each card in a network namespace of its own; the kernel gives them back some time after a namespace ended."""
    found = cards()
    if os.geteuid() or len(found) < len(CARDS):
        pytest.skip("needs root and the two cards of the emulated guest: make long")
    names = [f"assay-card-{number}-{os.getpid()}" for number in (1, 2)]
    try:
        for name, card, address in zip(names, found, ADDRESSES, strict=True):
            for words in (
                f"netns add {name}",
                f"link set {card} netns {name}",
                f"-n {name} address add {address}/24 dev {card}",
                f"-n {name} link set {card} up",
            ):
                subprocess.run(["ip", *words.split()], check=True)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


@pytest.mark.root
def test_a_card_sends_without_a_copy_and_the_rule_says_so(subtests, engines, namespaces):
    for zerocopy in [True, False]:
        with subtests.test(zerocopy=zerocopy):
            near, far = namespaces
            both = {"token": "of this test", "exchange": "stream", "message": 65536, "zerocopy": zerocopy}
            server, load = engines("ip", "netns", "exec", far), engines("ip", "netns", "exec", near)
            armed = server.arm("net", {**both, "role": "server", "address": f"{ADDRESSES[1]}:0"})
            assert armed["type"] == "armed", armed
            answer = load.arm("net", {**both, "role": "load", "address": armed["address"], "duration_ns": 2 * SECOND})
            assert answer["type"] == "armed", answer
            server.go(SECOND // 2)
            load.go(SECOND // 2)
            found = load.result()["net"]["zerocopy"]
            assert server.result()["operations"]["receive"]["bytes"] > 0
            if zerocopy:
                assert found["completed"] > 0
                assert found["copied"] == 0
            else:
                assert found is None
            totals = None if found is None else (found["completed"], found["copied"])
            assert RULE.check(between("G10", load=end(connection(), zerocopy=totals))).state is State.PASS
