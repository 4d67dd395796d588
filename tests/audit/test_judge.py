"""The judge: from a run and its evidence to a state and a label that a system administrator can read."""

import re
from dataclasses import replace

import pytest

from assay import catalogue
from assay.answer.wording import labels
from assay.audit import judge, limits
from assay.audit.labels import label
from assay.records import (
    Claim,
    Comparison,
    Conclusion,
    Direction,
    Durability,
    Exclusion,
    ExclusionReason,
    Fact,
    FactClass,
    Judged,
    Limit,
    Outcome,
    Path,
    Plan,
    Regime,
    Scope,
    Severity,
    State,
    Tier,
    VerdictState,
    When,
)
from audit.case_builder import MIB, Made, Seen, but, case_of, experiment_of, observations_of, run_of
from stage.rows import each

COLD_DEVICE = Made(
    seconds=5.0,
    claim=Claim(tier=Tier.DEVICE, regime=Regime.COLD),
    resident_share=0.0,
    seen=Seen(storage_bytes=256 * MIB, lower_bytes=256 * MIB, cached_bytes=(0, 256 * MIB), hole_bytes=0),
)
STABLE_WRITE = Made(
    operation="write",
    seconds=0.108,
    drain_s=1.2,
    claim=Claim(durability=Durability.STABLE_MEDIA),
    seen=Seen(lower_bytes=0, drain_bytes=256 * MIB, flushes=0, drain_flushes=2, dirty_bytes=256 * MIB),
)


def judged(made):
    (verdict,) = judge.judge_run(experiment_of(made), run_of(made), observations_of(made))
    return verdict


def test_cold_device_read_is_sound():
    verdict = judged(COLD_DEVICE)
    assert (verdict.state, labels.label(verdict)) == (VerdictState.SOUND, "cold reads served by the device vda")
    assert verdict.corrected is None


def test_warm_read_is_invalid_bounded_and_corrected():
    verdict = judged(but(COLD_DEVICE, seconds=0.0655, storage_bytes=round(0.02 * 256 * MIB), lower_bytes=round(0.02 * 256 * MIB)))
    assert verdict.state is VerdictState.INVALID
    assert labels.label(verdict).startswith("warm read: page-cache bandwidth; device share 2 %; device rate at most 82.0 MB/s")
    assert verdict.corrected == verdict.bound.high == pytest.approx(82e6, rel=0.01)


def test_the_same_warm_read_is_sound_as_is_and_says_so():
    verdict = judged(but(COLD_DEVICE, claim=Claim(), seconds=0.0655, storage_bytes=0, lower_bytes=0))
    assert verdict.state is VerdictState.SOUND
    words = "reads as the client saw them; warm read: page-cache bandwidth; nothing came from the device"
    assert labels.label(verdict).startswith(words)


def test_cache_claim_is_sound_when_nothing_was_read():
    made = but(COLD_DEVICE, claim=Claim(tier=Tier.CLIENT_CACHE, regime=Regime.WARM), storage_bytes=0, lower_bytes=0)
    assert labels.label(judged(made)) == "warm reads from the client's page cache"
    assert judged(made).state is VerdictState.SOUND


def test_drain_is_charged_and_said():
    verdict = judged(STABLE_WRITE)
    assert verdict.state is VerdictState.SOUND
    assert verdict.value == verdict.corrected == pytest.approx(256 * MIB / 1.308)
    assert labels.label(verdict) == "writes on stable media, drain of 1.20 s charged (2.49 GB/s without)"


@each("new said", (True, "writes (new file)"), (False, "writes (overwrite)"), (None, "writes"))
def test_writes_to_new_files_are_told_from_overwrites(new, said):
    run = run_of(STABLE_WRITE)
    phase = replace(run.phases[0], hosts=tuple(replace(host, new_files=new) for host in run.phases[0].hosts))
    (verdict,) = judge.judge_run(experiment_of(STABLE_WRITE), replace(run, phases=(phase,)), observations_of(STABLE_WRITE))
    assert labels.label(verdict).startswith(f"{said} on stable media")


@each(
    "options knobs said",
    ("rw,relatime,discard", {"file_bytes": 4096}, "unlinks (with discard)"),
    ("rw,relatime,nodiscard", {"file_bytes": 4096}, "unlinks (without discard)"),
    ("rw,discard", {}, "unlinks"),
)
def test_removals_of_data_say_whether_the_mount_discards(options, knobs, said):
    made = Made(operation="unlink", figure="ops_per_s", record_bytes=0, knobs=knobs)
    fact = Fact(host="local", when=When.BEFORE, key="target.mount.options", value=options, fact_class=FactClass.PERFORMANCE)
    seen = observations_of(made)
    (verdict,) = judge.judge_run(experiment_of(made), run_of(made), replace(seen, facts=(*seen.facts, fact)))
    assert labels.label(verdict).startswith(f"{said} as the client saw them")


def test_flush_inside_the_clock_is_said():
    made = but(STABLE_WRITE, seconds=2.0, drain_s=0.01, flush_in_clock=True, lower_bytes=256 * MIB, dirty_bytes=0, flushes=1)
    assert labels.label(judged(made)) == "writes on stable media, flush time included"


def test_no_flush_is_invalid():
    assert judged(but(STABLE_WRITE, drain_flushes=0)).state is VerdictState.INVALID


def test_missing_evidence_is_unverified_never_sound():
    verdict = judged(but(COLD_DEVICE, lower_bytes=None, cached_bytes=None, missing={"L9.read": "no block device was named"}))
    assert verdict.state is VerdictState.UNVERIFIED
    assert "no block device was named" in labels.label(verdict)


def test_claim_without_a_rule_is_unverified():
    verdict = judged(but(COLD_DEVICE, claim=Claim(path=Path.LOOPBACK)))
    assert verdict.state is VerdictState.UNVERIFIED
    assert "L05" in labels.label(verdict)


@each(
    "claim",
    *(Claim(tier=tier) for tier in (Tier.DEVICE, Tier.SERVER_CACHE, Tier.CLIENT_CACHE)),
    Claim(durability=Durability.STABLE_MEDIA),
    *(Claim(regime=regime) for regime in (Regime.COLD, Regime.WARM)),
)
def test_what_is_claimed_of_the_storage_behind_a_request_is_unverified(claim):
    made = but(STABLE_WRITE, claim=claim)
    run = run_of(made)
    requests = replace(run, phases=(replace(run.phases[0], directions={made.operation: Direction.REQUEST}),))
    (verdict,) = judge.judge_run(experiment_of(made), requests, observations_of(made))
    assert verdict.state is VerdictState.UNVERIFIED
    assert re.search(r"unverified \(.*(T02|T14|D04).*\)", labels.label(verdict))


@each("share", 0.95, 1.0, 1.04)
def test_throttled_disk_is_sound_up_to_its_edge_and_names_the_limiter(share):
    verdict = judged(throttled(share))
    assert (verdict.state, labels.label(verdict)) == (
        VerdictState.SOUND,
        "cold reads served by the device vda; limited by the declared 50 MB/s of loop0",
    )


def test_throttled_disk_is_never_sound_above_its_edge():
    assert judged(throttled(1.08)).state is VerdictState.INVALID


def throttled(share):
    """A loop disk of 50 MB/s, 5 s: the edge is 1.03 + 0.2 / 5 = 1.07 of it."""
    count = round(share * 50e6 * 5 / 4096)
    size = count * 4096
    limit = (Limit(device="loop0", direction=Direction.READ, bytes_per_s=50_000_000, declared_by="d.limit"),)
    seen = Seen(storage_bytes=size, upper_bytes=size, lower_bytes=size, cached_bytes=(0, 0), hole_bytes=0, dio="1")
    claim = Claim(tier=Tier.DEVICE, regime=Regime.COLD)
    return Made(
        count=count,
        record_bytes=4096,
        seconds=5.0,
        claim=claim,
        devices=("loop0", "vda"),
        limits=limit,
        seen=seen,
        file_bytes=size,
    )


def test_skewed_clients_are_bounded():
    verdict = judged(Made(starts=(0.0, 2.0), ends=(10.0, 12.0)))
    assert verdict.state is VerdictState.BOUNDED
    assert verdict.bound.low < verdict.value <= verdict.bound.high


def test_failed_run_is_invalid_with_its_reason():
    made = Made(outcome=Outcome.FAILED, error="mkfs failed")
    run = replace(run_of(made), phases=())
    (verdict,) = judge.judge_run(experiment_of(made), run, observations_of(made))
    assert (verdict.state, labels.label(verdict)) == (VerdictState.INVALID, "no figure, the run is failed: mkfs failed")


def test_every_rule_is_asked_every_time():
    verdict = judged(COLD_DEVICE)
    assert {finding.rule for finding in verdict.findings} == {rule.id for rule in catalogue.rules_of(Scope.TRIAL)}


def test_verdict_of_another_workload_is_left_out():
    made = Made()
    run = run_of(made)
    run = replace(run, trial=replace(run.trial, levels={"workload": "other"}))
    assert judge.judge_run(experiment_of(made), run, observations_of(made)) == ()


def test_every_threshold_has_a_source_and_every_table_a_rule():
    ids = {catalogue.find("rules", name).id for name in catalogue.names("rules")}
    assert ids <= set(limits.tables())
    for rule in limits.tables():
        assert limits.applies_text(rule) != "always"
        assert all(source for _, source in limits.sourced(rule).values())


def test_ruleset_names_version_and_digest():
    version, _, digest = judge.ruleset().rpartition("-")
    assert version[0].isdigit()
    assert len(digest) == 12


# ---------------------------------------------------------------------------------------------- comparisons


def runs_of(made, levels, trial=1):
    run = run_of(made)
    run = replace(run, trial=replace(run.trial, id=trial, levels=levels))
    observations = observations_of(made)
    verdicts = judge.judge_run(experiment_of(made), run, observations)
    return Judged(run=run, verdicts={"w.read.bytes_per_s": verdicts[0]}), observations


def comparison(**other):
    fields = {
        "measure": "w.read.bytes_per_s",
        "factor": "target",
        "baseline": "a",
        "candidate": "b",
        "within": {"clients": 1},
        "ratio": None,
        "conclusion": Conclusion.UNDECIDED,
        "matters_share": 0.05,
        "detectable_share": None,
        "provable_share": None,
    }
    return Comparison(**{**fields, **other})


def compared(candidate, **other):
    made = COLD_DEVICE
    pairs = [
        runs_of(made, {"target": "a", "clients": 1}, 1),
        runs_of(candidate, {"target": "b", "clients": 1}, 2),
        runs_of(but(made, storage_bytes=0), {"target": "b", "clients": 2}, 3),
    ]
    load = {judged.id: observations for judged, observations in pairs}
    plan = Plan(experiment="e", seed=1, trials=(), blocks=1, drawn_blocks=1, sittings=(None,))
    return judge.judge_comparisons(
        experiment_of(made), plan, [judged for judged, _ in pairs], [comparison(**other)], lambda run: load[run]
    )


def test_comparison_is_as_bad_as_the_runs_in_it():
    (subject,) = compared(COLD_DEVICE)
    assert subject == "comparison:w.read.bytes_per_s:b:clients=1"
    bad = compared(but(COLD_DEVICE, storage_bytes=0))[subject]
    assert bad.state is VerdictState.INVALID
    assert "1 INVALID of 2 runs" in labels.label(bad)


def test_excluded_runs_do_not_count():
    (verdict,) = compared(
        but(COLD_DEVICE, storage_bytes=0), excluded={"0002/1": Exclusion(reason=ExclusionReason.INVALID)}
    ).values()
    assert "INVALID" not in labels.label(verdict)


def test_experiment_rules_give_findings():
    plan = Plan(experiment="e", seed=1, trials=(), blocks=1, drawn_blocks=1, sittings=(None,))
    found = judge.judge_experiment(experiment_of(Made()), plan, [])
    assert all(finding.state in State for finding in found)


def test_noise_leaves_what_the_number_is_and_says_what_disturbed_it():
    case = case_of(COLD_DEVICE, "N02")
    finding = next(finding for finding in judged(COLD_DEVICE).findings if finding.rule == "N02")
    noisy = replace(finding, state=State.FAIL, severity=Severity.QUALIFIES, statement="The host was busy. Much of it.")
    whole = judged(COLD_DEVICE)
    found = (*(one for one in whole.findings if one.rule != "N02"), noisy)
    disturbed = replace(whole, findings=found, label=label(case, None, found))
    assert labels.label(disturbed).startswith("cold reads served by the device vda; but ")
    assert disturbed.label.disturbed_by == "N02"


@each("tier", Tier.DEVICE, Tier.AS_IS)
def test_reads_of_zeros_are_not_also_called_reads_of_the_page_cache(tier):
    lie = but(COLD_DEVICE, storage_bytes=0, lower_bytes=0, hole_bytes=256 * MIB, claim=Claim(tier=tier))
    verdict = judged(lie)
    assert "reads of zeros" in labels.label(verdict)
    assert "page-cache" not in labels.label(verdict)


def test_what_could_not_be_verified_still_bounds_the_figure():
    made = Made(seconds=10.0, values={"read.bytes_per_s": 512.0 * MIB}, seen=Seen(call_bytes=256 * MIB, storage_bytes=256 * MIB))
    verdict = judged(made)
    assert verdict.state is VerdictState.UNVERIFIED
    assert (verdict.bound.low, verdict.bound.high) == (pytest.approx(25.6 * MIB), 512 * MIB)


def test_a_count_of_lost_records_is_not_judged_by_where_bytes_came_from():
    warm = case_of(but(COLD_DEVICE, claim=Claim(), seconds=0.0655, storage_bytes=0, lower_bytes=0), "T01")
    rule = next(one for one in catalogue.rules_of(Scope.TRIAL) if one.id == "T01")
    states = [
        judge.examine_one(rule, replace(warm, measure=replace(warm.measure, figure=figure))).state
        for figure in ("bytes_per_s", "lost")
    ]
    assert states[0] is not State.NOT_APPLICABLE
    assert states[1] is State.NOT_APPLICABLE


def test_of_what_has_no_value_nothing_is_confirmed():
    told = Made(operation="write", figure="bytes_per_s", claim=Claim(), values={"write.elapsed_ns": 1e9})
    found = judged(told)
    assert (found.value, found.state) == (None, VerdictState.UNVERIFIED)
    assert "no bytes_per_s of write" in labels.label(found)
    assert judged(replace(told, values={"write.bytes_per_s": 2.0e6})).value == 2.0e6
