import dataclasses
import shutil

from assay.hosts.local import Local
from assay.observers.environment import OBSERVER
from assay.records import Change, Edge, Fact, FactClass, Factor, Observations, PathSpec, Severity, State, Subject, When
from assay.rules.fingerprint import RULE
from stage.noise_cases import comparison_case, over_hosts, run
from stage.observer_looks import HOSTS, look
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, UNVERIFIED, hold

TARGET = Factor(path="target", levels=("a", "b"))
CLIENTS = Factor(path="clients", levels=(1, 2))


def fact(key, value, fact_class=FactClass.PERFORMANCE, when=When.BEFORE):
    return Fact(host="local", when=when, key=key, value=value, fact_class=fact_class)


def arm(*facts, devices=("vda",), versions=()):
    return dataclasses.replace(run(devices=devices), versions=dict(versions)), Observations(
        facts=(fact("kernel.release", "6"), *facts)
    )


def judged(baseline, candidate, factor=TARGET):
    return RULE.check(comparison_case("C01", factor, baseline, candidate))


def test_an_arm_without_a_run_is_no_lack_of_facts():
    full = [arm(fact("memory.total", "4 GiB"))]
    assert "an arm has no run that counts" in judged(full, []).statement
    assert "not every run has facts" in judged(full, [(full[0][0], Observations())]).statement


def test_equal_facts_noise_and_identity_are_not_shown():
    left = arm(fact("host.load", "1", FactClass.NOISE), fact("host.name", "x", FactClass.IDENTITY), fact("memory.total", "4 GiB"))
    right = arm(
        fact("host.load", "2", FactClass.NOISE), fact("host.name", "y", FactClass.IDENTITY), fact("memory.total", "4 GiB")
    )
    finding = judged([left], [right])
    assert finding.state is State.PASS
    assert finding.observed == {"differing": 0, "implied": 0, "drifted": 0, "compared": 2}


def test_the_targets_own_mount_follows_from_the_target_but_not_from_the_clients():
    left, right = [arm(fact("mount.target.fstype", "ext4"))], [arm(fact("mount.target.fstype", "xfs"))]
    assert judged(left, right).state is State.PASS
    assert judged(left, right, Factor(path="disk.filesystem", levels=("a", "b"))).state is State.PASS
    assert judged(left, right, CLIENTS).state is State.FAIL


def test_the_client_program_that_a_target_brings_follows_from_the_target():
    left, right = ([arm(fact("target.program.f.put", f"/usr/bin/{name}, 1 bytes"))] for name in ("dd", "scp"))
    assert judged(left, right).state is State.PASS
    assert judged(left, right, CLIENTS).state is State.FAIL
    named = [[arm(fact("program.f.put", one))] for one in ("/usr/bin/a, 1 bytes", "/usr/bin/b, 1 bytes")]
    assert judged(*named).state is State.FAIL, "the workload's own program is the same for each target"


def test_what_a_path_is_stated_as_follows_from_its_own_knobs():
    left, right = ([arm(fact("target.path.wan.up.bytes_per_s", rate))] for rate in ("1250000", "12500000"))
    factor = Factor(path="wan.rate", levels=(1_250_000, 12_500_000))
    assert judged(left, right, factor).state is State.FAIL
    case = comparison_case("C01", factor, left, right)
    known = dataclasses.replace(case.experiment, paths=(PathSpec(name="wan"),))
    assert RULE.check(dataclasses.replace(case, experiment=known)).state is State.PASS
    other = dataclasses.replace(case.experiment, paths=(PathSpec(name="lan"), PathSpec(name="wa")))
    assert RULE.check(dataclasses.replace(case, experiment=other)).state is State.FAIL


def test_an_interface_that_a_further_path_brings_follows_from_the_target():
    brought = [arm(fact("end.0.interface.0.mtu", "1500"), fact("end.0.interface.1.mtu", "1500"))]
    factor = Factor(path="disk.paths", levels=("a", "b"))
    alone = [arm(fact("end.0.interface.0.mtu", "1500"))]
    assert judged(alone, brought, factor).state is State.PASS
    assert judged(alone, brought, CLIENTS).state is State.FAIL
    assert judged(alone, [arm(fact("end.0.interface.0.mtu", "9000"))], factor).state is State.FAIL, "another setting is none"


def test_ends_that_cannot_be_matched_follow_from_the_target():
    factor = Factor(path="target", levels=("cluster", "through"))
    cluster = [arm(fact("end.0.sysctl.net.core.rmem_max", "1"), fact("end.1.interface.0.mtu", "65536"))]
    ends = (fact("end.1.interface.0.mtu", "1500"), fact("end.2.sysctl.net.core.rmem_max", "1"))
    through = [arm(fact("end.0.sysctl.net.core.rmem_max", "1"), *ends)]
    assert judged(cluster, through, factor).state is State.PASS
    assert judged(cluster, through, CLIENTS).state is State.FAIL
    load = [arm(fact("end.0.sysctl.net.core.rmem_max", "2"), *ends)]
    assert judged(cluster, load, factor).state is State.FAIL, "the load's own end is the same one"
    pair = [arm(fact("end.0.sysctl.net.core.rmem_max", "1"), fact("end.1.interface.0.mtu", "1500"))]
    assert judged(cluster, pair, factor).state is State.FAIL, "as many ends: they are compared"


def test_options_that_one_file_system_alone_shows_follow_from_the_target():
    left, right = [arm(fact("device.0.ext4_options", "rw nodelalloc"))], [arm()]
    assert judged(left, right).state is State.PASS
    assert judged(left, right, CLIENTS).state is State.FAIL
    below = [arm(fact("device.1.ext4_options", "rw nodelalloc"))]
    assert judged(below, right).state is State.FAIL


@each("other state", (("loop3", "vda"), State.FAIL), (("sda",), State.PASS))
def test_a_queue_setting_follows_only_from_another_stack(other, state):
    left = [arm(fact("device.0.queue.read_ahead_kb", "128"), devices=("loop0", "vda"))]
    right = [arm(fact("device.0.queue.read_ahead_kb", "4096"), devices=other)]
    assert judged(left, right).state is state


def test_what_the_file_declares_follows_from_the_factor_and_nothing_else_does():
    left = [arm(fact("sysctl.vm.dirty_ratio", "20"), fact("network.eth0.mtu", "1500"))]
    right = [arm(fact("sysctl.vm.dirty_ratio", "40"), fact("network.eth0.mtu", "9000"))]
    case = comparison_case("C01", CLIENTS, left, right)
    said = {
        keys: RULE.check(dataclasses.replace(case, experiment=dataclasses.replace(case.experiment, implied=keys)))
        for keys in ((), ("network.*",), ("network.*", "sysctl.vm.dirty_ratio"), ("sysctl.vm.dirty",))
    }
    assert [(finding.state, finding.observed["differing"], finding.observed["implied"]) for finding in said.values()] == [
        (State.FAIL, 2, 0),
        (State.FAIL, 1, 1),
        (State.PASS, 0, 2),
        (State.FAIL, 2, 0),
    ]
    assert "2" in said["network.*", "sysctl.vm.dirty_ratio"].statement


def test_drift_during_a_run_qualifies():
    drifted = arm(fact("cpu.governor", "x"), fact("cpu.governor", "y", when=When.AFTER))
    finding = judged([drifted], [drifted])
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)


def test_two_recorded_hosts_that_differ_in_one_file(tmp_path):
    shutil.copytree(HOSTS / "cgroup_v1", tmp_path / "b")
    (tmp_path / "b/proc/sys/vm/dirty_ratio").write_text("40\n")
    (tmp_path / "b/proc/uptime").write_text("1.0 1.0\n")
    subject = Subject(directory="/srv/data", devices=("loop0", "vda"))
    arms = []
    for root in (HOSTS / "cgroup_v1", tmp_path / "b"):
        snapshot = look(OBSERVER, Local(root=root), subject, Edge.TRIAL_START, 0)
        arms.append([(run(devices=subject.devices), Observations(facts=OBSERVER.parse("local", "", [snapshot], subject).facts))])
    finding = judged(*arms, CLIENTS)
    assert finding.observed["differing"] == 1
    assert judged(arms[0], arms[0], CLIENTS).state is State.PASS


def test_hosts_that_the_factor_adds_are_no_difference_and_what_differs_on_a_host_of_both_arms_is():
    def of(*hosts, ratio="20"):
        facts = [
            Fact(host=one, when=When.BEFORE, key=key, value="6", fact_class=FactClass.PERFORMANCE)
            for one in hosts
            for key in "ab"
        ]
        own = Fact(host="s", when=When.BEFORE, key="ratio", value=ratio, fact_class=FactClass.PERFORMANCE)
        unused = Fact(host="c.3", when=When.BEFORE, key="host.address", value="10.0.0.3", fact_class=FactClass.IDENTITY)
        every = (*facts, own, unused, dataclasses.replace(unused, host="c.2"))
        return [(over_hosts(run(), *hosts), Observations(facts=tuple({(one.host, one.key): one for one in every}.values())))]

    number = Factor(path="hosts", levels=(1, 2))
    assert judged(of("s", "c.1"), of("s", "c.1", "c.2"), number).observed["differing"] == 0
    changed = judged(of("s", "c.1"), of("s", "c.1", "c.2", ratio="40"), number)
    assert changed.observed["s: ratio"] == "s: ratio: 20 against 40"
    assert changed.observed["differing"] == 1
    assert (changed.state, changed.severity) == (State.FAIL, Severity.INVALIDATES), "no bundle: s is the same host in both arms"
    assert judged(of("s"), of("s", "c.1"), number).observed["differing"] == 0, "one host alone against two"


def by_hand(path):
    return Factor(path=path, levels=("a", "b"), change=Change.MANUAL)


def test_a_factor_changed_by_hand_without_a_trace_is_named_with_the_facts_of_its_name():
    equal = [arm(fact("device.0.queue.scheduler", "mq-deadline"))]
    finding = judged(equal, equal, by_hand("scheduler"))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert judged(equal, equal, by_hand("cable")).state is State.FAIL
    other = [arm(fact("device.0.queue.scheduler", "mq-deadline"), fact("device.0.queue.nr_requests", "7"))]
    assert judged(equal, other, by_hand("scheduler")).short == "no trace of the factor"
    assert judged(equal, other, by_hand("cable")).state is State.PASS
    assert judged(equal, [arm(fact("device.0.queue.scheduler", "none"))], by_hand("scheduler")).state is State.PASS


@each(
    "first second state",
    (("/dev/vda", "/"), ("/dev/vda", "/srv"), State.FAIL),
    (("nas:/x", "/a"), ("nas:/x", "/b"), State.FAIL),
    (("tmpfs", "/a"), ("tmpfs", "/a"), State.FAIL),
    (("tmpfs", "/a"), ("tmpfs", "/b"), State.PASS),
    (("/dev/loop0", "/a"), ("/dev/loop0", "/b"), State.PASS),
    (("/dev/vda", "/"), ("/dev/vdb", "/srv"), State.PASS),
)
def test_two_targets_on_one_file_system_are_noted(first, second, state):
    arms = [[arm(fact("mount.target.source", source), fact("mount.target.point", point))] for source, point in (first, second)]
    finding = judged(*arms)
    assert finding.state is state
    assert (finding.severity is Severity.NOTES) == (state is State.FAIL)
    assert judged(*arms, CLIENTS).short != "one file system"
    ran, seen = arms[1][0]
    own = dataclasses.replace(ran, places=tuple(dataclasses.replace(one, storage="/pool") for one in ran.places))
    assert judged(arms[0], [(own, seen)]).state is State.PASS, "a file system of its own, on what these facts are of"


def test_states():
    hold(
        "one setting besides the factor invalidates and is shown with both values",
        (judged([arm(fact("sysctl.vm.dirty_ratio", "20"))], [arm(fact("sysctl.vm.dirty_ratio", "40"))]), FAIL, INVALIDATES),
        "a setting that changed half way through one arm differs",
        (
            judged([arm(fact("cpu.governor", "x"))] * 2, [arm(fact("cpu.governor", "x")), arm(fact("cpu.governor", "y"))]),
            "cpu.governor: x against x or y",
        ),
        ("a fact that one arm lacks differs", judged([arm(fact("cpu.boost", "1"))], [arm()]), FAIL, INVALIDATES),
        (
            "versions of tools are facts",
            judged([arm(versions=[("engine", "1")])], [arm(versions=[("engine", "2")])]),
            FAIL,
            INVALIDATES,
        ),
        "levels changed by hand are bundles by declaration",
        (
            judged(
                [arm(fact("kernel.build", "1"))],
                [arm(fact("kernel.build", "2"))],
                Factor(path="os", levels=("a", "b"), change=Change.MANUAL),
            ),
            PASS,
            "kernel.build",
        ),
        "runs without facts leave it open",
        (judged([(run(), Observations())], [arm()]), UNVERIFIED),
        (judged([], []), UNVERIFIED),
    )
