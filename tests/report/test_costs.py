"""The table of what the load itself cost."""

from dataclasses import replace

from assay.records import EngineCost, Observations
from assay.report import page, runs
from assay.report.galleries import Pictures
from report import fixture

SPENT = EngineCost(cpu_user_ns=2_000_000_000, cpu_system_ns=1_000_000_000, voluntary_switches=12, minor_faults=40)


def spending(results, spent):
    """The same runs with clients that tell what they used."""

    def told(judged):
        phases = tuple(
            replace(phase, clients=tuple(replace(client, cost=spent) for client in phase.clients)) for phase in judged.run.phases
        )
        return replace(judged, run=replace(judged.run, phases=phases))

    return replace(results, runs=tuple(told(judged) for judged in results.runs))


def table(spent):
    results = spending(fixture.one_run(), spent)
    return runs.costs(fixture.experiment(), [(judged, Observations()) for judged in results.runs])


def test_a_row_for_each_measured_phase_and_columns_of_what_is_known_also_on_the_page():
    found = table(SPENT)
    (judged,) = fixture.one_run().runs
    assert [phase for _, _, phase, _ in found["rows"]] == [phase.name for phase in judged.run.phases if phase.measured]
    assert found["columns"] == ("CPU time", "voluntary switches", "involuntary switches", "page faults")
    assert found["unknown"] == "user instructions, kernel instructions, user cycles, kernel cycles"
    assert all(len(figures) == 4 for _, _, _, figures in found["rows"])
    assert {figures[2] for _, _, _, figures in found["rows"]} == {"0"}
    counted = dict.fromkeys(("user_instructions", "kernel_instructions", "user_cycles", "kernel_cycles"), 10**9)
    found = table(replace(SPENT, **counted))
    assert (len(found["columns"]), found["unknown"]) == (8, "")
    results = fixture.results(1)
    load = fixture.loader(results)
    assert "Cost of the load" not in page.render(results, load, Pictures())
    assert "Cost of the load" in page.render(spending(results, SPENT), load, Pictures())
