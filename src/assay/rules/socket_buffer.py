"""Names a socket buffer as the limit of a TCP stream: the receiver's window, the sender's buffer, or a reader that is slow.

The rule reads the kernel's account of both ends' connections (TCP_INFO) during the phase.
- Rate times measured round trip is at least `window_share` of the granted window: the window decides the rate.
- The sender waited for buffer space of its own for `limited_share` of the time: the sender's buffer decides.
- The window was full for `limited_share` of the time: with `little_share` of it on the way the window decides too.
  With less on the way, the data wait in the receiver's queue, unread.

A receiver that ran or waited for a CPU for `restless_share` of its time is no slow reader: its CPU is the limit (L12).
The first test holds under every congestion control; the kernel's share alone does not (0.2 to 0.3 with bbr).
Transactions, datagrams and foreign ends are n/a. It is a note: the figure is right, and describes a buffer.
"""

from __future__ import annotations

from assay.catalogue import About, Rule, TrialCase
from assay.measures import connections
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import found
from assay.rulekit.stream_limits import limiter


def applies(case: TrialCase) -> str | None:
    """Streams whose ends are both Assay's."""
    ends = connections.stream_ends(case.phase, case.measure.operation)
    return None if ends else "no TCP stream between two ends of Assay"


def check(case: TrialCase) -> Finding:
    """Bytes on the way against the window, and the kernel's two shares."""
    seen = case.everywhere.on_all() if case.everywhere is not None else case.observations
    ends = connections.stream_ends(case.phase, case.measure.operation)
    use = connections.stream_use(case.phase, seen, ends) if ends else None
    if use is None or ends is None:
        return found(RULE, case, State.UNVERIFIED, "The kernel's account of the connections during the phase is missing.")
    restless = connections.restless_share(case.phase, case.everywhere or seen, ends.receivers)
    observed = {
        "bytes_per_s": use.bytes_per_s,
        "rtt_ns": use.rtt_ns,
        "window_bytes": use.window_bytes,
        "window_share": use.window_share,
        "receiver_limited_share": use.receiver_limited_share,
        "buffer_limited_share": use.buffer_limited_share,
        "receiver_restless_share": restless,
    }
    relabel, words = limiter(case, use, restless)
    lacking = [name for name in ("window_bytes", "receiver_limited_share", "buffer_limited_share") if observed[name] is None]
    if relabel is None and lacking:
        statement = f"{words}; the kernel's account is not whole (no {', '.join(lacking)})."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if relabel is None:
        return found(RULE, case, State.PASS, f"{words}: no socket buffer was the limit.", observed=observed)
    return found(RULE, case, State.FAIL, f"{words}.", observed=observed, relabel=relabel, detail=words)


RULE = Rule(
    id="L14",
    name="socket-buffer",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="load",
    short="a socket buffer at its limit",
    reads=("tcp.acked_bytes", "tcp.rtt_ns", "tcp.receive_threshold", "tcp.send_window", "tcp.receiver_limited_ns"),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A transfer over 400 km runs at 65 MB/s on a link of 1.2 GB/s. The socket buffer of 256 KiB lets 256 KiB be on the "
    "way for each round trip of 4 ms. The line is called slow, and a faster line would change nothing.",
    alternatives=(
        "A shaper or a queue on the way lengthens the round trip until the window is full. Compare with the least round trip.",
        "The receiver's program waits for its disk. Then the disk is the limit, and the receive queue shows it.",
        "The kernel still tunes a buffer that was not set. Run longer.",
    ),
    advice="Leave `window` to the kernel, or set at least rate times round trip (net.ipv4.tcp_rmem, net.core.rmem_max). "
    "More connections share the way. A slow reader needs a faster program or disk, not a larger buffer.",
    sources=(
        "RFC 7323: the window limits the rate to window / round trip",
        "tcp_info: tcpi_rwnd_limited, tcpi_sndbuf_limited, tcpi_rcv_ssthresh (Linux tcp.h)",
        "measured: window-limited share 0.95 with cubic, 0.2 to 0.33 with bbr, at the same windows and 4 ms",
    ),
)
