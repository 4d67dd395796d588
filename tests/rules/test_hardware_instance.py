import dataclasses

from assay.records import Fact, FactClass, Factor, Observations, Severity, State, When
from assay.rules.hardware_instance import RULE
from stage.noise_cases import comparison_case, over_hosts, run
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, hold

TARGET = Factor(path="target", levels=("a", "b"))


def on(name, serial=None, target=None, place="local", boot=None):
    """A run on a machine of this name and serial number, in a boot; its target on another one."""
    known = {"host.name": name, "machine.serial": serial, "target.machine": target, "host.boot": boot}
    facts = tuple(
        Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.IDENTITY)
        for key, value in known.items()
        if value is not None
    )
    bare = run()
    return dataclasses.replace(bare, places=(dataclasses.replace(bare.places[0], host=place),)), Observations(facts=facts)


def judged(baseline, candidate, implied=()):
    case = comparison_case("C05", TARGET, baseline, candidate)
    return RULE.check(dataclasses.replace(case, experiment=dataclasses.replace(case.experiment, implied=implied)))


@each(
    "left right",
    ([on("one")], [on("two")]),
    ([on("one", "s1")], [on("two", "s2")]),
    ([on("one", target="filer-1")], [on("one", target="filer-2")]),
    ([on("one", place="s")], [on("one", place="t")]),
)
def test_two_machines_qualify_and_are_named(left, right):
    finding = judged(left, right)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["baseline"] != finding.observed["candidate"]


def test_one_name_without_a_serial_number_is_one_machine_only_in_a_common_boot():
    first, second = on("vm", boot="1"), on("vm", boot="2")
    finding = judged([first], [second])
    assert finding.state is State.UNVERIFIED
    assert "without DMI" in finding.statement
    assert judged([first, second], [second]).state is State.PASS
    assert judged([on("vm", "s", boot="1")], [on("vm", "s", boot="2")]).state is State.PASS


def test_a_swap_passes_and_half_a_swap_does_not():
    both = [on("one"), on("two")]
    assert judged(both, both).statement.startswith("Both arms ran on all 2 machines")
    assert "share only some" in judged(both, [on("one")]).statement


def test_the_machine_may_be_declared_to_belong_to_the_factor():
    left, right = [on("one", "s1")], [on("two", "s2")]
    assert judged(left, right, ("host.name", "machine.*")).state is State.PASS
    assert judged(left, right, ("host.name",)).state is State.FAIL, "the serial number differs too"
    servers = [on("one", target="filer-1")], [on("one", target="filer-2")]
    assert judged(*servers, ("target.machine",)).state is State.PASS
    assert judged(*servers, ("host.name",)).state is State.FAIL


def over(**machines):
    """A run over several hosts: each with the serial number of its machine."""
    facts = tuple(
        Fact(host=host.replace("_", "."), when=When.BEFORE, key=key, value=f"{key}-{serial}", fact_class=FactClass.IDENTITY)
        for host, serial in machines.items()
        for key in ("host.name", "machine.serial")
    )
    unused = Fact(host="c.9", when=When.BEFORE, key="host.address", value="10.0.0.9", fact_class=FactClass.IDENTITY)
    known = Observations(facts=(*facts, unused, dataclasses.replace(unused, host="c.2")))
    return over_hosts(run(), *(host.replace("_", ".") for host in machines)), known.on_all()


def test_of_several_hosts_every_machine_counts():
    arm = [over(s="1", c_1="2")]
    swapped = judged(arm, [over(s="1", c_1="3")])
    assert swapped.state is State.FAIL
    assert "host.name-3" in swapped.observed["candidate"]


def test_a_number_of_load_hosts_as_the_factor_compares_the_hosts_of_both_arms():
    case = comparison_case("C05", Factor(path="hosts", levels=(1, 2)), [over(s="1", c_1="2")], [over(s="1", c_1="2", c_2="3")])
    assert RULE.check(case).state is State.PASS
    moved = dataclasses.replace(case, candidate=(over(s="9", c_1="2", c_2="3"),))
    assert RULE.check(moved).state is State.FAIL


def test_states():
    hold(
        "one machine passes also under two names where its serial number is known",
        (judged([on("one")] * 3, [on("one")] * 3), PASS),
        (judged([on("one", "s1")], [on("two", "s1")]), PASS),
        (judged([on("one", "s1")], [on("two")]), FAIL),
        "runs without facts leave it open",
        (judged([(run(), Observations())], [on("one")]), UNVERIFIED),
        (judged([], [on("one")]), UNVERIFIED),
    )
