import dataclasses

from assay.records import Fact, FactClass, Factor, Observations, State, When
from assay.rules.tool_versions import RULE
from stage.noise_cases import comparison_case, run
from stage.said import FAIL, NOTES, PASS, UNVERIFIED, hold

TARGET = Factor(path="target", levels=("a", "b"))


def made_with(kernel="6.1", versions=None, **facts):
    known = {"kernel.release": kernel, "kernel.build": "#1 SMP", **facts}
    return dataclasses.replace(run(), versions=versions or {"assay": "0.1.0", "assay-engine": "0.1.0"}), Observations(
        facts=tuple(
            Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE)
            for key, value in known.items()
            if value is not None
        )
    )


def judged(baseline, candidate):
    return RULE.check(comparison_case("E07", TARGET, baseline, candidate))


def test_a_version_that_changed_within_both_arms_is_named_too():
    both = [made_with(), made_with(kernel="6.2")]
    finding = judged(both, both)
    assert finding.state is State.FAIL
    assert "6.1" in finding.statement


def test_the_file_of_a_command_and_what_a_target_tells_count():
    for key in ("program.w", "target.server.version"):
        finding = judged([made_with(**{key: "/usr/bin/fio, 100 bytes"})], [made_with(**{key: "/usr/bin/fio, 101 bytes"})])
        assert finding.state is State.FAIL
        assert "100" in finding.statement
    log = judged([made_with(**{"target.mkfs.log.version": "1"})], [made_with(**{"target.mkfs.log.version": "2"})])
    assert log.state is State.PASS, "a format on disk is no tool"
    assert judged([made_with(**{"target.server.version": "1"})], [made_with()]).state is State.PASS, "another system has none"
    assert judged([made_with(**{"target.size": "1"})], [made_with(**{"target.size": "2"})]).state is State.PASS


def test_states():
    hold(
        "one version of everything passes and is pinned",
        (judged([made_with()] * 2, [made_with()] * 2), PASS, "0.1.0", {"kernel": "6.1"}),
        "two versions are a note and named with both",
        (judged([made_with()], [made_with(versions={"assay": "0.2.0", "assay-engine": "0.1.0"})]), FAIL, NOTES, "0.1.0"),
        "a run that does not say its kernel or lab leaves it open",
        (judged([made_with(kernel=None)], [made_with()]), "Versions of kernel"),
        (judged([made_with()], [made_with(versions={"assay-engine": "1"})]), UNVERIFIED),
        (judged([], [made_with()]), UNVERIFIED),
    )
