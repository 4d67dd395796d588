"""L14: window, sender's buffer and slow readers, by the kernel's account of both ends."""

import pytest

from assay.records import State
from assay.rules.socket_buffer import RULE
from network_cases import SECOND, SECONDS, SERVER_PID, between, connection, end

TIME = SECONDS * SECOND
KIB = 1024


def account(rate, rtt_ms=4.0, window=256 * KIB, *, full=0.0, short=0.0, sender="client:0", receiver="server:1"):
    """What both kernels say of a stream of so many bytes a second."""
    rows = [
        (sender, "acked_bytes", (0, rate * SECONDS / 2, rate * SECONDS)),
        (sender, "rtt_ns", (rtt_ms * 1e6,) * 3),
        (sender, "send_window", (window / 2, window, window)),
        (sender, "busy_ns", (0, TIME / 2, TIME)),
        (sender, "receiver_limited_ns", (0, full * TIME / 2, full * TIME)),
        (sender, "buffer_limited_ns", (0, short * TIME / 2, short * TIME)),
        (receiver, "receive_threshold", (window,) * 3),
    ]
    return [("tcp", *row) for row in rows]


def judged(*given, busy=(0.2, 0.2), more=(), **named):
    return RULE.check(between("L14", gauges=(*account(*given, **named), *more), busy=busy))


@pytest.mark.parametrize("full", [0.95, 0.25])
def test_a_window_decides_whatever_share_the_kernel_calls_limited(full):
    found = judged(64e6, full=full)
    assert found.state is State.FAIL
    assert found.relabel == "limited by the receive window"
    assert "256 kB on the way (4 ms round trip) of a window of 262 kB" in found.statement
    assert found.observed["window_share"] == pytest.approx(64e6 * 0.004 / (256 * KIB))


def test_a_window_that_is_large_enough():
    found = judged(64e6, window=4096 * KIB)
    assert found.state is State.PASS
    assert "no socket buffer was the limit" in found.statement


def test_the_buffer_of_the_sender():
    assert judged(10e6, short=0.8).relabel == "limited by the sender's buffer"


def test_a_slow_reader_has_a_full_queue_and_little_on_the_way():
    found = judged(10e6, rtt_ms=0.1, window=4096 * KIB, full=0.97)
    assert found.relabel == "limited by a slow reader (the receiver's TCP queue was full)"


def test_a_full_window_of_which_most_is_on_the_way_is_no_slow_reader():
    found = judged(0.8 * 256 * KIB / 0.004, full=0.99)
    assert found.relabel == "limited by the receive window"
    assert "full 99 % of the time" in found.statement


def test_a_receiver_without_cpu_time_is_no_slow_reader():
    waits = ("process", f"pid:{SERVER_PID}", "run_delay_ns", (0, 0.5 * TIME))
    found = judged(10e6, rtt_ms=0.1, full=0.97, busy=(0.4, 0.45), more=[waits])
    assert found.state is State.PASS
    assert "lacked CPU time" in found.statement


def test_the_window_that_the_sender_saw_stands_in_for_the_receivers():
    gauges = [one for one in account(64e6) if one[2] != "receive_threshold"]
    assert RULE.check(between("L14", gauges=gauges)).relabel == "limited by the receive window"


def test_what_the_load_receives_is_sent_by_the_server():
    gauges = account(64e6, sender="server:1", receiver="client:0")
    case = between("L14", gauges=gauges, operation="receive")
    assert RULE.check(case).relabel == "limited by the receive window"


def test_without_samples_nothing_is_known():
    assert RULE.check(between("L14")).state is State.UNVERIFIED


def test_transactions_and_datagrams_have_no_window():
    assert RULE.applies(between("L14", operation="transaction"))
    assert RULE.applies(between("L14", load=end(), server=end()))
    assert RULE.applies(between("L14", load=end(connection()))) is None
