"""`[soak]` in the file: pieces are the repeats, workloads last one piece, and every mistake is named at once."""

from assay.experiment import read
from stage import experiment_texts

HEAD = """title = "T"
{top}
[targets.d]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "null"
{knobs}
[soak]
{soak}
"""
SECOND = 10**9


def text_of(soak, top="", knobs=""):
    return HEAD.format(top=top, knobs=knobs, soak=soak)


def parsed(*args, **kwargs):
    return read.parse(text_of(*args, **kwargs), "x.toml")


def wrong(*args, **kwargs):
    return [found for _, found in experiment_texts.wrong(text_of(*args, **kwargs))]


def test_each_piece_is_a_repeat_and_the_workload_lasts_one():
    found = parsed('duration = "8 h"')
    assert (found.repeats, found.soak.pieces, found.soak.piece_ns) == (48, 48, 600 * SECOND)
    assert found.workloads[0].knobs["duration"] == 600 * SECOND
    assert (found.soak.kernel_error, found.soak.verification, found.soak.least_rate_share) == (True, True, None)
    assert parsed('duration = "25 min"').repeats == 3, "the last one is whole as well"


def test_phases_that_would_each_last_a_piece_share_it():
    verified = 'kind = "bulk_io"\noperations = ["random_write", "random_read"]\nsize = "1 MiB"\n'
    text = HEAD.replace('kind = "null"\n', verified).format(top="", knobs="", soak='duration = "1 h"')
    assert read.parse(text, "x.toml").workloads[0].knobs["duration"] == 300 * SECOND
    two = HEAD.replace("[workloads.w]", '[workloads.drilled]\nkind = "drill"\n[workloads.w]')
    found = read.parse(two.format(top="", knobs="", soak='duration = "1 h"'), "x.toml").workloads
    assert [one.knobs["duration"] for one in found] == [300 * SECOND] * 2, "the checks of a drill end with their work"


def test_what_stops_it_can_be_chosen_and_without_one_the_digest_stays():
    found = parsed('duration = "1 h"\npiece = "30 s"\nstop_on = ["rate < 50 %"]')
    assert (found.soak.kernel_error, found.soak.verification, found.soak.least_rate_share) == (False, False, 0.5)
    both = parsed('duration = "1 h"\npiece = "30 s"\nstop_on = ["rate < 50 %", "rate < 20 %"]')
    assert both.soak.least_rate_share == 0.5, "the order says nothing"
    plain = HEAD.partition("[soak]")[0].format(top="", knobs='duration = "5 s"')
    assert read.parse(plain, "x.toml").soak is None


def test_every_mistake_is_named_at_once():
    found = wrong(
        'duration = "soon"\npiece = "0 s"\nstop_on = ["rain", "rate < 500 %"]',
        top="repeats = 3",
        knobs='duration = "5 s"\n[factors]\nclients = [1, 2]',
    )
    for text in ("repeats with [soak]", "2 levels with [soak]", "soon", "'0 s'", "'rain'", "500 %"):
        assert any(text in one for one in found), (text, found)
    assert wrong('duration = "1 h"', knobs='duration = "5 s"') == ["duration with [soak]"]
    stages = 'schedule = ["5 s at 100 /s"]'
    assert wrong('duration = "1 h"', knobs=stages) == ["schedule with [soak]"], "nobody wrote a duration"
    assert wrong('duration = "1 min"') == ["piece = '10 min'"]
