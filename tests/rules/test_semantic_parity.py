import dataclasses

from assay.records import Direction, Fact, FactClass, Factor, Observations, OperationTotal, Reading, Rung, Severity, State, When
from assay.rules.semantic_parity import RULE
from stage.noise_cases import comparison_case, phase, run
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, UNVERIFIED, hold

TARGET = Factor(path="target", levels=("a", "b"))
TRIED = {"semantics.access_time": "never", "semantics.names": "upper and lower case differ"}
OPTIONS = "mount.target.options"


def promising(direction=Direction.WRITE, flushes=None, cache="write back", **facts):
    """A run whose target promises this; `flushes` are those that came down of 50 that were asked for."""
    known = {**TRIED, OPTIONS: "rw,noatime", "device.0.queue.write_cache": cache, **facts}
    bare = phase()
    total = OperationTotal(operation="flush", count=50, bytes=0, errors=0, busy_ns=1, first_ns=0, last_ns=1)
    made = dataclasses.replace(
        bare,
        directions={"write": direction, "flush": Direction.FLUSH},
        clients=(dataclasses.replace(bare.clients[0], operations=(total,) if flushes is not None else ()),),
    )
    counted = [
        Reading(
            phase="write",
            rung=rung,
            source="block:/proc/diskstats",
            host="local",
            subject=subject,
            direction=Direction.FLUSH,
            bytes=None,
            operations=count,
            from_ns=0,
            to_ns=1,
        )
        for rung, subject, count in ((Rung.UPPER_DEVICE, "device:loop0", flushes), (Rung.LOWEST_DEVICE, "device:vda", 500))
        if flushes is not None
    ]
    performance = FactClass.PERFORMANCE
    return run(of=made), Observations(
        readings=tuple(counted),
        facts=tuple(
            Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=performance)
            for key, value in known.items()
            if value is not None
        ),
    )


def judged(left, right, implied=()):
    case = comparison_case("C02", TARGET, [left], [right])
    return RULE.check(dataclasses.replace(case, experiment=dataclasses.replace(case.experiment, implied=implied)))


def test_the_same_promises_pass_and_are_all_listed():
    finding = judged(promising(), promising())
    assert finding.state is State.PASS
    assert "access_time: never in both" in finding.evidence
    assert "durability: as usual in both" in finding.evidence


@each("option", "nobarrier", "barrier=0", "sync", "data=writeback", "data=journal", "compress=zstd:3", "sec=krb5p")
def test_an_option_that_changes_a_promise_invalidates_a_comparison_of_writes(option):
    finding = judged(promising(), promising(**{OPTIONS: f"rw,{option}"}))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert f"as usual against {option}" in finding.statement


@each("option", "barrier=1", "data=ordered", "inode64", "logbsize=32k", "noquota", "discard", "ssd", "space_cache=v2")
def test_what_only_tunes_or_says_the_usual_is_no_other_promise(option):
    assert judged(promising(), promising(**{OPTIONS: f"rw,{option}"})).state is State.PASS


@each(
    "direction severity",
    (Direction.READ, Severity.NOTES),
    (Direction.WRITE, Severity.INVALIDATES),
    (Direction.METADATA, Severity.INVALIDATES),
)
def test_durability_is_a_note_under_a_read(direction, severity):
    finding = judged(promising(direction), promising(direction, **{OPTIONS: "rw,barrier=0"}))
    assert (finding.state, finding.severity) == (State.FAIL, severity)


@each(
    "values direction severity",
    (("never", "each read"), Direction.READ, Severity.INVALIDATES),
    (("never", "each read"), Direction.WRITE, Severity.NOTES),
    (("never", "first read after a change or a day"), Direction.READ, Severity.NOTES),
)
def test_access_times_count_where_each_read_writes_one(values, direction, severity):
    left, right = (promising(direction, **{"semantics.access_time": value}) for value in values)
    assert judged(left, right).severity is severity


def test_names_qualify_metadata_and_are_a_note_under_bytes():
    folded = {"semantics.names": "upper and lower case are one"}
    for direction, severity in ((Direction.METADATA, Severity.QUALIFIES), (Direction.READ, Severity.NOTES)):
        assert judged(promising(direction), promising(direction, **folded)).severity is severity


def test_a_setting_of_one_target_is_what_is_compared():
    case = comparison_case("C02", Factor(path="disk.mount_options", levels=((), ("noatime",))), [], [])
    assert "is the factor" in str(RULE.applies(case))
    assert RULE.applies(comparison_case("C02", TARGET, [], [])) is None


def test_states():
    hold(
        "flushes that did not come down to a volatile cache",
        (judged(promising(flushes=50), promising(flushes=0)), FAIL, INVALIDATES),
        (judged(promising(flushes=50, cache="write through"), promising(flushes=0, cache="write through")), PASS),
        "what is declared does not count",
        (judged(promising(), promising(**{OPTIONS: "rw,barrier=0"}), ("semantics.durability",)), PASS),
        "only what both arms tell is compared and nothing known leaves it open",
        (judged(promising(), promising(**{"semantics.access_time": None, "semantics.names": None})), PASS),
        (judged(promising(), (run(of=phase()), Observations())), UNVERIFIED),
    )


KERNEL_NFS = {"target.clients.filesystem": "nfs4", "target.clients.mount": "rw,vers=4.2,sec=sys; rw,vers=4.2,sec=sys"}
SEALED = {"target.clients.filesystem": "cifs", "target.clients.mount": "rw,vers=3.1.1,seal,cache=strict"}
AFS_CLEAR, AFS_SEALED = ({"target.clients.encryption": kind} for kind in ("clear", "fcrypt"))


@each(
    "left right words",
    (AFS_CLEAR, AFS_SEALED, "encryption: clear against fcrypt"),
    (KERNEL_NFS, AFS_SEALED, "encryption: clear against fcrypt"),
    (KERNEL_NFS, SEALED, "encryption: clear against seal"),
    ({**KERNEL_NFS, "target.clients.mount": "rw,sec=krb5p"}, AFS_CLEAR, "encryption: sec=krb5p against clear"),
)
def test_a_client_that_encrypts_is_not_compared_with_one_that_does_not(left, right, words):
    for direction in (Direction.READ, Direction.WRITE):
        finding = judged(promising(direction, **left), promising(direction, **right))
        assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
        assert words in finding.statement


@each("left right", (AFS_SEALED, AFS_SEALED), (AFS_CLEAR, KERNEL_NFS), ({}, AFS_SEALED))
def test_equal_or_unknown_encryption_is_no_difference(left, right):
    """Nothing is known of a client in user space, whatever it does."""
    assert judged(promising(**left), promising(**right)).state is State.PASS
