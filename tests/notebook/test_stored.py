"""Stored verdicts, whose equal findings are decoded once, are those that were stored."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import plain
from assay.errors import DamagedError
from assay.notebook import files, stored
from assay.records import (
    Bound,
    Claim,
    Direction,
    Finding,
    Label,
    Nature,
    Reading,
    Rung,
    Severity,
    State,
    Verdict,
    VerdictState,
)

SUBJECTS = ("run:0001/1:spool.create.ops_per_s", 'run:0002/1:"a".b.c', "")
MARKS = (stored.BEFORE, stored.AFTER, stored.BETWEEN, stored.OPEN, stored.NOBODY, *map(json.dumps, SUBJECTS))
texts = st.lists(st.sampled_from([*MARKS, '"', "\\", "}", "]", '"subject":""', "\u2028", "x"]), max_size=4).map("".join)
values = st.none() | texts | st.floats(allow_nan=False) | st.integers(-9, 9)
figures = st.dictionaries(st.sampled_from(["advice", "subject", "findings", "label", "share"]), values, max_size=3)
findings = st.builds(
    Finding,
    subject=st.sampled_from(SUBJECTS),
    phase=st.none() | texts,
    rule=texts,
    name=texts,
    state=st.sampled_from(State),
    severity=st.sampled_from(Severity),
    part=texts,
    statement=texts,
    observed=figures,
    threshold=figures,
    bound=st.none() | st.builds(Bound, low=st.none(), high=st.floats(0, 9), unit=texts),
    relabel=st.none() | texts,
    evidence=st.lists(texts, max_size=2).map(tuple),
    alternatives=st.lists(texts, max_size=2).map(tuple),
    advice=st.none() | texts,
)


def verdict(subject, found):
    return Verdict(
        subject=subject,
        claim=Claim(),
        value=1.0,
        unit="1/s",
        corrected=None,
        state=VerdictState.SOUND,
        label=Label(nature=Nature.OTHER, because=("T01",)),
        bound=None,
        findings=tuple(found),
    )


def kept(found):
    return files.to_json({"run": "0001/1", "verdicts": plain.to_plain(found), "courses": {}}).decode()


@given(st.lists(st.tuples(st.sampled_from(SUBJECTS), st.lists(findings, max_size=4)), max_size=3))
def test_what_is_read_is_what_was_kept(each):
    told = {f"{number}.a.b": verdict(subject, found) for number, (subject, found) in enumerate(each)}
    found, rest = stored.verdicts(kept(told))
    assert found == told
    assert plain.to_plain(found) == plain.to_plain(told)
    assert rest["run"] == "0001/1"


@given(st.lists(findings, min_size=1, max_size=4))
def test_findings_alike_but_for_their_subject_are_decoded_once(found):
    stored.finding.cache_clear()
    for subject in SUBJECTS[:2] * 3:
        own = [replace(one, subject=subject, observed={}, threshold={}) for one in found]
        assert stored.verdicts(kept({"a": verdict(subject, own)}))[0]["a"].findings == tuple(own)
    assert stored.finding.cache_info().misses <= len(found)


def test_a_text_of_another_form_is_read_as_a_whole_and_what_does_not_fit_is_damage():
    told = {"a": verdict(SUBJECTS[0], [finding()])}
    assert stored.verdicts(json.dumps(json.loads(kept(told)), indent=1))[0] == told
    stored.finding.cache_clear()
    text = kept({"a": verdict(SUBJECTS[0], [finding()] * 50)})
    stored.verdicts(text)
    assert (stored.finding.cache_info().misses, stored.finding.cache_info().hits) == (1, 49), "equal ones are decoded once"
    for wrong in ('"state":"good"', '"state":"pass","more":1'):
        with pytest.raises(DamagedError):
            stored.verdicts(text.replace('"state":"pass"', wrong, 1))


def finding():
    given = {"subject": SUBJECTS[0], "phase": "fill", "rule": "T01", "name": "client-page-cache", "part": "tier"}
    return Finding(**given, state=State.PASS, severity=Severity.NOTES, statement="nothing came from memory")


def test_a_large_counter_among_many_small_ones_is_kept(tmp_path):
    """DuckDB takes the type of a column from 1,000 of its values, unless it is asked for all."""
    of = {"phase": "p", "rung": Rung.SYSCALL, "source": "s", "host": "h", "subject": "pid:1", "direction": Direction.READ}
    small = Reading(**of, bytes=1, operations=None, from_ns=0, to_ns=1)
    many = [*(small for _ in range(3001)), replace(small, bytes=2**62), *(small for _ in range(3001))]
    with files.connect() as connection:
        files.write_table(connection, many, files.READING_COLUMNS, tmp_path / "readings.parquet")
        assert files.read_readings(connection, tmp_path / "readings.parquet") == tuple(many)
