"""G11: sent data that the receiver has, that left this host at least, and that did neither."""

from dataclasses import replace

from assay.records import Direction, Rung, Severity
from assay.rules.unarrived import RULE
from audit.case_builder import MIB, Made, case_of, gauge, reading
from stage.said import FAIL, INVALIDATES, NOT_ASKED, PASS, QUALIFIES, UNVERIFIED, high, hold

SENT = {"send.bytes": 100.0 * MIB, "send.bytes_per_s": 100e6}


def case(more=(), interfaces=None, inside=None, other=0, operation="send"):
    """A tool that says it sent 100 MiB, and what passed the interfaces and the loopback of this host (MiB)."""
    found = case_of(Made(operation=operation, values={**SENT, **dict(more)}), "G11")
    series = [] if other is None else [gauge("process", "pid:7", "other_network", (other, other), 1.0)]
    series += [] if inside is None else [gauge("network", "", "loopback_bytes", (0, inside * MIB), 1.0)]
    out = (
        [] if interfaces is None else [reading(Rung.CLIENT_NIC, "interface:eth0", Direction.WRITE, (round(interfaces * MIB), 0))]
    )
    seen = found.observations
    return replace(found, observations=replace(seen, series=(*seen.series, *series), readings=(*seen.readings, *out)))


def judged(arrived=None, rate=None, **seen):
    says = {name: value for name, value in (("delivered_bytes", arrived), ("delivered_bytes_per_s", rate)) if value is not None}
    return RULE.check(case({f"send.{name}": value for name, value in says.items()}.items(), **seen))


def test_states():
    hold(
        ("all arrived", judged(100.0 * MIB), PASS),
        ("the last window is no loss", judged(99.5 * MIB), PASS),
        ("a little is missing", judged(97.0 * MIB, 97e6), FAIL, QUALIFIES, high(97e6)),
        ("half was in a buffer, and the receiver's rate is the bound", judged(50.0 * MIB, 45e6), FAIL, INVALIDATES, high(45e6)),
        ("nothing arrived", judged(0.0), FAIL, INVALIDATES, high(0)),
        "without a receiver's report the interfaces tell",
        (judged(interfaces=104, inside=0), PASS),
        (judged(interfaces=0, inside=101), PASS),
        (judged(interfaces=60, inside=0), FAIL, INVALIDATES, high(60e6)),
        "what is not counted, or counted in another network, says nothing",
        (judged(), UNVERIFIED),
        (judged(interfaces=60), UNVERIFIED),
        (judged(interfaces=60, inside=0, other=1), UNVERIFIED),
        (judged(interfaces=60, inside=0, other=None), UNVERIFIED),
        ("reads are not its business", RULE.applies(case(operation="read")), NOT_ASKED),
        (
            "nor are tools without bytes",
            RULE.applies(case_of(Made(operation="send", values={"send.count": 5.0}), "G11")),
            NOT_ASKED,
        ),
    )
    assert RULE.severity is Severity.INVALIDATES
