import dataclasses

from assay.records import Factor, Observations, Severity, State, TargetSpec, WorkloadSpec
from assay.rules.tuning_parity import RULE
from stage.network_cases import between, connection, end
from stage.noise_cases import comparison_case, run
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, hold

TARGET = Factor(path="target", levels=("a", "b"))
SIZE = {"filesystem": "ext4", "size": 1 << 30}


def judged(a, b, *factors, within=None, kind="loopfs"):
    """The finding on two targets with these knobs, at these levels of the other factors."""
    case = comparison_case("C03", TARGET, [(run(), Observations())], [(run(), Observations())])
    targets = (TargetSpec(name="a", kind=kind, knobs=a), TargetSpec(name="b", kind=kind, knobs=b))
    return RULE.check(
        dataclasses.replace(
            case,
            experiment=dataclasses.replace(case.experiment, targets=targets, factors=(TARGET, *factors)),
            comparison=dataclasses.replace(case.comparison, within=within or {}),
        )
    )


def test_the_best_of_many_against_what_was_never_tuned_qualifies():
    tried = Factor(path="a.mount_options", levels=((), ("noatime",), ("nobarrier",)))
    finding = judged(SIZE, SIZE, tried, within={"a.mount_options": ("noatime",)})
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["baseline_tried"] == 3
    assert finding.relabel == "comparison of a tuned a with an untuned b"
    assert judged(SIZE, SIZE, tried, within={"a.mount_options": ()}).state is State.PASS, "left as it comes"


def test_where_a_server_stands_and_the_way_to_it_are_no_tuning():
    finding = judged({"on": "disk", "through": "wan"}, {}, kind="nfs_ganesha")
    assert (finding.state, finding.observed["baseline_changed"]) == (State.PASS, 0)


@each("level state", ("off", State.PASS), ("on", State.FAIL))
def test_a_free_variable_counts_at_any_level_but_the_first(level, state):
    tried = Factor(path="b.variables.cache", levels=("off", "half", "on"))
    knobs = {"path": "/x", "prepare": ("mkdir", "{path}"), "variables.cache": "off", "variables.port": "22"}
    assert judged({"path": "/y"}, knobs, tried, within={"b.variables.cache": level}, kind="commands").state is state


def test_settings_of_one_system_are_what_is_compared():
    case = comparison_case("C03", Factor(path="disk.mount_options", levels=((), ("noatime",))), [], [])
    assert "the factor is" in str(RULE.applies(case))
    stray = comparison_case("C03", TARGET, [], [])
    assert RULE.check(stray).state is State.UNVERIFIED


# ---------------------------------------------------------------------------------------------- both ends of a network


def network(*arms, factor=TARGET, facts=((), ()), message=None):
    """Two arms of a stream; each arm's connection, or foreign ends where it is None, and facts of its ends."""
    cases = [
        between("C03", load=end(one) if one is not None else None, facts=known) for one, known in zip(arms, facts, strict=True)
    ]
    runs = [(one.run, one.observations) for one in cases]
    if message is not None:
        levels = {"w.message": message}
        runs[1] = (dataclasses.replace(runs[1][0], trial=dataclasses.replace(runs[1][0].trial, levels=levels)), runs[1][1])
    for place, one in enumerate(arms):
        if one is None:
            run_of, seen = runs[place]
            foreign = [
                dataclasses.replace(ph, clients=tuple(dataclasses.replace(c, net=None) for c in ph.clients), servers=())
                for ph in run_of.phases
            ]
            runs[place] = (dataclasses.replace(run_of, phases=tuple(foreign)), seen)
    case = comparison_case("C03", factor, [runs[0]], [runs[1]])
    stream = WorkloadSpec(name="w", kind="net_stream")
    targets = (TargetSpec(name="a", kind="socket"), TargetSpec(name="b", kind="socket"))
    experiment = dataclasses.replace(case.experiment, targets=targets, factors=(factor,), workloads=(stream,))
    measure = dataclasses.replace(case.measure, workload="w", operation="send", figure="bytes_per_s")
    return dataclasses.replace(case, experiment=experiment, measure=measure)


@each(
    "candidate words",
    (connection(congestion="bbr"), "congestion control cubic against bbr"),
    (connection(path_mtu=9000), "MTU 1,500 bytes against 9,000 bytes"),
    (connection(asked=262_144), "window sized by the kernel against 262,144 bytes"),
)
def test_what_the_sockets_of_the_arms_had(candidate, words):
    finding = RULE.check(network(connection(), candidate))
    # the other end of both arms is alike, so both values are in the candidate's arm
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert words.split(" against ")[1] in finding.statement


def test_a_setting_that_the_file_declares_follows_from_the_factor():
    case = network(connection(), connection(congestion="bbr"))
    declared = dataclasses.replace(case, experiment=dataclasses.replace(case.experiment, implied=("target.ends.*",)))
    assert RULE.check(declared).state is State.PASS
    other = network(connection(), connection(path_mtu=9000))
    elsewhere = dataclasses.replace(other.experiment, implied=("target.ends.tcp_congestion_control",))
    assert RULE.check(dataclasses.replace(other, experiment=elsewhere)).state is State.FAIL


def test_arms_that_are_alike_pass():
    assert RULE.check(network(connection(), connection())).state is State.PASS
    placed = Factor(path="w.placement", levels=("same", "different"))
    case = network(connection(), connection(), factor=placed)
    assert RULE.applies(case) is None


def test_the_factor_itself_may_differ():
    for path, candidate in (("w.window", connection(asked=65_536)), ("w.congestion", connection(congestion="bbr"))):
        assert RULE.check(network(connection(), candidate, factor=Factor(path=path, levels=(1, 2)))).state is State.PASS


def test_states():
    hold(
        "two systems as they come pass whatever they are",
        (judged(SIZE, {**SIZE, "filesystem": "xfs", "size": 2 << 30, "limit.read_ops_per_s": 400}), PASS),
        "options on one side alone are a note counted one by one",
        (judged({**SIZE, "mount_options": ("noatime", "data=writeback")}, SIZE), FAIL, NOTES),
        "the same effort on both sides passes",
        (
            judged(
                SIZE,
                SIZE,
                *[Factor(path=f"{name}.mount_options", levels=((), ("noatime",), ("lazytime",))) for name in ("a", "b")],
                within={"a.mount_options": ("noatime",), "b.mount_options": ("lazytime",)},
            ),
            PASS,
        ),
        ("another message is another load", RULE.check(network(connection(), connection(), message=4096)), "131072"),
        "foreign ends are compared by their namespaces",
        (
            RULE.check(
                network(
                    None,
                    None,
                    facts=tuple(
                        (("end.1.interface.0.mtu", mtu), ("end.1.sysctl.net.ipv4.tcp_congestion_control", "bbr"))
                        for mtu in ("1500", "4000")
                    ),
                )
            ),
            "1500",
        ),
    )
