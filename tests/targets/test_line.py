"""The plug `line`: two network namespaces, joined by the line; nothing of it is left."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import UsageError
from assay.machine import line
from assay.records import EndpointKind
from assay.settings.paths import way
from assay.undo.ledger import Ledger
from stage.assay_process import wait_until
from stage.targets_host import HOST, refused_elsewhere, setting

TARGET = catalogue.find("targets", "line")
WAN = {"rate": 12_500_000, "delay": 2_000_000, "queue": 500_000, "framing": "ethernet"}


def given(undo, tmp_path, known=None, **knobs):
    return replace(setting(undo, tmp_path, **knobs), paths={"wan": WAN} if known is None else known)


def lines():
    """The processes that are lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):  # empty where it has ended and nobody has asked for its status yet
        try:
            if "assay-line" in path.read_text().split("\0")[0]:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    found = TARGET.check(HOST, given(None, tmp_path, {"b": {"loss": 1.0}}, through="wan", paths=("b", "b")))
    for part in ("through and paths", "each path once", "path 'wan'; expected one of the file's: b", "loss of 100 %"):
        assert any(part in one for one in found), (part, found)
    (none,) = [one for one in TARGET.check(HOST, given(None, tmp_path)) if "neither" in one]
    assert "through" in none


def test_without_root_or_tun_or_on_another_host_it_says_what_works(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="both ends of a line are on one host"):
        refused_elsewhere(TARGET, given(None, tmp_path), EndpointKind.SOCKET)
    monkeypatch.setattr(HOST, "is_root", lambda: False)
    monkeypatch.setattr(line, "DEVICE", "/dev/net/no-such-device")
    found = TARGET.check(HOST, given(None, tmp_path, through="wan"))
    for part in ('kind = "socket" on the loopback', "no TUN devices"):
        assert any(part in one for one in found), (part, found)


@pytest.mark.root
def test_both_ends_reach_each_other_and_nothing_is_left(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    wanted = given(ledger, tmp_path, through="wan")
    place = TARGET.prepare(HOST, wanted)
    try:
        inside = line.inside(str(place.private["network.load"]))
        route = HOST.run([*inside, "ip", "route", "get", place.address]).stdout
        assert "dev path0" in route
        facts = dict(TARGET.facts(HOST, place))
        assert facts["line"] == "wan"
        assert facts["path.wan.up"] == way(WAN, "up").words()
        assert (facts["path.wan.up.bytes_per_s"], facts["path.wan.down.frame_bytes"]) == ("12500000", "38")
        assert facts["line.tcp_congestion_control"]
        asked = HOST.run(line.asking(int(place.private["line"]), line.COUNT)).stdout
        answered = line.answer(HOST, int(place.private["line"]), line.COUNT)
        assert json.loads(answered)["links"].keys() == json.loads(asked)["links"].keys() == {"wan"}
    finally:
        TARGET.teardown(HOST, wanted, place)
    assert int(place.private["line"]) not in lines()
    with pytest.raises(OSError, match="refused"):
        line.answer(HOST, int(place.private["line"]), line.COUNT)
    assert ledger.unwind() == ()


@pytest.mark.root
def test_further_links_are_used_by_mptcp(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    wanted = given(ledger, tmp_path, {"a": WAN, "b": WAN}, paths=("a", "b"))
    place = TARGET.prepare(HOST, wanted)
    try:
        inside = line.inside(str(place.private["network.load"]))
        assert "198.18.1.1" in HOST.run([*inside, "ip", "mptcp", "endpoint", "show"]).stdout
    finally:
        TARGET.teardown(HOST, wanted, place)


@pytest.mark.root
def test_a_line_ends_with_a_lab_that_is_killed(tmp_path):
    code = (
        "import sys,time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"
        "from dataclasses import replace\nfrom assay import catalogue\nfrom assay.undo.ledger import Ledger\n"
        "from stage.targets_host import HOST, setting\n"
        f"ledger = Ledger(__import__('pathlib').Path({str(tmp_path / 'ledger')!r}))\n"
        f"wanted = replace(setting(ledger, {str(tmp_path)!r}, through='wan'), paths={{'wan': {WAN!r}}})\n"
        "place = catalogue.find('targets', 'line').prepare(HOST, wanted)\n"
        "print(place.private['line'], flush=True)\ntime.sleep(600)\n"
    )
    lab = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    pid = int(lab.stdout.readline())
    assert pid in lines()
    os.kill(lab.pid, signal.SIGKILL)
    lab.wait()
    lab.stdout.close()
    wait_until(lambda: pid not in lines())
