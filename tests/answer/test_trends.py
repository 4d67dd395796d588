"""What a chart shows, in words made of values."""

from assay.answer.wording import trends
from assay.measures.timelines import LineTrend, trend


def line(*values):
    return [(float(at), float(value)) for at, value in enumerate(values)]


def test_a_trend_is_the_first_tenth_against_the_last_up_to_the_clocks_stop():
    found = trend(line(*range(100, 0, -1), 5000), until_s=99.0)
    assert found == LineTrend(first=95.5, middle=50.5, last=5.5)
    assert trend(line(*range(9)), until_s=100.0) is None


def test_rates_slow_down_speed_up_stay_or_go_up_and_down():
    def said(first, last):
        return trends.rates("creates", {"ext4": LineTrend(first=first, middle=(first + last) / 2, last=last)})

    told = [said(*ends) for ends in ((800.0, 100.0), (100.0, 1234.0), (100.0, 110.0), (0.0, 110.0))]
    assert [one.split(" within")[0] for one in told[:2]] == ["Creates slow down 8 times", "Creates speed up 12 times"]
    assert (told[2].split()[1], told[3]) == ("end", "")
    down, same = LineTrend(first=8.0, middle=4.0, last=1.0), LineTrend(first=1.0, middle=1.0, last=1.0)
    assert trends.rates("reads", {"a": same, "b": same}).startswith("Reads end")
    said = trends.rates("reads", {"a": down, "b": same, "c": down})
    assert (said.startswith("Reads: a, c: slow down 8 times"), "; b: end" in said) == (True, True), "levels that go alike"
    hill = LineTrend(first=2.0, middle=40.0, last=5.0)
    assert "up and down, 20 times" in trends.rates("writes", {"": hill})
    assert LineTrend(first=2.0, middle=6.0, last=5.0).swing is None


def plain(text):
    return text.replace("\u202f", " ")


def test_latencies_and_ends():
    moves = [plain(trends.latency(*ends)).split(" ", 2)[2] for ends in ((80e3, 640e3), (640e3, 80e3), (80e3, 85e3))]
    assert moves == ["grows from 80 µs to 640 µs.", "falls from 640 µs to 80 µs.", "stays near 85 µs."]
    assert plain(trends.percentiles([("all runs", 85e3, 3e6)])) == "Half within 85 µs, 99 % within 3 ms."
    several = [("ext4", 85e3, 3e6), ("xfs", 85e3, 9e6), ("none", None, None)]
    assert plain(trends.percentiles(several)) == "99 % within 3 ms (ext4) to 9 ms (xfs)."
    assert trends.percentiles([]) == ""
    ends = (("ext4", "5,200/s"), ("xfs", "7,200/s"))
    assert trends.apart(*ends, 1.38).startswith("Highest: xfs, 7,200/s; lowest: ext4, 5,200/s: 1.4 times")
    assert "5 % apart" in trends.apart(("ext4", "100/s"), ("xfs", "105/s"), 1.05)
    # An order is told only as far as it is known.
    assert trends.apart(*ends, 1.38, ["highest"]).split("; ")[1].startswith("which is highest is")
    assert "highest or lowest" in trends.apart(*ends, 1.38, ["highest", "lowest"])
    assert trends.alike(*ends).endswith("not distinguishable.")
