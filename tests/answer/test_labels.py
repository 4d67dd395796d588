"""What a number is, in words."""

import re
from dataclasses import replace

from assay.answer import marks
from assay.answer.wording import labels
from assay.measures import figures
from assay.records import Label, Nature, Regime, State
from assay.workloads import bulk_io, metadata
from stage import notebook_records as made


def test_only_known_words_are_put_into_the_plural():
    def noun(operation):
        return labels.in_general(Label(nature=Nature.AS_SEEN, operation=operation, regime=Regime.COLD)).partition(" as ")[0]

    assert [noun(one) for one in ("rr", "get_p50", "read", "random_read")] == [
        "cold operation rr",
        "cold operation get_p50",
        "cold reads",
        "cold random reads",
    ]
    own = (*metadata.OPERATIONS, *bulk_io.WRITES, *bulk_io.READS)
    assert [name for name in own if labels.noun(name).startswith("operation ")] == []
    names = [*figures.FIGURES, *figures.OBSERVED]
    assert [name for name in names if re.search(r"\b(ns|per s|op|box)\b", marks.figure(name))] == [], "a word of the code"


def verdict(label, findings=()):
    done = made.run(made.plan(made.experiment()).trials[0])
    return replace(made.verdict(done, made.RATE, 1.51e9), unit="bytes/s", label=label, findings=findings)


def test_flush_and_drain_are_named_apart_with_the_figure_without_them():
    label = Label(nature=Nature.STABLE_MEDIA, operation="write", flush_ns=90e6, drain_ns=304e3, undrained=3.17e9)
    told = labels.label(verdict(label))
    assert [part in told for part in ("flush of 90 ms", "drain of 304 µs", "3.17 GB/s without")] == [True] * 3
    assert "16 flushes (90 ms)" in labels.label(verdict(replace(label, flushes=16)))
    bare = replace(label, flush_ns=0.0)
    assert "flush" not in labels.label(verdict(bare))
    assert label.general == bare.general


def test_a_figure_of_one_run_is_not_put_beside_a_mean():
    """One run of five is the worst: its drain, and its rate without, are not those of the mean."""
    label = Label(nature=Nature.STABLE_MEDIA, operation="write", drain_ns=304e6, undrained=402e6)
    worst = verdict(label)
    assert "402 MB/s" in labels.of_several([worst])
    assert labels.of_several([worst], runs=5) == "writes on stable media, drain charged"
    other = verdict(replace(label, drain_ns=145e6, undrained=620e6))
    assert labels.of_several([worst, other]) == "writes on stable media, drain charged"


def test_what_is_unverified_has_the_rule_as_its_reason_that_the_claim_needs():
    open_ = replace(made.finding("run:0001/1", State.UNVERIFIED), rule="D02", statement="Flushes cannot be separated.")
    idle = replace(made.finding("run:0001/1", State.FAIL), rule="L07", relabel="workers idle", detail="11.4 % of the time")
    label = Label(nature=Nature.UNVERIFIED, operation="write", lacking=("D02",), because=("L07",))
    told = labels.parts(verdict(label, (open_, idle)))
    assert told[1:3] == ("unverified (D02): flushes cannot be separated", "workers idle")


def test_what_all_runs_have_in_common_comes_before_the_figures_of_one():
    noise = replace(made.finding("run:0001/1", State.FAIL), rule="N03", short="foreign activity")
    label = Label(nature=Nature.AS_SEEN, operation="create")
    told = labels.of_several([verdict(replace(label, disturbed_by="N03"), (noise,)), verdict(label)])
    assert told.partition("; ")[2] == "in one run: foreign activity (N03)", "without a but"
    label = Label(nature=Nature.AS_SEEN, operation="send", noted="L14", disturbed_by="N02")
    noise = replace(noise, rule="N02", short="CPU contention")
    limited = replace(noise, rule="L14", relabel="limited by the window")
    both = [verdict(label, (replace(limited, detail=f"{size} kB on the way"), noise)) for size in (82, 83)]
    assert labels.of_several(both).split("; ")[1:] == [
        "limited by the window",
        "in one run: 82 kB on the way",
        "but CPU contention (N02)",
    ]
