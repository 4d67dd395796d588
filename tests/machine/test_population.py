"""Populations: mistakes of their knobs, files made once and counted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import TrialError
from assay.machine import population
from assay.undo.ledger import Ledger
from stage.directory_stage import ENGINE, PEOPLE, given, people
from stage.targets_host import HOST

needs_engine = pytest.mark.skipif(not ENGINE.is_file(), reason="the engine is not built")


@pytest.fixture
def make(tmp_path):
    (tmp_path / "scratch").mkdir()
    ledger = Ledger(tmp_path / "ledger")
    yield lambda **knobs: given("ldap_openldap", ledger, tmp_path / "scratch", **knobs)
    ledger.close()


def test_every_mistake_at_once(make):
    found = population.mistakes(HOST, make(template="robot", base="cn=x", ldif="/no/such.ldif", schema=("/no/such.schema",)))
    assert len(found) == 4
    assert "found template = 'robot'; expected one of: person, account" in found
    assert any("such as dc=example,dc=com" in text for text in found)
    assert sum("no readable file" in text for text in found) == 2


def test_indexes_name_attributes_that_entries_have(make):
    assert population.index_mistakes(make(indexes=("mail:eq,sub", "uid:eq")).knobs) == ()
    strange, kind = population.index_mistakes(make(indexes=("msisdn:eq", "uid:fast")).knobs)
    assert "found an index of 'msisdn'; expected an attribute of the template: " in strange
    assert "expected ATTRIBUTE:KIND" in kind
    assert population.index_mistakes(make(indexes=("msisdn:eq",), schema=("/x.schema",)).knobs) == ()


def test_no_room_is_seen_before_anything_is_made(make):
    (found,) = population.mistakes(HOST, make(entries=population.MOST_ENTRIES))
    assert found.startswith("no room for the population and its database, about 264 GB")


@needs_engine
def test_a_population_is_made_once_and_is_what_it_says(make):
    first = population.provide(HOST, make(entries=500))
    text = Path(first.path).read_text()
    assert (first.entries, first.bytes) == (504, len(text.encode()))
    assert sum(line.startswith("dn: ") for line in text.splitlines()) == first.entries
    made = Path(first.path).stat().st_mtime_ns
    assert population.provide(HOST, make(entries=500)) == first
    assert Path(first.path).stat().st_mtime_ns == made
    larger = population.provide(HOST, make(entries=600))
    assert Path(larger.path).read_text().startswith(text)


@needs_engine
def test_a_file_that_was_cut_short_is_made_again(make):
    first = population.provide(HOST, make(entries=500))
    Path(f"{first.path}.json").unlink()
    Path(first.path).write_text("half")
    assert population.provide(HOST, make(entries=500)) == first
    assert json.loads(Path(f"{first.path}.json").read_text())["entries"] == 504


@needs_engine
def test_the_mean_of_a_template_is_the_generators(subtests, make):
    for template in population.TEMPLATES:
        with subtests.test(template=template):
            made = population.provide(HOST, make(entries=20_000, template=template))
            assert made.bytes / 20_000 == pytest.approx(population.TEMPLATES[template], rel=0.02)


def test_the_users_own_file_is_counted_and_only_read(make, tmp_path):
    path = people(tmp_path)
    found = population.provide(HOST, make(ldif=path))
    assert (found.path, found.entries, found.bytes) == (path, 3, len(PEOPLE.encode()))
    Path(path).write_text("# nothing\n")
    with pytest.raises(TrialError, match="no entry in it"):
        population.provide(HOST, replace(make(ldif=path)))
