"""G09: connections kept, opened for each request, opened by others; where they are the factor, and where nobody counts them."""

from array import array
from dataclasses import replace

import pytest

from assay import catalogue
from assay.records import EndpointKind, Fact, FactClass, Observations, Place, Series, Severity, State, When, WorkloadSpec
from stage.comparison_cases import case
from stage.directory_cases import SLAPD, loaded
from stage.rows import each
from stage.said import FAIL, INVALIDATES, NOTES, PASS, hold

RULE = catalogue.find("rules", "connection_state")
SECOND = 10**9
OPERATIONS = 1000


def counted(before, during, layer="network", metric="tcp_active_opens"):
    """So many connections in the quarter of a second before, and under the clock of a second."""
    points = [(-SECOND // 4, 0), (-1, before), (SECOND + 1, before + during)]
    series = Series(
        phase="fill",
        source="network:/proc/net/dev",
        layer=layer,
        host="local",
        subject="",
        metric=metric,
        unit="count",
        at_ns=array("q", [at for at, _ in points]),
        value=array("d", [value for _, value in points]),
    )
    return Observations(series=(series,))


def compared(baseline, candidate, *, before=0, kind="command", factor="target", counts=True, accepted=None):
    """Two arms with so many connections in each run, of a command that tells how often it asked."""
    found = case("G09", lambda t: 1.0, compare=factor)
    server = () if accepted is None else counted(0, accepted, "server", "accepted_connections").series
    values = {"create.count": float(OPERATIONS)} if counts else {"create.elapsed_ns": 1.0}

    def arm(runs, during):
        return tuple(
            (
                replace(run, phases=tuple(replace(phase, values=values) for phase in run.phases)),
                Observations(series=(*counted(before, during).series, *server)),
            )
            for run, _ in runs
        )

    return replace(
        found,
        baseline=arm(found.baseline, baseline),
        candidate=arm(found.candidate, candidate),
        experiment=replace(found.experiment, workloads=(WorkloadSpec(name="spool", kind=kind),)),
    )


def without_values(run):
    return replace(run, phases=tuple(replace(phase, values={}) for phase in run.phases))


def test_what_opens_no_connections_or_was_not_counted_is_not_judged():
    assert "no connection without a server" in (RULE.applies(compared(0, 0, kind="metadata")) or "")
    unseen = compared(0, 0)
    unseen = replace(unseen, candidate=tuple((run, Observations()) for run, _ in unseen.candidate))
    assert "connections not counted" in (RULE.applies(unseen) or "")
    assert RULE.applies(compared(0, 0)) is None


@each("baseline candidate", (0, 0), (1, 1), (1, 9), (1000, 1050), (2000, 2000))
def test_connections_that_are_used_alike_pass(baseline, candidate):
    assert RULE.check(compared(baseline, candidate)).state is State.PASS


@each("baseline candidate", (1, 1000), (1000, 1), (0, 100), (1000, 2000))
def test_a_connection_for_each_request_against_one_that_is_kept(baseline, candidate):
    found = RULE.check(compared(baseline, candidate))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.relabel == "comparison with different use of connections"
    if (baseline, candidate) == (1, 1000):
        assert "1,000" in found.statement


@each(
    "programs severity",
    (("dd", "scp"), Severity.NOTES),
    (("scp", "scp"), Severity.INVALIDATES),
    ((None, "scp"), Severity.INVALIDATES),
)
def test_client_programs_that_targets_bring_connect_in_their_own_way(programs, severity):
    """A transfer by scp opens a connection for each file, one through a mount none: that is what is compared."""
    found = compared(0, 1000, kind="transfer", accepted=1000)
    measured = replace(found.measure, workload="spool", operation="create")

    def with_program(runs, program):
        key = f"target.program.{measured.workload}.{measured.operation}"
        fact = Fact(host="local", when=When.BEFORE, key=key, value=f"/usr/bin/{program}", fact_class=FactClass.PERFORMANCE)
        kept = () if program is None else (fact,)
        own = counted(0, 0 if program == "dd" or program is None else 1000, "server", "accepted_connections").series
        return tuple((run, replace(seen, facts=kept, series=own)) for run, seen in runs)

    baseline, candidate = (with_program(runs, one) for runs, one in zip((found.baseline, found.candidate), programs, strict=True))
    if programs[0] == programs[1]:
        quiet = counted(0, 0, "server", "accepted_connections").series
        baseline = tuple((run, replace(seen, series=quiet)) for run, seen in baseline)
    judged = RULE.check(replace(found, measure=measured, baseline=baseline, candidate=candidate))
    assert (judged.state, judged.severity) == (State.FAIL, severity)


def test_our_own_engine_on_a_servers_mount_is_judged_by_its_own_count():
    found = compared(0, 0, kind="metadata", accepted=OPERATIONS)
    found = replace(found, baseline=tuple((without_values(run), seen) for run, seen in found.baseline))
    assert RULE.applies(found) is None
    assert RULE.check(found).observed["baseline_per_operation"] == pytest.approx(1.0)


def test_an_arm_without_runs_is_not_known():
    one = compared(0, 0)
    excluded = {f"{run.trial.id:04d}/{run.attempt}": "spoiled" for run, _ in one.candidate}
    assert RULE.check(replace(one, comparison=replace(one.comparison, excluded=excluded))).state is State.UNVERIFIED


PLACE = Place(target="d", host="local", kind=EndpointKind.URL, address="ldap://127.0.0.1:1", server=SLAPD)


def bound(baseline, candidate, *, factor="target"):
    """Two arms of a command on a directory server, which bound so often on one connection."""
    made = compared(1, 1, factor=factor)

    def arm(runs, binds):
        return tuple(
            (replace(run, places=(PLACE,)), replace(seen, series=(*seen.series, *counted(0, binds, "directory", "bind").series)))
            for run, seen in runs
        )

    return replace(made, baseline=arm(made.baseline, baseline), candidate=arm(made.candidate, candidate))


def test_without_the_servers_counter_the_engine_counts_its_binds():
    once, each = (loaded("G09", {"search": 500, **more}) for more in ({}, {"bind": 500}))
    arms = [((replace(case.run, phases=(case.phase,)), Observations()),) for case in (once, each)]
    made = compared(0, 0)
    found = RULE.check(replace(made, measure=once.measure, baseline=arms[0], candidate=arms[1]))
    assert (found.state, found.observed["candidate_binds"]) == (State.FAIL, 500)


def test_states():
    hold(
        # Five in the quarter of a second before, twenty under the clock of a second: none of them is the command's.
        "what others open all the time is taken off",
        (RULE.check(compared(20, 20, before=5)), {"baseline_connections": pytest.approx(0, abs=0.1)}),
        (RULE.check(compared(20, 520, before=5)), FAIL),
        "without a count each run is one operation",
        (RULE.check(compared(1, 200, counts=False)), FAIL, {"candidate_per_operation": 200}),
        ("what the server accepted stands over what this host opened", RULE.check(compared(1, 1000, accepted=3)), PASS),
        "where the workloads own knob is the factor it is a note",
        (RULE.check(compared(1, 1000, factor="spool.variables.keep")), FAIL, NOTES),
        ("binds in the clock of one arm are no comparison", RULE.check(bound(0, OPERATIONS)), FAIL, INVALIDATES),
        "binds in both arms or as the factor are alike",
        (RULE.check(bound(OPERATIONS, OPERATIONS)), PASS),
        (RULE.check(bound(0, 1)), PASS),
        (RULE.check(bound(0, OPERATIONS, factor="spool.bind")), NOTES),
    )
