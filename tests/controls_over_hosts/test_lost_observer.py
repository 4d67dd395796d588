"""A counter of a far host that falls is evidence lost, and said; looks at hosts that take turns lose none."""

import json

import pytest

from assay.experiment import read
from assay.records import Outcome, State
from assay.selftest.control import measured

pytestmark = [pytest.mark.slow, pytest.mark.root]
EXPERIMENT = """
title = "two hosts"
repeats = 1
[hosts]
c = {{ via = "ssh", addresses = ["{first}", "{second}"], load = true }}
[targets.here]
kind = "commands"
prepare = ["sh", "-c", "mkdir -p {{scratch}}/{{name}} && echo {{scratch}}/{{name}}"]
attach = ["sh", "-c", "mkdir {{scratch}}/{{client}} && echo {{scratch}}/{{client}}"]
detach = ["rm", "-rf", "{{scratch}}/{{client}}"]
teardown = ["rm", "-rf", "{{scratch}}/{{name}}"]
[workloads.w]
kind = "null"
think = "1 ms"
duration = "4 s"
quiesce = "0 s"
[[workloads.w.events]]
phase = "null"
at = "2 s"
run = {event}
[factors]
clients = [2]
[measures]
"w.null.ops_per_s" = {{ claim = {{ path = "wire" }} }}
"""


@pytest.mark.parametrize("falls", [True, False])
def test_a_counter_that_falls_on_a_far_host_is_named_with_its_host(falls, far, tmp_path, monkeypatch):
    fleet = far(2)
    monkeypatch.setenv("HOME", str(fleet.home))
    first, second = fleet
    first.run("ip", "link", "add", "spare", "type", "veth", "peer", "name", "other")
    first.run("ip", "link", "set", "other", "up")
    first.run("ip", "address", "add", "198.18.44.1/24", "dev", "spare")
    first.run("ip", "link", "set", "spare", "up")
    first.run("bash", "-c", "for i in 1 2 3; do echo > /dev/udp/198.18.44.2/9; done")
    assert "spare" in first.run("cat", "/proc/net/dev").stdout
    event = ("ip", "-n", first.namespace, "link", "del", "spare")
    again = f"{' '.join(event)}; ip -n {first.namespace} link add spare type veth peer name other"
    said = EXPERIMENT.format(
        first=first.address, second=second.address, event=json.dumps(["sh", "-c", again] if falls else ["true"])
    )
    (one,) = measured(read.parse(said, "two_hosts.toml"), said, tmp_path / "lab").runs
    assert one.run.outcome is Outcome.FINISHED, one.run.error
    (verdict,) = one.verdicts.values()
    (found,) = [finding for finding in verdict.findings if finding.rule == "E01"]
    assert (found.state is State.UNVERIFIED) is falls, found
    if falls:
        assert "falling" in str(found.observed), found
        assert found.host == "c.1", found
