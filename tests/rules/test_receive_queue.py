"""L16: datagrams that the receiver's buffer refused, against those that were lost on the way."""

from dataclasses import replace

from assay.records import ABSOLUTE, Claim, Path, State
from assay.rules.receive_queue import RULE
from stage.network_cases import between, end
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, hold


def case(lost, drops, received=61_784, gauges=(), **more):
    load = end(datagrams={"sent": received + lost})
    server = end(datagrams={"received": received, "lost": lost, "buffer_drops": drops})
    return between("L16", load=load, server=server, gauges=gauges, **more)


def foreign(drops, received):
    gauges = [
        ("end_network", "net:[2]", "udp_receive_buffer_errors", (0, drops)),
        ("end_network", "net:[2]", "udp_received", (0, received)),
    ]
    made = between("L16", gauges=gauges)
    return replace(
        made, phase=replace(made.phase, clients=tuple(replace(one, net=None) for one in made.phase.clients), servers=())
    )


@each("drops state", (79_736, State.FAIL), (0, State.PASS))
def test_foreign_ends_are_known_by_the_namespace_of_the_receiver(drops, state):
    assert RULE.applies(foreign(drops, 61_784)) is None
    assert RULE.check(foreign(drops, 61_784)).state is state


def test_states():
    hold(
        ("the buffer is named", RULE.check(case(79_736, 79_736)), FAIL, NOTES, "79,736 of 141,520"),
        ("a wire that is claimed is qualified", RULE.check(case(79_736, 79_736, claim=Claim(path=Path.WIRE))), QUALIFIES),
        "what was lost on the way is no fault of the buffer",
        (RULE.check(case(1_000, 10)), PASS),
        (RULE.check(case(50, 50)), PASS),
        (RULE.check(case(0, 0)), PASS),
        "other queues that dropped are named",
        (
            RULE.check(
                case(
                    1_000,
                    900,
                    gauges=[("end_network", "net:[2]@eth0", "rx_drops", (0, 7)), ("network", "", "softnet_dropped", (0, 9))],
                )
            ),
            "softnet",
        ),
        "queues between the ends are named",
        (
            RULE.check(
                case(
                    1_000,
                    10,
                    gauges=[
                        ("line", "line:wan.up", "dropped_segments", (5, 905)),
                        ("middlebox", ABSOLUTE, "shaper_dropped", (0, 40)),
                    ],
                )
            ),
            PASS,
            "900",
        ),
        "one drop is a train where the kernel cuts and joins",
        (RULE.check(case(4_400, 100, knobs={"segment": True, "message": 1_472})), FAIL),
        (RULE.check(case(4_400, 100)), PASS),
        "streams have no datagrams",
        (RULE.applies(between("L16")), NOT_ASKED),
        (RULE.applies(foreign(0, 0)), NOT_ASKED),
        ("drops that the kernel does not tell are unverified", RULE.check(case(1_000, None)), UNVERIFIED),
    )
