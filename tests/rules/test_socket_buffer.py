"""L14: window, sender's buffer and slow readers, by the kernel's account of both ends."""

import pytest

from assay.records import State
from assay.rules.socket_buffer import RULE
from stage.network_cases import SECOND, SECONDS, SERVER_PID, between, connection, end
from stage.rows import each
from stage.said import ASKED, NOT_ASKED, PASS, UNVERIFIED, hold

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


@each("full", 0.95, 0.25)
def test_a_window_decides_whatever_share_the_kernel_calls_limited(full):
    found = judged(64e6, full=full)
    assert found.state is State.FAIL
    assert found.relabel == "limited by the receive window"
    assert "256 kB" in found.statement
    assert found.observed["window_share"] == pytest.approx(64e6 * 0.004 / (256 * KIB))


def test_states():
    hold(
        ("a window that is large enough", judged(64e6, window=4096 * KIB), PASS),
        ("the buffer of the sender", judged(10e6, short=0.8), "limited by the sender's buffer"),
        "a slow reader has a full queue and little on the way",
        (judged(10e6, rtt_ms=0.1, window=4096 * KIB, full=0.97), "limited by a slow reader (the receiver's TCP queue was full)"),
        ("a full window of which most is on the way is no slow reader", judged(0.8 * 256 * KIB / 0.004, full=0.99), "99 %"),
        "a receiver without cpu time is no slow reader",
        (
            judged(
                10e6,
                rtt_ms=0.1,
                full=0.97,
                busy=(0.4, 0.45),
                more=[("process", f"pid:{SERVER_PID}", "run_delay_ns", (0, 0.5 * TIME))],
            ),
            PASS,
        ),
        "the window that the sender saw stands in for the receivers",
        (
            RULE.check(between("L14", gauges=[one for one in account(64e6) if one[2] != "receive_threshold"])),
            "limited by the receive window",
        ),
        "what the load receives is sent by the server",
        (
            RULE.check(between("L14", gauges=account(64e6, sender="server:1", receiver="client:0"), operation="receive")),
            "limited by the receive window",
        ),
        ("without samples nothing is known", RULE.check(between("L14")), UNVERIFIED),
        "transactions and datagrams have no window",
        (RULE.applies(between("L14", operation="transaction")), NOT_ASKED),
        (RULE.applies(between("L14", load=end(), server=end())), NOT_ASKED),
        (RULE.applies(between("L14", load=end(connection()))), ASKED),
    )
