"""Paths: what their knobs are for each direction, and the mistakes between them."""

from assay.settings.paths import mistakes, way

WAN = {"rate": 312_500_000, "delay": 2_000_000, "queue": 2_500_000, "loss": 0.0001, "framing": "ethernet"}


def test_directions_have_what_the_path_has_or_their_own():
    up, down = way(WAN, "up"), way(WAN, "down")
    assert up == down
    assert up.settings() == {
        "rate_bytes_per_s": 312_500_000,
        "delay_ns": 2_000_000,
        "queue_bytes": 2_500_000,
        "loss": 0.0001,
        "frame_bytes": 38,
        "late_ns": 200_000,
    }
    assert up.words() == "2500 Mbit/s, delay 2 ms, queue 2500 kB, loss 0.01 %, 38 bytes of framing"
    knobs = {**WAN, "down.rate": 1_250_000, "down.loss": 0.0, "up.framing": "none", "up.delay": 20_000_000}
    assert (way(knobs, "down").rate_bytes_per_s, way(knobs, "down").loss_share) == (1_250_000, 0.0)
    assert (way(knobs, "up").frame_bytes, way(knobs, "up").late_ns) == (0, 1_000_000)
    assert way(knobs, "down").delay_ns == 2_000_000
    assert way({}, "up").words() == "no limit of the rate, delay 0 ns, no loss, 38 bytes of framing"
    assert mistakes({}) == ()
    assert mistakes(WAN) == ()


def test_every_mistake_is_named_once():
    found = mistakes({"rate": 1000, "loss": 1.0, "down.rate": 1000, "down.queue": 1500})
    assert [(one.key, one.found) for one in found] == [
        ("loss", "loss of 100 %"),
        ("rate", "a rate without a queue"),
        ("down.queue", "a queue of 1500 B"),
    ]
    assert 'queue = "0.1 MB"' in found[1].expected
    (one,) = mistakes({"queue": 5000})
    assert one.found == "a queue without a rate"
