"""Ladders side by side: those of one phase together, metadata that stayed in memory as one line."""

from dataclasses import replace

from assay.records import Direction
from assay.report import ladder
from report import fixture


def observed(count):
    results = fixture.results()
    load = fixture.loader(results)
    return [(judged, load(judged.id)) for judged in results.runs[:count]]


def test_ladders_stand_by_phase_and_metadata_from_memory_is_folded():
    (only,) = ladder.ladders(fixture.experiment(), observed(1)).groups
    assert (only.phase, len(only.sketches) > 1) == ("", True)
    several = ladder.ladders(fixture.experiment(), observed(3)).groups
    assert all(group.phase and len(group.sketches) == 3 for group in several)
    runs = [(judged, replace(seen, readings=())) for judged, seen in observed(2)]
    found = ladder.ladders(fixture.experiment(), runs)
    metadata = [
        phase.name for phase in runs[0][0].run.phases if phase.measured and Direction.METADATA in phase.directions.values()
    ]
    assert metadata
    assert [group.phase for group in found.folded] == metadata
    assert "operations answered from memory" in found.folded[0].remark
    assert ladder.ladders(fixture.experiment(), []) is None
