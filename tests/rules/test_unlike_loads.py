from dataclasses import replace

from assay import catalogue
from assay.records import Load, LoadTotal, State
from stage import notebook_records as made
from stage.comparison_cases import case
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, UNVERIFIED, hold

RULE = catalogue.find("rules", "unlike_loads")
SECOND = 10**9


def phases(latency_of, late_of=lambda t: 0.0, rate=1000):
    """Two clients in a closed loop; the second starts `late_of` of a second after the first, both end together."""

    def made_of(t):
        late = int(late_of(t) * SECOND)
        clients = []
        for index, first in ((0, 0), (1, late)):
            busy = SECOND - first
            clients.append(made.client(index, first, SECOND, count=max(1, int(busy / latency_of(t))), busy_ns=busy))
        return made.phase(clients)

    return made_of


def latency(t):
    return 1e6 * (2 if t.levels["target"] == "xfs" else 1)


def test_loops_that_were_open_compare_rates_whatever_is_claimed():
    behind = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)

    def opened(t):
        phase = phases(latency)(t)
        return replace(phase, clients=tuple(replace(one, load=behind) for one in phase.clients))

    assert "operations a second" in RULE.check(case("C06", latency, measure=made.LATENCY, phases=opened)).statement


@each("busy state", (0.0004, PASS), (0.4, FAIL))
def test_operations_that_do_not_meet_have_no_unlike_load(busy, state):
    """One client that is idle most of the time, in one arm twice as long as in the other."""

    def seldom(t):
        of_arm = busy * (2 if t.levels["target"] == "xfs" else 1)
        return made.phase([made.client(0, 0, SECOND, count=10, busy_ns=int(of_arm * SECOND))])

    assert RULE.check(case("C06", latency, measure=made.LATENCY, phases=seldom)).state is state


def test_operations_inside_others_are_no_load_of_their_own():
    def with_records(t):
        phase = phases(latency)(t)
        share = 0.9 if t.levels["target"] == "xfs" else 0.1
        clients = []
        for client in phase.clients:
            (whole,) = client.operations
            part = replace(whole, operation="record", busy_ns=int(whole.busy_ns * share))
            clients.append(replace(client, operations=(whole, part)))
        return replace(phase, clients=tuple(clients), within={"record": phase.operations[0]})

    finding = RULE.check(case("C06", latency, measure=made.LATENCY, phases=with_records))
    assert finding.state is State.PASS


@each("factor", "clients", "spool.workers", "backup.walkers", "spool.rate", "spool.depth")
def test_where_the_load_is_the_factor_there_is_nothing_to_judge(factor):
    assert "the load is the factor" in (RULE.applies(case("C06", latency, phases=phases(latency), compare=factor)) or "")


def test_counts_are_no_latencies():
    measure = "spool.create.errors"
    assert "neither a latency nor a rate" in (RULE.applies(case("C06", latency, measure=measure, phases=phases(latency))) or "")


def test_states():
    hold(
        "a closed load of equal clients passes though rates differ",
        (RULE.check(case("C06", latency, measure=made.LATENCY, phases=phases(latency))), PASS),
        "a client that came late in one arm makes loads unlike",
        (
            RULE.check(
                case(
                    "C06",
                    latency,
                    measure=made.LATENCY,
                    phases=phases(latency, lambda t: 0.6 if t.levels["target"] == "xfs" else 0.0),
                )
            ),
            FAIL,
            INVALIDATES,
            {"baseline": 2.0},
            {"candidate": 1.4},
        ),
        "an open load compares rates",
        (RULE.check(case("C06", latency, measure=made.LATENCY, phases=phases(latency), load=Load.OPEN)), FAIL),
        (RULE.check(case("C06", latency, measure=made.LATENCY, phases=phases(lambda t: 1e6), load=Load.OPEN)), PASS),
        "without counts it is unverified",
        (RULE.check(case("C06", latency, phases=lambda t: made.phase([made.client(count=0, busy_ns=0)]))), UNVERIFIED),
    )
