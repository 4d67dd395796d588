"""What a number is, in words."""

import re
from dataclasses import replace

import notebook_records as made
from assay.answer import marks
from assay.answer.wording import labels
from assay.measures import figures
from assay.records import Label, Nature, Regime, State
from assay.workloads import bulk_io, metadata


def test_only_known_words_are_put_into_the_plural(subtests):
    for operation, words in [
        ("rr", "cold operation rr as the client saw it"),
        ("get_p50", "cold operation get_p50 as the client saw it"),
        ("read", "cold reads as the client saw them"),
        ("random_read", "cold random reads as the client saw them"),
    ]:
        with subtests.test(operation=operation):
            assert labels.in_general(Label(nature=Nature.AS_SEEN, operation=operation, regime=Regime.COLD)) == words


def test_every_operation_of_the_own_engine_is_a_known_word():
    own = (*metadata.OPERATIONS, *bulk_io.WRITES, *bulk_io.READS)
    assert [name for name in own if labels.noun(name).startswith("operation ")] == []


def verdict(label, findings=()):
    done = made.run(made.plan(made.experiment()).trials[0])
    return replace(made.verdict(done, made.RATE, 1.51e9), unit="bytes/s", label=label, findings=findings)


def test_flush_and_drain_are_named_apart_with_the_figure_without_them():
    label = Label(nature=Nature.STABLE_MEDIA, operation="write", flush_ns=90e6, drain_ns=304e3, undrained=3.17e9)
    told = "writes on stable media, flush of 90 ms and drain of 304 µs charged (3.17 GB/s without)"
    assert labels.label(verdict(label)) == told
    often = labels.label(verdict(replace(label, flushes=16)))
    assert often == "writes on stable media, last of 16 flushes (90 ms) and drain of 304 µs charged (3.17 GB/s without)"
    bare = replace(label, flush_ns=0.0)
    assert labels.label(verdict(bare)) == "writes on stable media, drain of 304 µs charged (3.17 GB/s without)"
    assert label.general == bare.general


def test_what_one_run_adds_does_not_begin_with_but():
    noise = replace(made.finding("run:0001/1", State.FAIL), rule="N03", short="foreign activity")
    label = Label(nature=Nature.AS_SEEN, operation="create")
    told = labels.of_several([verdict(replace(label, disturbed_by="N03"), (noise,)), verdict(label)])
    assert told == "creates as the client saw them; in one run: foreign activity (N03)"


def test_what_all_runs_have_in_common_comes_before_the_figures_of_one():
    label = Label(nature=Nature.AS_SEEN, operation="send", noted="L14", disturbed_by="N02")
    noise = replace(made.finding("run:0001/1", State.FAIL), rule="N02", short="CPU contention")
    limited = replace(noise, rule="L14", relabel="limited by the receive window")
    both = [verdict(label, (replace(limited, detail=f"{size} kB on the way"), noise)) for size in (82, 83)]
    told = "sends as the client saw them; limited by the receive window; in one run: 82 kB on the way; but CPU contention (N02)"
    assert labels.of_several(both) == told


def test_every_figure_has_words_without_a_unit_s_suffix(subtests):
    for name in [*figures.FIGURES, *figures.OBSERVED]:
        with subtests.test(name=name):
            assert not re.search(r"\b(ns|per s|op|box)\b", marks.figure(name)), "a word of the code"
