from dataclasses import replace

from assay.answer import doubts
from assay.cli import tables
from assay.records import (
    Bound,
    Cell,
    Claim,
    Estimate,
    Exclusion,
    ExclusionReason,
    Finding,
    Judged,
    Label,
    Method,
    Nature,
    RequirementKind,
    RequirementResult,
    RequirementState,
    Results,
    Severity,
    State,
    Tier,
    VerdictState,
)
from assay.terminal.output import Row
from stage import notebook_records as made

INVALID = Exclusion(reason=ExclusionReason.INVALID, rules={"N02": "steal"})


def test_columns_are_aligned_and_notes_go_where_there_is_room():
    rows = [
        Row(cells=("SOUND", "1 s"), note="short"),
        Row(cells=("INVALID", "1,234 s"), note="a note that is too long for the line"),
    ]
    assert tables.table(("verdict", "value"), rows, (1,), width=30).splitlines() == [
        "verdict    value",
        "SOUND        1 s  short",
        "INVALID  1,234 s",
        "    a note that is too long for the line",
    ]


def test_levels_in_words():
    assert tables.levels_text(made.experiment(), {"target": "ext4", "hosts": ("a", "b")}) == "target=ext4 hosts=a+b"
    assert tables.levels_text(made.experiment(), {}) == ""
    assert tables.levels_text(made.experiment(), {"spool.direct": True}) == "spool.direct=true", "as in the file"


def results():
    asked = made.experiment()
    return Results(experiment=asked, plan=made.plan(asked), runs=())


def estimate(value=3.98e9, low=None, high=None, unit="bytes/s", n=2):
    return Estimate(value=value, low=low, high=high, confidence=0.95, unit=unit, n=n, method=Method.MEAN)


def finding(state, rule="T01"):
    return Finding(
        subject="s", phase=None, rule=rule, name="n", state=state, severity=Severity.INVALIDATES, part="tier", statement="x"
    )


def judged(**changes):
    asked = made.experiment()
    run = made.run(made.plan(asked).trials[0])
    verdict = replace(made.verdict(run, made.RATE, 3.98e9), unit="bytes/s", **changes)
    return Judged(run=run, verdicts={made.RATE: verdict})


def test_a_cell_of_which_no_run_counts_says_so_with_the_raw_value_marked(subtests):
    for changes, said in [
        ({"corrected": 1.2e9}, "corrected 1.20 GB/s"),
        ({"bound": Bound(low=None, high=2e9, unit="bytes/s")}, "at most 2 GB/s"),
        ({"bound": Bound(low=1e9, high=2e9, unit="bytes/s")}, "at least 1 GB/s and at most 2 GB/s"),
    ]:
        with subtests.test(changes=changes):
            one = judged(state=VerdictState.INVALID, **changes)
            cell = Cell(
                measure=made.RATE, levels={}, estimate=None, values={}, excluded={one.id: INVALID}, unfiltered=estimate(n=1)
            )
            row = tables.cell_row(results(), cell, {one.id: one})
            assert row.cells[3:5] == ("(3.98 GB/s)", "n = 0")
            assert row.note.endswith(f"1 of 1 runs excluded; {said}")
            counting = tables.cell_row(
                results(), replace(cell, estimate=estimate(), values={one.id: 1.0}, excluded={}), {one.id: one}
            )
            assert counting.cells[3:5] == ("3.98 GB/s", "n = 2")
            assert said not in counting.note


def test_a_figure_of_which_some_runs_do_not_count_has_the_one_with_them_beside_it():
    one = judged()
    cell = Cell(
        measure=made.RATE,
        levels={},
        estimate=estimate(),
        values={one.id: 1.0},
        excluded={"0002/1": INVALID},
        unfiltered=replace(estimate(n=3), value=4.5e9, low=4.1e9, high=4.9e9),
    )
    note = tables.cell_row(results(), cell, {one.id: one}).note
    assert note.endswith("1 of 2 runs; 1 INVALID (N02); including excluded runs: 4.50 GB/s (4.10 GB/s to 4.90 GB/s)")


def test_figures_of_one_run_beside_a_mean_are_said_to_be_of_one_run():
    plan = made.plan(made.experiment())
    runs = [made.run(trial) for trial in plan.trials[:2]]

    def note(labels):
        plain = [made.verdict(run, made.RATE, 1.0) for run in runs]
        verdicts = [replace(one, label=label) for one, label in zip(plain, labels, strict=False)]
        told = [Judged(run=run, verdicts={made.RATE: verdict}) for run, verdict in zip(runs, verdicts, strict=False)]
        both = {one.id: one for one in told}
        cell = Cell(
            measure=made.RATE, levels={}, estimate=estimate(), values=dict.fromkeys(both, 1.0), excluded={}, unfiltered=None
        )
        return tables.cell_row(results(), cell, both).note

    bare = Label(nature=Nature.STABLE_MEDIA, operation="write")
    drained = [replace(bare, drain_ns=1e9, undrained=rate) for rate in (5e6, 6e6)]
    noted = replace(bare, nature=Nature.AS_SEEN, noted="T01")
    assert note(drained) == "writes on stable media, drain charged", "neither run's figures are those of the mean"
    assert note([bare, bare]) == note([bare]) == "writes on stable media"
    assert note([noted, replace(noted, limited_by="L04")]) == "writes as the client saw them"


def test_an_open_tier_is_marked_whatever_the_verdict(subtests):
    for state, found, shown in [
        (VerdictState.TAINTED, (), "device"),
        (VerdictState.TAINTED, (finding(State.UNVERIFIED),), "device?"),
        (VerdictState.TAINTED, (finding(State.UNVERIFIED, rule="N02"),), "device"),
        (VerdictState.UNVERIFIED, (), "device?"),
        (VerdictState.SOUND, (finding(State.UNVERIFIED),), "device"),
        (VerdictState.INVALID, (finding(State.UNVERIFIED), finding(State.FAIL, rule="T03")), "not device"),
    ]:
        with subtests.test(state=state):
            verdict = judged(state=state, claim=Claim(tier=Tier.DEVICE), findings=found).verdicts[made.RATE]
            sound = replace(verdict, state=VerdictState.SOUND, findings=())
            assert doubts.tier([sound, verdict]) == shown


def test_requirements_come_with_what_was_found(subtests):
    for found, shown in [
        (estimate(1e6, 0.9e6, 1.1e6, n=5), ["1 MB/s", "900 kB/s to 1.10 MB/s, n = 5"]),
        (estimate(0.9, 0.85, 0.95, "ratio", 5), ["0.90 times", "0.85 to 0.95, n = 5"]),
        (None, ["-", "n = 0"]),
    ]:
        with subtests.test(found=found):
            asked = made.experiment()
            required = RequirementResult(
                measure=made.RATE,
                kind=RequirementKind.AT_LEAST,
                text=">= 1 MB/s",
                levels={},
                estimate=found,
                state=RequirementState.UNDECIDED,
                verdict=VerdictState.SOUND,
            )
            results = Results(experiment=asked, plan=made.plan(asked), runs=(), requirements=(required,))
            header, line = tables.requirement_table(results).splitlines()
            assert header.endswith("95 % interval or n")
            assert [part.strip() for part in line.split("  ") if part.strip()][-2:] == shown
