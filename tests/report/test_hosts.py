"""Runs over several hosts on the page, in charts and in `assay show`: whose evidence, named, and never thirty lines of it."""

from dataclasses import replace

import pytest

from assay.analysis.bottlenecks import Part, chains
from assay.answer.wording import hosts as words
from assay.cli import show, summary
from assay.evidence import time_limit
from assay.measures import host_timelines
from assay.records import Cause, Direction, Observations, Rung, sides
from assay.report import galleries, ladder, markdown, page, runs
from assay.report.charts import timeline
from assay.report.galleries import Pictures
from audit.case_builder import gauge
from report import fixture, spread
from stage import noise_cases, time_cases


@pytest.fixture(scope="module")
def both():
    """Few hosts, and many."""
    return [(count, *spread.results(count)) for count in (2, 30)]


def first_of(made, load):
    judged = made.runs[0]
    return judged, load(judged.id)


def phase_named(judged, name):
    return next(phase for phase in judged.run.phases if phase.name == name)


def test_one_host_gives_the_evidence_itself():
    made = fixture.results(blocks=1)
    judged, seen = first_of(made, fixture.loader(made))
    assert not judged.run.is_spread
    assert sides.whole(judged.run, seen) is seen
    assert sides.lacking(judged.run, seen) is seen.missing
    assert words.rows(judged.run, seen) == ()
    assert words.named(judged.run) == ""


def test_the_evidence_of_one_host_is_its_own_and_is_made_once(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            _, seen = first_of(made, load)
            assert seen.on("c.1") is seen.on("c.1")
            assert {one.host for one in seen.on("c.1").series} == {"c.1"}
            assert seen.on("nowhere").hosts == frozenset()
            with pytest.raises(LookupError, match=r"c\.1"):
                next(seen.over_time("cold.read", "cpu", "user_ns"), None)


def test_a_reason_names_the_hosts_that_lack_something(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            judged, seen = first_of(made, load)
            both = sides.whole(judged.run, seen)
            named = "on c.1, c.2" if count == 2 else "on 30 hosts"
            assert both.why_missing("cgroup.throttle_rules") == f"{named}: no controller"
            assert both.why_missing("nothing") is None
            assert seen.on("s").why_missing("fact:speed.*") == "timing of the CPU needs the engine on that host"


def test_the_ladder_has_the_sums_of_the_load_and_the_targets_devices(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            judged, seen = first_of(made, load)
            cold = next(one for one in ladder.of_run(made.experiment, judged, seen) if one.phase == "cold.read")
            assert cold.total == sum(client.operations[0].bytes for client in phase_named(judged, "cold.read").clients)
            details = {step.name: step.detail for step in cold.steps}
            assert details["Application"] == f"{count} load hosts"
            assert details["System calls"] == f"{count} hosts"
            assert details["Lowest device"] == "vda on s"
            dump = next(one for one in ladder.of_run(made.experiment, judged, seen) if one.phase == "dump.write")
            assert "Drain after the clock: 25\u202fms, longest on s" in dump.foot


def test_a_device_of_a_load_host_is_not_the_targets(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            judged, seen = first_of(made, load)
            strange = tuple(replace(one, host="c.1", bytes=10**12) for one in seen.readings if one.rung is Rung.LOWEST_DEVICE)
            both = sides.whole(judged.run, replace(seen, readings=(*seen.readings, *strange)))
            assert {one.host for one in both.rung("cold.read", Rung.LOWEST_DEVICE, Direction.READ)} == {"s"}


def test_bottlenecks_name_the_hosts_and_of_many_the_busiest(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            chain = next(one for one in chains([first_of(made, load)]) if one.phase == "cold.read")
            cpus = [link for link in chain.links if link.part is Part.CPU]
            # all hosts have the same share: of a host that has less of everything the total is less, too
            assert [(link.name, link.among) for link in cpus] == (
                [("c.1", 1), ("c.2", 1), ("s", 1)] if count == 2 else [(cpus[0].name, 30), ("s", 1)]
            )
            assert [link.name for link in chain.links if link.part is Part.DEVICE_TIME] == ["vda on s"]


def test_timelines_have_a_line_a_host_or_the_median_and_the_furthest(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            judged, seen = first_of(made, load)
            strips = {one.title: one for one in host_timelines.strips(judged.run, phase_named(judged, "cold.read"), seen)}
            assert list(strips) == ["throughput", "each load host", "dirty data", "network", "CPUs"]
            few = [["c.1", "c.2"], ["c.1", "c.2", "s"], ["c.1", "c.2", "s"], ["c.1", "c.2", "s"]]
            many_ = [
                ["median of 30", "slowest: c.30"],
                ["median of 30", "most: c.1", "s"],
                ["median of 30", "busiest: c.1", "s"],
                ["median of 30", "busiest: c.1", "s"],
            ]
            lines = [[name for name, _ in strips[title].lines] for title in list(strips)[1:]]
            assert lines == (few if count == 2 else many_)


def test_the_median_lies_between_the_hosts(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            if count == 2:  # two hosts have a line each
                continue
            judged, seen = first_of(made, load)
            strips = {one.title: one for one in host_timelines.strips(judged.run, phase_named(judged, "cold.read"), seen)}
            (_, middle), (_, slowest) = strips["each load host"].lines
            total = dict(strips["throughput"].lines)["application read"]
            assert slowest[5][1] < middle[5][1] < total[5][1]
            assert middle[5][1] * 30 == pytest.approx(total[5][1], rel=0.05)


def test_charts_are_drawn_for_every_phase(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            figures = timeline.figures(made.experiment, [first_of(made, load)])
            assert {one.title for one in figures} >= {"cold.read", "dump.write"}
            assert all(one.panels for one in figures)


def test_missing_evidence_is_said_once_by_host(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            judged, seen = first_of(made, load)
            everyone = f"on {'c.1, c.2' if count == 2 else 'all 30 load hosts'}"
            assert dict(words.missing([(judged.run, seen)])) == {
                "fact:speed.*": "on s: timing of the CPU needs the engine on that host",
                "L7.metadata": "on s: tracefs is not mounted",
                "cgroup.throttle_rules": f"{everyone}: no controller",
            }


def test_the_table_of_hosts(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            judged, seen = first_of(made, load)
            rows = words.rows(judged.run, seen)
            assert [row[0] for row in rows] == ["s", *spread.load_hosts(count)]
            assert rows[0] == ("s", "target", "-", "+0 ns ± 440 µs", "-", "25 ms", "yes", "speed, L7")
            assert rows[1] == ("c.1", "load", "1", "+1,000 s ± 140 µs", "cold, 0 % cached", "6 ms", "yes, after 120 ms", "cgroup")
            text = show.text(made.experiment, judged, {}, seen)
            assert "cgroup.throttle_rules (on " in text
            assert all(f"\n{host} " in text for host in spread.load_hosts(count))


def test_equal_facts_of_many_hosts_are_one_row(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            found = runs.facts([first_of(made, load)])
            hosts = [host for key, host, _, _ in found["rows"] if key == "cpu.model"]
            assert hosts == [f"all {count + 1} hosts"]


def test_first_screen_summary_and_markdown_name_the_hosts(both, subtests):
    for count, made, load in both:
        with subtests.test(hosts=count):
            who = "2 hosts: c.1, c.2" if count == 2 else "30 hosts: c.1 to c.30"
            text = page.render(made, load, Pictures())
            assert f"target on s; load from {who}" in text[: text.index("<h1>")]
            assert f"Hosts of run {galleries.representatives(made, galleries.groups(made))[0].id}" in text
            assert f"target on s; load from {who}" in summary.summary(made)
            assert f"- target on s; load from {who}" in markdown.render(made)


def test_the_page_of_thirty_hosts_is_no_list_of_hosts():
    small, large = (page.render(*spread.results(count), Pictures()) for count in (2, 30))
    assert len(large) < 1.3 * len(small)


def test_a_server_on_another_host_is_seen_with_its_own_control_group():
    """Its load waits for it; a quota stops the server, or a group of the load's host of which the load is no part."""
    shares = {"load": {("curl", "read_socket"): 1.0}, "server": {("slapd", "running"): 1.0}}
    looks = [
        replace(one, host=spread.TARGET if group == "server" else "c.1")
        for group, states in shares.items()
        for one in time_cases.series(10.0, **{group: time_cases.counted(time_cases.course(states))})
    ]
    quota = gauge("cgroup", "cgroup:/slapd", "throttled_ns", (0.0, 4e9), 10.0)
    for host, cause in ((spread.TARGET, Cause.QUOTA), ("c.1", Cause.CPU)):
        seen = Observations(series=(*looks, replace(quota, host=host)))
        both = sides.joined(seen, ("c.1",), (spread.TARGET,))
        found = time_limit.of_phase(replace(noise_cases.phase(10.0), name="p"), both)
        assert (found.cause, found.at_server) == (cause, True)
