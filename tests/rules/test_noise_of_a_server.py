"""N01, N02 and N03 on the target's host: what its server lost counts, where its processes are observed."""

from dataclasses import replace

import pytest

from assay.audit.judge import examine, examine_one
from assay.records import EngineCost, Fact, FactClass, HostRole, Observations, Severity, State, When
from assay.rules.foreign_activity import RULE as N03
from assay.rules.frequency import RULE as N01
from assay.rules.steal import RULE as N02
from stage.noise_cases import phase, run, series, trial_case
from stage.rows import each
from stage.said import FAIL, PASS, QUALIFIES, hold

SECONDS, CPUS = 10, 2
WHOLE_NS = SECONDS * CPUS * 1e9


def of(rule, *, steal=0.0, others=0.0, busy=0.5, server_cpus=1.0, computes=0.2, pieces=(100, 100), server=True):
    """Ten seconds of a server on `local`, two CPUs; its client is on another host and computes for some of its time."""
    rows = [("cpu", "total_ns", WHOLE_NS), ("cpu", "steal_ns", steal * WHOLE_NS), ("cpu", "idle_ns", (1 - busy) * WHOLE_NS)]
    rows += [("cpu", "iowait_ns", 0.0), ("cpu", "user_ns", busy * WHOLE_NS), ("cpu", "system_ns", 0.0)]
    rows += [("other_processes", metric, others * WHOLE_NS) for metric in ("cpu_ns", "sure_cpu_ns")]
    rows += [("other_processes", "own_cpu_ns", (busy - others) * WHOLE_NS), ("other_processes", "kernel_cpu_ns", 0.0)]
    rows += [("server", "run_ns", server_cpus * SECONDS * 1e9)] if server else []
    found = [series(layer, metric, [(0, 0.0), (SECONDS, rise)]) for layer, metric, rise in rows]
    found += [series("cpu", "cpus", [(0, CPUS), (SECONDS, CPUS)])]
    timed = zip((When.BEFORE, When.AFTER), pieces, strict=True)
    facts = tuple(
        Fact(host="local", when=when, key="speed.piece_ns", value=str(piece), fact_class=FactClass.NOISE) for when, piece in timed
    )
    bare = phase(SECONDS)
    cost = EngineCost(cpu_user_ns=int(computes * SECONDS * 1e9), cpu_system_ns=0)
    clients = tuple(replace(client, host="c.1", cost=cost) for client in bare.clients)
    case = trial_case(rule.id, run(of=replace(bare, clients=clients)), Observations(series=tuple(found), facts=facts))
    return examine_one(rule, replace(case, host="local", role=HostRole.TARGET))


@each("rule", N01, N02, N03)
def test_a_quiet_server_passes_and_one_that_nobody_observes_is_not_judged(rule):
    assert of(rule).state is State.PASS
    unseen = of(rule, steal=0.3, others=0.5, busy=1.0, pieces=(100, 200), server=False)
    assert unseen.state is not State.FAIL
    assert (unseen.state is State.NOT_APPLICABLE) == (rule is not N03)


def test_others_beside_the_server_share_its_cpus_and_take_from_it_where_none_is_idle():
    beside, full = of(N03, others=0.25, busy=0.5, server_cpus=0.5), of(N03, others=0.5, busy=1.0, server_cpus=1.0)
    assert beside.state is State.FAIL
    assert full.observed["effect_share"] > beside.observed["effect_share"]
    assert (full.state, full.severity) == (State.FAIL, Severity.QUALIFIES)
    assert of(N03, others=0.25, busy=0.5, computes=1.0).state is State.PASS


@each("rule", N01, N02)
def test_no_evidence_of_the_targets_host_changes_no_finding_of_a_load_host(rule):
    """A server on a host without counters is no doubt about the load host, which has them."""
    bare = phase(SECONDS)
    counted = [("total_ns", WHOLE_NS), ("steal_ns", 0.0)]
    rises = [series("cpu", metric, [(0, 0.0), (SECONDS, rise)]) for metric, rise in counted]
    rises.append(series("cpu", "cpus", [(0, CPUS), (SECONDS, CPUS)]))
    rises += [series("process", "run_delay_ns", [(0, 0.0), (SECONDS, 0.0)], f"pid:{one.pid}") for one in bare.clients]
    facts = tuple(
        Fact(host="local", when=when, key="speed.piece_ns", value="100", fact_class=FactClass.NOISE)
        for when in (When.BEFORE, When.AFTER)
    )
    apart = run(of=bare)
    apart = replace(apart, places=(replace(apart.places[0], host="s"),))
    case = trial_case(rule.id, apart, Observations(series=tuple(rises), facts=facts))
    assert examine(rule, case).state is State.PASS


def test_states():
    hold(
        "steal counts over the cpus that the server kept busy while the load waited",
        (of(N02, steal=0.1), FAIL, QUALIFIES, {"effect_share": pytest.approx(1 / (1 - 0.2 * 0.8) - 1, rel=0.02)}),
        (of(N02, steal=0.1, server_cpus=2.0), {"effect_share": pytest.approx(1 / (1 - 0.1 * 0.8) - 1, rel=0.02)}),
        (of(N02, steal=0.1, computes=1.0), PASS),
        "a slower cpu counts by the time that the server computes",
        (of(N01, pieces=(100, 130)), FAIL, {"on_cpu_share": 0.8}),
        (of(N01, pieces=(100, 130), server_cpus=0.05), PASS),
    )
