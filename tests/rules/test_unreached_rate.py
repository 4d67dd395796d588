"""L17: a rate below that of the emulated path, with and without something that explains it."""

from dataclasses import replace

from assay.records import Action, Event, Severity, State
from assay.rules.unreached_rate import RULE
from stage.network_cases import SECOND, SECONDS, SERVER_PID, between
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNVERIFIED, hold

TIME = SECONDS * SECOND
RATE = 125_000_000
SEGMENT, FRAME = 1_500, 38
PATH = {"bytes_per_s": RATE, "frame_bytes": FRAME, "loss": 0.0}


def counts(shares, name="wan.up", *, dropped=0, lost=0, late=0, cpu=0.3):
    """What the line counts over each half of the time, as shares of the rate on the wire."""
    each = [share * RATE * SECONDS / len(shares) / (SEGMENT + FRAME) for share in shares]
    so_far = [sum(each[:place]) for place in range(len(each) + 1)]
    steps = range(len(so_far))
    values = {
        "delivered_segments": so_far,
        "delivered_bytes": [one * SEGMENT for one in so_far],
        "segments": so_far,
        "packets": so_far,
        "delivered_packets": so_far,
        "dropped_segments": [dropped * place for place in steps],
        "lost_segments": [lost * one for one in so_far],
        "late_packets": [late * one for one in so_far],
        "cpu_ns": [cpu * TIME * place / len(shares) for place in steps],
        **{key: [0 for _ in steps] for key in ("late_ns", "overrun_segments", "unread_packets")},
    }
    return [("line", f"line:{name}", metric, row) for metric, row in values.items()]


def stated(name="wan", **changes):
    numbers = {**PATH, **changes}
    return [
        (f"target.path.{name}.{way}.{key}", str(value))
        for way in ("up", "down")
        for key, value in numbers.items()
        if value is not None
    ]


def case(shares=(0.25, 0.25), *, more=(), facts=None, back=0.01, **named):
    known = {key: named.pop(key) for key in ("dropped", "lost", "late", "cpu") if key in named}
    gauges = (*counts(shares, **known), *counts([back] * len(shares), "wan.down"), *more)
    return between("L17", gauges=gauges, facts=[("target.line", "wan"), *(stated() if facts is None else facts)], **named)


def account(*, rate, window, rtt_ms=4.0):
    """What both kernels say of the stream."""
    rows = [
        ("client:0", "acked_bytes", (0, rate * SECONDS / 2, rate * SECONDS)),
        ("client:0", "rtt_ns", (rtt_ms * 1e6,) * 3),
        ("client:0", "busy_ns", (0, TIME / 2, TIME)),
        ("client:0", "receiver_limited_ns", (0, 0, 0)),
        ("client:0", "buffer_limited_ns", (0, 0, 0)),
        ("server:1", "receive_threshold", (window,) * 3),
    ]
    return [("tcp", *row) for row in rows]


def cpus(*shares, end=0.3):
    rows = []
    for number, busy in enumerate(shares):
        times = {"busy_ns": busy, "soft_ns": 0.0, "stolen_ns": 0.0, "total_ns": 1.0}
        rows += [("end_cpu", f"cpu:{number}", metric, (0, share * TIME), "ns") for metric, share in times.items()]
        rows += [("end_cpu", f"pid:{(100, SERVER_PID)[number]}@cpu:{number}", "run_ns", (0, end * TIME), "ns")]
    return rows


def test_a_rate_that_was_not_reached_and_nothing_explains_it():
    found = RULE.check(case(late=0.03, more=[*account(rate=30e6, window=4 << 20), *cpus(0.6, 0.5)]))
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.bound is not None
    assert found.bound.high is None
    assert "25 %" in found.statement
    assert "late packets 3 %" in found.statement.lower()
    assert found.relabel == "limit unknown, below the path's rate"


@each(
    "more named words",
    (account(rate=60e6, window=256 << 10), {}, "limited by the receive window"),
    (cpus(0.98, 0.5, end=0.7), {}, "CPU 0 98 % busy"),
    ((), {"busy": (0.98, 0.3)}, "a thread of the load ran for 98 %"),
    ((), {"dropped": 50}, "its queue was full"),
    (account(rate=30e6, window=4 << 20), {"lost": 0.01, "shares": (0.02, 0.02)}, "its losses of 1 %"),
)
def test_what_explains_a_rate_below_the_paths(more, named, words):
    found = RULE.check(case(named.pop("shares", (0.25, 0.25)), more=more, **named))
    assert found.state is State.PASS
    assert words in found.statement


@each("lost", 1e-6, 0.02)
def test_losses_that_leave_more_or_less_on_the_way_explain_nothing(lost):
    found = RULE.check(case(lost=lost, more=account(rate=30e6, window=4 << 20)))
    assert found.state is State.FAIL


def with_knobs(*events, **knobs):
    made = case()
    (workload, *rest) = made.experiment.workloads
    changed = replace(workload, name=made.measure.workload, knobs={**workload.knobs, **knobs}, events=events)
    return replace(made, experiment=replace(made.experiment, workloads=(changed, *rest)))


def test_what_is_not_known():
    nothing = between("L17", facts=[("target.line", "wan"), *stated()])
    assert RULE.applies(nothing) is None
    assert RULE.check(nothing).state is State.UNVERIFIED
    short = case()
    phase = replace(short.phase, end_ns=SECOND)
    found = RULE.check(replace(short, phase=phase))
    assert (found.state, "too short" in found.statement) == (State.UNVERIFIED, True)


def test_states():
    hold(
        ("a path that was full", RULE.check(case((0.5, 0.97))), PASS, "97 %"),
        ("a machine whose cpus emulate the path is named", RULE.check(case(cpu=0.85, more=cpus(0.98, 0.96))), "85 %"),
        "without a round trip many losses explain it and few do not",
        (RULE.check(case(lost=0.01)), PASS),
        (RULE.check(case(lost=0.0001)), FAIL),
        ("a rate that still rises is not at its end", RULE.check(case((0.2, 0.6))), UNVERIFIED, "still rose"),
        "paths that are used together count as one",
        (
            RULE.check(
                case(
                    (0.95, 0.95),
                    more=[*counts((0.95, 0.95), "b.up"), *counts((0.01, 0.01), "b.down")],
                    facts=[*stated(), *stated("b")],
                )
            ),
            PASS,
            "2000 Mbit/s",
        ),
        (
            RULE.check(
                case(
                    (0.95, 0.95),
                    more=[*counts((0.0, 0.0), "b.up"), *counts((0.0, 0.0), "b.down")],
                    facts=[*stated(), *stated("b")],
                )
            ),
            FAIL,
        ),
        "loads that the rule has nothing to say about",
        (RULE.applies(case()), ASKED),
        (RULE.applies(case(facts=stated(bytes_per_s=None))), NOT_ASKED),
        (RULE.applies(between("L17")), NOT_ASKED),
        (RULE.applies(case(operation="transaction")), NOT_ASKED),
        (RULE.applies(with_knobs(think=1_000_000)), NOT_ASKED),
        (RULE.applies(with_knobs(Event(phase="p", at_ns=1, on="wan", action=Action.RATE, rate_bytes_per_s=1))), NOT_ASKED),
        "samples close to each other are taken together",
        (RULE.check(case([0.95, 0.0, 0.0, 0.0] * 4)), {"reached_share": 0.95 / 4}),
    )
