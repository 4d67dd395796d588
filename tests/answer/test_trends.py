"""What a chart shows, in words made of values."""

from assay.answer.wording import trends
from assay.measures.timelines import LineTrend, trend


def line(*values):
    return [(float(at), float(value)) for at, value in enumerate(values)]


def test_a_trend_is_the_first_tenth_against_the_last_up_to_the_clocks_stop():
    found = trend(line(*range(100, 0, -1), 5000), until_s=99.0)
    assert found == LineTrend(first=95.5, middle=50.5, last=5.5)
    assert trend(line(*range(9)), until_s=100.0) is None


def test_rates(subtests):
    for first, last, text in [
        (800.0, 100.0, "Creates slow down 8 times within the run."),
        (100.0, 1234.0, "Creates speed up 12 times within the run."),
        (100.0, 110.0, "Creates end about as fast as they begin."),
        (0.0, 110.0, ""),
    ]:
        with subtests.test(first=first):
            assert trends.rates("creates", {"ext4": LineTrend(first=first, middle=(first + last) / 2, last=last)}) == text


def test_levels_that_go_alike_share_their_words():
    down, same = LineTrend(first=8.0, middle=4.0, last=1.0), LineTrend(first=1.0, middle=1.0, last=1.0)
    assert trends.rates("reads", {"a": same, "b": same}) == "Reads end about as fast as they begin."
    said = trends.rates("reads", {"a": down, "b": same, "c": down})
    assert said == "Reads: a, c: slow down 8 times within the run; b: end about as fast as they begin."


def test_a_hill_is_no_rise():
    hill = LineTrend(first=2.0, middle=40.0, last=5.0)
    assert trends.rates("writes", {"": hill}) == "Writes go up and down, 20 times within the run."
    assert LineTrend(first=2.0, middle=6.0, last=5.0).swing is None


def plain(text):
    return text.replace("\u202f", " ")


def test_latencies_and_ends():
    assert plain(trends.latency(80e3, 640e3)) == "The median grows from 80 µs to 640 µs."
    assert plain(trends.latency(640e3, 80e3)) == "The median falls from 640 µs to 80 µs."
    assert plain(trends.latency(80e3, 85e3)) == "The median stays near 85 µs."
    assert plain(trends.percentiles([("all runs", 85e3, 3e6)])) == "Half within 85 µs, 99 % within 3 ms."
    several = [("ext4", 85e3, 3e6), ("xfs", 85e3, 9e6), ("none", None, None)]
    assert plain(trends.percentiles(several)) == "99 % within 3 ms (ext4) to 9 ms (xfs)."
    assert trends.percentiles([]) == ""
    text = trends.apart(("ext4", "5,200/s"), ("xfs", "7,200/s"), 1.38)
    assert text == "Highest: xfs, 7,200/s; lowest: ext4, 5,200/s: 1.4 times apart."
    assert "5 % apart" in trends.apart(("ext4", "100/s"), ("xfs", "105/s"), 1.05)


def test_an_order_is_told_only_as_far_as_it_is_known():
    ends = (("ext4", "5,200/s"), ("xfs", "7,200/s"))
    text = trends.apart(*ends, 1.38, ["highest"])
    assert text == "From 5,200/s (ext4) to 7,200/s (xfs), 1.4 times apart; which is highest is undecided."
    assert "which is highest or lowest is undecided" in trends.apart(*ends, 1.38, ["highest", "lowest"])
    assert trends.alike(*ends) == "From 5,200/s (ext4) to 7,200/s (xfs), not distinguishable."
