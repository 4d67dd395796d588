"""A trial over several hosts: here they are this machine under several names, so that only who does what is tested."""

from dataclasses import replace

import pytest

from assay import catalogue, measures
from assay.errors import UsageError
from assay.hosts.local import Local
from assay.machine import ownership
from assay.records import CacheState, Endpoint, EndpointKind, HostSpec, Measure, Outcome, PhasePlan, Place, Server, ServerNode
from assay.trial import fleet
from assay.trial.fleet import Fleet, Station
from assay.trial.runner import TrialRunner
from stage.trial_stage import HOST, MIB, Laboratory, bulk, engine, experiment, trial

OBSERVERS = ("block", "process_io", "page_cache", "memory", "clock", "environment")


class Far(Local):
    """A host whose looks are shared by its observers."""

    far = True


def station(name, ledger=None, scratch="", kind=Far):
    observers = tuple(catalogue.find("observers", one) for one in OBSERVERS)
    return Station(host=kind(name), undo=ledger, scratch=scratch, engine=engine(), observers=observers)


@pytest.fixture
def laboratory(tmp_path):
    return Laboratory(tmp_path)


def spread(laboratory, *workloads, target_on="local", load=("c.1", "c.2"), blind=None):
    asked = experiment(laboratory.work, *workloads)
    asked = replace(
        asked,
        targets=tuple(replace(one, host=target_on) for one in asked.targets),
        hosts=(*asked.hosts, HostSpec(name="s"), *(HostSpec(name=name, load=True) for name in load)),
    )
    runner = TrialRunner(
        experiment=asked,
        host=HOST,
        ledger=laboratory.ledger,
        scratch=str(laboratory.scratch),
        engine=engine(),
        observers=tuple(catalogue.find("observers", one) for one in OBSERVERS),
        far={
            name: station(name, laboratory.ledger, str(laboratory.scratch), Blind if name == blind else Far)
            for name in ("s", *load)
        },
    )
    runner.install()
    try:
        return runner.run(trial(), 1)
    finally:
        runner.remove()


def test_clients_are_spread_and_each_host_has_its_own_evidence(laboratory):
    run, seen = spread(laboratory, bulk(clients=3, cache="cold"), target_on="s")
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    write, read = run.phases
    assert [client.host for client in write.clients] == ["c.1", "c.2", "c.1"]
    assert write.load_hosts == ("c.1", "c.2")
    assert {one.host for one in write.hosts} == {"c.1", "c.2", "s"}
    assert run.target_host == "s"
    assert {host.host for host in run.hosts} == {"c.1", "c.2", "s"}
    assert {reading.host for reading in seen.readings if reading.rung.value == "L9"} == {"s"}, "the devices are the target's"
    assert {reading.host for reading in seen.readings if reading.rung.value == "L0"} == {"c.1", "c.2"}
    assert {series.host for series in seen.series if series.layer == "memory"} == {"c.1", "c.2", "s"}
    assert {fact.host for fact in seen.facts if fact.key == "kernel.release"} == {"c.1", "c.2", "s"}
    assert {fact.host for fact in seen.facts if fact.key.startswith("target.")} == {"s"}
    assert all(one.drain_ns is not None for one in write.hosts)
    assert all(one.drain_ns is None for one in read.hosts)
    assert (read.cache_asked, read.cache_proved) == (CacheState.COLD, CacheState.COLD)
    assert {one.host: one.cached_share_before for one in read.hosts} == {"c.1": 0.0, "c.2": 0.0, "s": None}
    assert measures.value(run, seen, Measure(workload="w", operation="read", figure="bytes")).value == 3 * 8 * MIB
    assert laboratory.left() == ([], ())


def test_local_trials_have_one_host_and_our_clock(laboratory):
    run, _ = spread(laboratory, bulk(), load=())
    (host,) = run.phases[0].hosts
    assert (host.host, host.clock.offset_ns, host.clock.error_ns) == ("local", 0, 0)


def test_fewer_clients_than_load_hosts_are_refused(laboratory):
    run, _ = spread(laboratory, bulk(clients=1))
    assert run.outcome is Outcome.FAILED
    assert "1 clients on 2 load hosts" in run.error


class Blind(Far):
    """A host on which the target's directory is not mounted."""

    def exists(self, path):
        return not path.rpartition("/")[2].startswith(ownership.PREFIX) and super().exists(path)


def test_a_host_that_does_not_see_the_target_is_named(laboratory):
    run, _ = spread(laboratory, bulk(clients=2), blind="c.2")
    assert run.outcome is Outcome.FAILED
    assert "host c.2 does not see" in run.error
    assert laboratory.left() == ([], ())


def test_a_target_on_a_host_that_is_not_reached_is_no_target_of_this_machine(tmp_path):
    asked = experiment(tmp_path, bulk())
    asked = replace(asked, targets=(replace(asked.targets[0], host="filer"),))
    lab = TrialRunner(experiment=asked, host=HOST, ledger=None, scratch=str(tmp_path), engine=engine(), observers=())
    with pytest.raises((UsageError, KeyError)):
        lab.install()


PLACE = Place(
    target="t",
    host="s",
    kind=EndpointKind.DIRECTORY,
    address="/export",
    devices=("sda",),
    backing_files=("/i",),
    filesystem="xfs",
)


def test_a_client_sees_its_endpoint_and_nothing_of_the_targets_devices():
    seen = fleet.seen_from(PLACE, station("c.1"), [Endpoint(kind=EndpointKind.DIRECTORY, address="/mnt")])
    assert (seen.host, seen.address, seen.devices, seen.backing_files, seen.directory) == ("c.1", "/mnt", (), (), "/mnt")
    assert fleet.seen_from(PLACE, station("s"), []) is PLACE


def test_a_host_that_only_gives_evidence_has_no_path_of_the_targets_host_but_the_data_of_its_own_nodes():
    first, second = (ServerNode(host=name, pid_file="/run/x.pid", data=(f"/srv/{name}",)) for name in ("s", "n"))
    place = replace(PLACE, server=Server(nodes=(first, second)))
    watched = fleet.seen_from(place, station("w"), [])
    assert (watched.directory, watched.address, watched.server) == (None, "", None)
    node = fleet.seen_from(place, station("n"), [])
    assert (node.directory, node.server) == ("/srv/n", Server(nodes=(second,)))
    client = fleet.seen_from(place, station("n"), [Endpoint(kind=EndpointKind.DIRECTORY, address="/mnt")])
    assert (client.directory, client.server) == ("/mnt", Server(nodes=(second,)))


def test_data_files_belong_to_the_host_of_the_client_that_names_them():
    plan = PhasePlan(
        name="read",
        operations=("read",),
        directions={},
        settings=tuple({"regions": [{"path": f"/d/{client}"}, {"path": "/d/shared"}]} for client in range(3)),
        data_files=("/d/0", "/d/1", "/d/2", "/d/shared", "/d/index"),
    )
    two = Fleet(target=station("s"), load=(station("c.1"), station("c.2")))
    first, second = two.load
    assert fleet.part_of(plan, two.clients_on(first, 3)).data_files == ("/d/0", "/d/2", "/d/shared", "/d/index")
    assert fleet.part_of(plan, two.clients_on(second, 3)).data_files == ("/d/1", "/d/shared", "/d/index")
    assert fleet.part_of(plan, two.clients_on(two.target, 3)).data_files == ()
    assert fleet.part_of(plan, (0, 1, 2)) is plan


def test_errors_on_one_host_are_raised_when_all_have_ended():
    done = []

    def act(one):
        done.append(one.name)
        if one.name == "b":
            raise OSError("b is away")

    with pytest.raises(OSError, match="b is away"):
        fleet.each((station("a"), station("b"), station("c")), act)
    assert sorted(done) == ["a", "b", "c"]
