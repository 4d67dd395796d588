"""Every kind of chart as a file, and what the schedule, the chain of limits and latency over time are made of."""

import csv
import io
import itertools
import re
from array import array
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis import bottlenecks
from assay.errors import UsageError
from assay.measures import timelines
from assay.records import Direction, Limit, Observations, Rung, Series, Span, State
from assay.report import galleries, page, picture
from assay.report.charts import blocks, forest, ladder, spread
from assay.report.charts import limits as words
from report import fixture

SVG = "{http://www.w3.org/2000/svg}"
KINDS = (
    *("comparisons", "bytes", "measure-spool.create.ops_per_s", "curve-spool-create", "latency-spool.main-create"),
    *("latency-over-time-spool.main-create", "timeline-cold.read", "limits-cold.read", "schedule"),
)


@pytest.fixture(scope="module")
def results():
    return fixture.results()


@pytest.fixture(scope="module")
def figures(results):
    return {one.name: one for one in page.figures(results, fixture.loader(results), fixture.pictures(results))}


def test_each_kind_is_a_file_of_its_own_with_title_caption_light_colours_and_numbers(figures, tmp_path, subtests):
    pytest.importorskip("vl_convert")
    for name in KINDS:
        with subtests.test(name=name):
            path = tmp_path / "chart.svg"
            picture.write(figures.values(), name, path)
            root = ET.fromstring(path.read_bytes())
            texts = "".join("".join(one.itertext()) for one in root.iter(f"{SVG}text"))
            assert figures[name].title in texts
            assert figures[name].caption.split()[0] in texts
            assert "var(" not in path.read_text()
            assert sum(1 for tag in ("rect", "path", "circle") for _ in root.iter(f"{SVG}{tag}")) > 5
            table = figures[name].table
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.head)}


def test_an_unknown_name_lists_all_and_a_drawing_is_pixels_too(results, figures, tmp_path):
    with pytest.raises(UsageError) as raised:
        picture.write(figures.values(), "shedule", tmp_path / "x.svg")
    said = str(raised.value)
    assert all(f"\n  {name}\n" in said for name in figures)
    assert said.endswith("for example: assay report --chart schedule")
    assert "run it first" in picture.unknown("x", ())
    pytest.importorskip("vl_convert")
    picture.write(figures.values(), "comparisons", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


# ------------------------------------------------------------------------------------------ the schedule


def test_every_run_is_a_bar_in_its_block_and_what_does_not_count_is_hollow_with_its_reason(results):
    bars = blocks.bars_of(results)
    assert sorted(bar.judged.id for bar in bars) == sorted(judged.id for judged in results.runs)
    assert all(bar.row == bar.judged.run.trial.block for bar in bars)
    assert {bar.judged.id for bar in bars if bar.is_hollow} == {"0009/1", "0023/1"}
    figure = blocks.figure(results)
    assert "0009/1 (partial: client 3 was lost" in figure.caption
    reasons = {row[0]: row[-1] for row in figure.table.rows if row[-1]}
    assert set(reasons) == {"0009/1", "0023/1"}
    assert "no space left" in reasons["0023/1"]
    marks = {row["t"].split()[1]: row["d"] for row in csv.DictReader(io.StringIO(figure.panels[0].spec["data"]["values"]))}
    assert {run for run, mark in marks.items() if mark == "excluded"} == set(reasons)


def test_bars_of_a_block_do_not_overlap_and_no_run_has_no_picture(results):
    late = results.runs[5]
    moved = replace(late.run, started_utc="2026-11-22T10:05:00Z", ended_utc="2026-11-22T10:05:40Z")
    runs = tuple(replace(one, run=moved) if one is late else one for one in results.runs)
    for made in (results, replace(results, runs=runs)):
        bars = blocks.bars_of(made)
        for row in {bar.row for bar in bars}:
            here = [bar for bar in bars if bar.row == row]
            assert all(before.end <= after.start + 1e-9 for before, after in itertools.pairwise(here))
            assert max(bar.end for bar in here) < 15 * 60
    assert {bar.row for bar in blocks.bars_of(fixture.one_run())} == {0}
    assert blocks.figure(fixture.empty()) is None


# ------------------------------------------------------------------------------------------ limits


def test_a_chain_names_the_part_nearest_to_its_limit_and_leaves_out_what_could_not_be_held_against(results):
    judged = next(one for one in results.runs if one.id == "0006/1")
    chains = {one.phase: one for one in bottlenecks.chains([(judged, fixture.loader(results)("0006/1"))])}
    cold = chains["cold.read"]
    assert [(words.name(link), words.use(link)) for link in cold.links] == [
        ("CPUs", "user and system time"),
        ("vda", "time with a request in flight"),
        ("loop0", "of the declared 281 MB/s"),
    ]
    assert cold.nearest.name == "loop0"
    assert cold.nearest.used == 0.93
    assert chains["dump.write"].nearest.name == "vda"
    assert all(0 <= link.used <= 1 for chain in chains.values() for link in chain.links)
    assert "spool.main" not in chains, "CPUs alone are no chain"
    judged = next(one for one in results.runs if one.id == "0006/1")
    verdicts = {
        name: replace(one, findings=tuple(replace(found, state=State.NOT_APPLICABLE) for found in one.findings))
        for name, one in judged.verdicts.items()
    }
    (cold,) = (
        one
        for one in bottlenecks.chains([(replace(judged, verdicts=verdicts), fixture.loader(results)("0006/1"))])
        if one.phase == "cold.read"
    )
    assert [words.name(link) for link in cold.links] == ["CPUs", "vda"]
    judged = next(one for one in results.runs if one.id == "0006/1")
    (chain,) = (one for one in bottlenecks.chains([(judged, fixture.loader(results)("0006/1"))]) if one.phase == "warm.read")
    assert chain.nearest.used < bottlenecks.NEAR
    assert "no part was near its limit" in words.sentence(fixture.experiment(), chain)


def test_a_limit_that_the_audit_holds_nothing_against_is_held_against_the_devices_own_count(results):
    """Creates under 2,000 writes/s: the rule needs bytes, the device counted its requests; hardly any reads are left out."""
    judged = next(one for one in results.runs if one.id == "0006/1")
    seen = fixture.loader(results)("0006/1")
    place = judged.run.places[0]
    limit = Limit(device="vda", direction=Direction.WRITE, ops_per_s=2000)
    limited = replace(place, limits=(limit, replace(limit, direction=Direction.READ)))
    sample = next(one for one in seen.readings if one.rung is Rung.LOWEST_DEVICE)
    counted = [
        replace(sample, phase="spool.main", direction=way, span=Span.CLOCK, bytes=4096 * n, operations=n)
        for way, n in ((Direction.WRITE, 12_200), (Direction.READ, 3))
    ]
    others = tuple(one for one in seen.readings if (one.phase, one.rung) != ("spool.main", Rung.LOWEST_DEVICE))
    run = replace(judged, run=replace(judged.run, places=(limited,)))
    found = bottlenecks.chains([(run, replace(seen, readings=(*others, *counted)))])
    (spool,) = (one for one in found if one.phase == "spool.main")
    assert [(words.name(one), words.use(one)) for one in spool.links] == [("vda", "of the declared 2,000/s writes")]
    assert spool.nearest.used == pytest.approx(1.0, abs=0.01)
    assert "nearest to its limit: vda" in words.sentence(fixture.experiment(), spool)


def test_the_first_representatives_differ_in_the_compared_level_alone(results):
    """Two targets, three numbers of clients, here as text, so that they make panels."""
    named = {1: "one", 2: "two", 4: "four"}
    factors = (results.experiment.factors[0], replace(results.experiment.factors[1], levels=tuple(named.values())))

    def renamed(levels):
        return {**levels, "clients": named[levels["clients"]]}

    runs = tuple(
        replace(one, run=replace(one.run, trial=replace(one.run.trial, levels=renamed(one.run.trial.levels))))
        for one in results.runs
    )
    cells = tuple(replace(one, levels=renamed(one.levels)) for one in results.cells)
    made = replace(results, experiment=replace(results.experiment, factors=factors), runs=runs, cells=cells)
    first, second, *_ = galleries.representatives(made, galleries.groups(made))
    assert first.run.trial.levels["clients"] == second.run.trial.levels["clients"]
    assert {first.run.trial.levels["target"], second.run.trial.levels["target"]} == {"ext4", "xfs"}


def test_of_many_levels_the_first_the_last_and_one_between_are_drawn_beside_each_other(results):
    factor = replace(results.experiment.factors[1], levels=tuple(range(1, 8)))
    made = replace(results, experiment=replace(results.experiment, factors=(factor,), compare="clients"))
    runs = [
        replace(results.runs[0], run=replace(one.run, trial=replace(one.run.trial, id=level, levels={"clients": level})))
        for level, one in zip(factor.levels, results.runs, strict=False)
    ]
    assert [one.run.trial.levels["clients"] for one in galleries.beside(made, runs, 3)] == [1, 4, 7]
    assert len(galleries.beside(made, runs[:3], 3)) == 3
    assert galleries.beside(made, [], 3) == ()


# ------------------------------------------------------------------------------------------ the layers over time


def test_a_share_of_processor_time_over_a_few_milliseconds_is_no_point(results):
    """Looks at 1 s, 2 s and 2.004 s: one tick of the kernel's clock is all of the last 4 ms."""
    judged = next(one for one in results.runs if one.id == "0006/1")
    here = next(one for one in judged.run.phases if one.name == "cold.read")
    sample = next(one for one in fixture.loader(results)("0006/1").series if one.phase == here.name and one.layer == "cpu")
    at = array("q", [1_000_000_000 * second for second in range(1, 6)] + [5_004_000_000])
    looked = replace(sample, metric="system_share", at_ns=at, value=array("d", [0.1] * 5 + [1.0]))
    (strip,) = (one for one in timelines.strips(here, [looked]) if one.title == "CPUs")
    assert [value for _, value in strip.lines[0][1]] == [0.1] * 5


def layers(results, phase, aside=0.0):
    """The strips of a phase as title -> names of lines; devices write this share of what they read beside it."""
    judged = next(one for one in results.runs if one.id == "0006/1")
    here = next(one for one in judged.run.phases if one.name == phase)
    seen = [one for one in fixture.loader(results)("0006/1").series if one.phase == phase]
    own = [one for one in seen if one.metric == "read_bytes"]
    seen += [replace(one, metric="write_bytes", value=array("d", [aside * value for value in one.value])) for one in own]
    return {strip.title: [name for name, _ in strip.lines] for strip in timelines.strips(here, seen)}


def test_all_layers_stand_on_one_axis_in_the_direction_of_the_load(results):
    found = layers(results, "cold.read")
    assert list(found) == ["throughput", "page cache", "network", "CPUs"]
    assert found["throughput"] == ["application read", "vda read"]
    assert found["page cache"] == ["files cached", "dirty", "writeback"]
    assert found["network"] == ["eth0 received"]
    assert list(layers(results, "spool.main")) == ["operations per second", "page cache", "devices", "CPUs"]
    assert "vda read" in layers(results, "warm.read")["throughput"], "that it did nothing is what the picture is for"
    assert "vda write" not in layers(results, "cold.read", aside=0.005)["throughput"]
    assert "vda write" in layers(results, "cold.read", aside=0.05)["throughput"]


# ------------------------------------------------------------------------------------------ latency over time


def run_with(counts, interval_ns=100_000_000):
    """One run whose operation has latency buckets with these counts in each interval: {upper: [counts]}."""
    results = fixture.one_run()
    (judged,) = results.runs
    phase = judged.run.phases[0]
    steps = len(next(iter(counts.values())))
    at = array("q", [phase.start_ns + interval_ns * (step + 1) for step in range(steps)])
    series = tuple(
        Series(
            phase=phase.name,
            source="",
            layer="application",
            host="local",
            subject="client:0",
            metric=f"create.bucket_{upper}_ns",
            unit="count",
            at_ns=at,
            value=array("d", [sum(here[: step + 1]) for step in range(steps)]),
        )
        for upper, here in counts.items()
    )
    return judged, phase, Observations(series=series)


@given(
    st.integers(6, 130).flatmap(
        lambda steps: st.dictionaries(
            st.sampled_from([1000, 2000, 4000, 8000]), st.lists(st.integers(20, 500), min_size=steps, max_size=steps), min_size=1
        )
    )
)
def test_every_operation_is_in_one_step_and_one_bucket(counts):
    made = spread.map_of(*run_with(counts), "create")
    assert len(made.steps) <= spread.MOST
    for upper, here in counts.items():
        assert sum(step.get(upper, 0) for step in made.steps) == pytest.approx(sum(here), abs=1e-6)


def test_what_was_slow_stands_where_it_was_slow_and_steps_are_equally_full():
    quick, slow = [100] * 10, [0] * 10
    slow[4] = 60
    made = spread.map_of(*run_with({1000: quick, 900_000: slow}), "create")
    assert [step.get(900_000, 0) > 0 for step in made.steps] == [here > 0 for here in slow]
    assert spread.quantile(made.steps[4], 0.5) == 1000
    assert spread.quantile({1000: 100.0, 900_000: 60.0}, 0.9) == 900_000
    assert spread.quantile({1000: 999.0}, 0.99) is None, "fewer than ten operations were slower"
    made = spread.map_of(*run_with({1000: [500] * 10}), "create")
    assert [sum(step.values()) for step in made.steps] == [500.0] * 10
    assert made.width == pytest.approx(0.1)
    judged, phase, seen = run_with({1000: [100] * 8, 1200: [50] * 8})
    other = tuple(replace(one, subject="client:1", metric=one.metric.replace("1000", "1003")) for one in seen.series)
    made = spread.map_of(judged, phase, replace(seen, series=(*seen.series, *other)), "create")
    assert [dict(step) for step in made.steps] == [{1000: 200.0, 1200: 100.0}] * 8


def test_too_short_too_few_and_unknown_have_no_map_and_are_named():
    assert spread.map_of(*run_with({1000: [100] * 4}), "create") is None
    assert spread.map_of(*run_with({1000: [1] * 20}), "create") is None
    judged, phase, seen = run_with({1000: [100] * 20})
    assert spread.map_of(judged, phase, seen, "list") is None
    assert spread.map_of(judged, phase, Observations(), "create") is None
    # The engine looked at 100 ms, and at the end at 112 ms: steps of 12 ms would be empty for most of the phase.
    judged, phase, seen = run_with({1000: [20_000, 20_000]})
    at = array("q", [phase.start_ns + 100_000_000, phase.start_ns + 112_000_000])
    short = replace(seen, series=tuple(replace(one, at_ns=at) for one in seen.series))
    assert spread.map_of(judged, phase, short, "create") is None
    assert "No heat map of spool create" in spread.left_out([(judged, short)], ())


def test_drawings_escape_what_users_wrote(results):
    bad = "<script>alert(1)</script>"
    compared = replace(results, comparisons=tuple(replace(one, baseline=bad) for one in results.comparisons))
    made = fixture.hostile(bad)
    steps = page.ladder.ladders(made.experiment, [(made.runs[0], fixture.loader(made)("0001/1"))])
    for figure in (forest.figure(compared), ladder.figure(steps)):
        ET.fromstring(figure.drawn.element.replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))
        assert "&lt;script" in figure.drawn.element
        assert not re.search(r"<script", figure.drawn.element)
