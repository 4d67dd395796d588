"""The plug `coherence`: a writer and a reader with a mount each, and every way in which a second mount is missing."""

import os

import pytest

from assay import catalogue
from assay.answer.wording import coherence as wording
from assay.catalogue import Order
from assay.errors import InputErrors, UsageError
from assay.experiment.read import read
from assay.machine import nfs_clients
from assay.measures import value
from assay.records import CoherenceStep, Endpoint, EndpointKind, Measure, Outcome, Role, TargetSpec, WorkloadSpec
from assay.workloads.coherence import SEEN, STEPS, WORKLOAD
from stage.rows import each
from stage.served_stage import NOTHING, ServedBench, needs, needs_fuse
from stage.trial_stage import HURRY

SECOND = 10**9
ONE_MOUNT = """
title = "One mount"
question = "?"
[targets.t]
kind = "nbd"
size = "64 MiB"
[workloads.c]
kind = "coherence"
"""
needs_client = pytest.mark.skipif(not nfs_clients.CLIENT.exists(), reason="assay-nfs is not built: make clients")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root")


def phases(*addresses, **knobs):
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=one) for one in addresses)
    return WORKLOAD.phases(Order(workload="c", knobs=knobs, endpoints=endpoints, seed=1, token="word"))


def step(**given):
    counts = dict.fromkeys(("tries", "unprepared", "seen", "never", "stale", "granted_twice", "expected", "lost"), 0)
    return CoherenceStep(**{**counts, "resolution_p50_ns": 0, "resolution_max_ns": 0, **given})


def test_both_ends_know_each_other_and_every_step_has_a_figure():
    (only,) = phases("/m/0", "/m/1", times=3)
    assert only.roles == (Role.WRITER, Role.READER)
    writer, reader = only.settings
    assert (writer["directory"], reader["directory"]) == ("/m/0/c-coherence", "/m/1/c-coherence")
    assert {key: value for key, value in writer.items() if key not in ("role", "directory")} == {
        key: value for key, value in reader.items() if key not in ("role", "directory")
    }
    assert only.operations == STEPS
    assert set(WORKLOAD.operations({})) == set(WORKLOAD.nouns) == set(STEPS)
    assert set(SEEN) < set(STEPS)


@each("addresses", ("/m/0",), ("/m/0", "/m/0"), ("/m/0", "/m/1", "/m/2"))
def test_two_clients_need_two_mounts(addresses):
    with pytest.raises(UsageError, match="expected 2 of each"):
        phases(*addresses)


@each(
    "knobs says",
    ({"steps": ("list", "list")}, "list twice"),
    ({"look_every": SECOND, "within": SECOND}, "look_every"),
    ({"steps": ()}, "no steps"),
)
def test_mistakes(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


def test_one_mount_is_refused_with_everything_else(tmp_path):
    (tmp_path / "e.toml").write_text(ONE_MOUNT)
    with pytest.raises(InputErrors) as caught:
        read(tmp_path / "e.toml")
    found = str(caught.value)
    assert "clients = 1 for workload 'c'" in found
    assert "one mount for all clients" in found


TWO_MOUNTS = """
title = "t"
[targets.t]
kind = "nfs_existing"
address = "192.0.2.7"
export = "/srv"
{knob}
[workloads.c]
kind = "coherence"
[factors]
clients = [2]
"""


@each(
    "knob taken",
    ('version = "3"', True),
    ('client = "fuse"', True),
    ('client = "kernel"', False),
    ('version = "4.2"', False),
    ("", False),
)
def test_two_mounts_of_one_kernel_are_one_client_of_nfs_4(tmp_path, knob, taken):
    """Linux 6.1: both had one name and one lease, and a delegation of one outlived what the other wrote."""
    (tmp_path / "e.toml").write_text(TWO_MOUNTS.format(knob=knob))
    if taken:
        read(tmp_path / "e.toml")
        return
    with pytest.raises(InputErrors, match="one client of NFSv4"):
        read(tmp_path / "e.toml")


@each(
    "given says",
    ({"tries": 3, "seen": 3}, "seen"),
    ({"tries": 3, "never": 3}, "never within 5 s: 3 of 3"),
    ({"tries": 3, "seen": 3, "granted_twice": 2}, "granted twice: 2 of 3"),
    ({"tries": 3, "seen": 3, "stale": 1}, "stale after close and open: 1 of 3"),
    ({"tries": 1, "expected": 200, "lost": 99}, "lost updates: 99 of 200"),
    ({"refused": "Function not implemented"}, "refused: Function not implemented"),
    ({"unprepared": 2}, "set-up not seen within 5 s: 2"),
)
def test_words(given, says):
    assert wording.result(step(**given), 5 * SECOND) == says


@pytest.mark.root
@needs_root
@needs_fuse
@needs("ganesha.nfsd", "rpcbind", "ip", "nsenter")
@needs_client
def test_an_attribute_cache_of_a_second_is_found_and_locks_are_granted_twice(tmp_path):
    bench = ServedBench(tmp_path)
    target = TargetSpec(name="t", kind="nfs_ganesha", knobs={"client": "fuse", "attribute_cache": SECOND})
    knobs = {"times": 2, "within": 3 * SECOND, "steps": ("append", "unlink", "posix_lock"), **HURRY}
    spec = WorkloadSpec(name="c", kind="coherence", knobs=catalogue.resolved(WORKLOAD.knobs, knobs) | HURRY)
    run, seen = bench.conduct(target, workloads=(spec,), clients=2)
    assert run.outcome is Outcome.FINISHED, run.error
    figures = {
        name: value(run, seen, Measure(workload="c", operation=name, figure=figure)).value
        for name, figure in WORKLOAD.operations(knobs).items()
    }
    assert 0.7 * SECOND < figures["append"] < 2.5 * SECOND
    assert 0.7 * SECOND < figures["unlink"] < 2.5 * SECOND
    assert figures["posix_lock"] == 2, "assay-nfs sends no locks"
    rows = {row[1]: row[-1] for row in wording.rows(run, seen)}
    assert rows == {"append": "seen", "unlink": "seen", "posix_lock": "granted twice: 2 of 2"}
    assert bench.left() == NOTHING
