"""L12: the CPUs and threads of both ends, with their soft interrupts."""

from dataclasses import replace

from assay.records import Role, State
from assay.rules.end_cpu import RULE
from audit.case_builder import Made, case_of
from stage.network_cases import SECOND, SECONDS, SERVER_PID, between
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, hold

TIME = SECONDS * SECOND


def cpu(number, busy, soft=0.0, stolen=0.0):
    rows = {"busy_ns": busy, "soft_ns": soft, "stolen_ns": stolen, "total_ns": 1.0}
    return [("end_cpu", f"cpu:{number}", metric, (0, share * TIME), "ns") for metric, share in rows.items()]


def ran(pid, number, share, kind="pid"):
    return ("end_cpu", f"{kind}:{pid}@cpu:{number}", "run_ns", (0, share * TIME), "ns")


def judged(*gauges, **more):
    return RULE.check(between("L12", gauges=gauges, **more))


@each(
    "load server words",
    (0.97, 0.5, "limited by the CPU of the load"),
    (0.5, 0.97, "limited by the CPU of the server"),
    (0.97, 0.97, "limited by the CPUs of both ends"),
)
def test_a_cpu_of_one_end(load, server, words):
    found = judged(*cpu(0, load), *cpu(1, server), ran(100, 0, load), ran(SERVER_PID, 1, server))
    assert found.relabel == words


def test_a_thread_that_moves_between_cpus():
    gauges = [one for number in (0, 1) for one in (*cpu(number, 0.5), ran(SERVER_PID, number, 0.49))]
    found = judged(*gauges, busy=(0.1, 0.98))
    assert found.relabel == "limited by one thread of the server"
    waits = ("process", f"pid:{SERVER_PID}", "run_delay_ns", (0, 0.3 * TIME), "ns")
    assert judged(*gauges, waits, busy=(0.1, 0.68)).relabel == "limited by one thread of the server"
    assert judged(*gauges, busy=(0.1, 0.68)).state is State.PASS


def test_without_the_account_by_cpu_nothing_is_known():
    assert judged().state is State.UNVERIFIED
    short = between("L12", gauges=cpu(0, 0.9))
    brief = replace(short, phase=replace(short.phase, end_ns=SECOND // 10))
    assert "too short" in RULE.check(brief).statement


def looking():
    case = between("L12")
    clients = tuple(replace(one, role=Role.READER) for one in case.phase.clients)
    return replace(case, phase=replace(case.phase, clients=clients))


def test_states():
    hold(
        "a cpu that both ends share",
        (judged(*cpu(0, 0.98, 0.15), ran(100, 0, 0.45), ran(SERVER_PID, 0, 0.38)), FAIL, NOTES),
        "soft interrupts alone fill a cpu",
        (judged(*cpu(0, 0.95, 0.9), *cpu(1, 0.4), ran(100, 1, 0.3)), "limited by a CPU that serves packets"),
        "ends on every cpu share them",
        (
            judged(
                *[one for number in (0, 1) for one in (*cpu(number, 0.95), ran(100, number, 0.4), ran(SERVER_PID, number, 0.4))]
            ),
            "limited by the CPUs that both ends share",
        ),
        ("a named server is the server", judged(*cpu(0, 0.96), ran(77, 0, 0.9, "server")), "limited by the CPU of the server"),
        ("a cpu that other programs fill is not the ends", judged(*cpu(0, 0.98), ran(100, 0, 0.2)), PASS),
        "time that the hypervisor took is not there to be used",
        (judged(*cpu(0, 0.7, stolen=0.25), ran(100, 0, 0.6)), FAIL),
        (judged(*cpu(0, 0.7), ran(100, 0, 0.6)), PASS),
        "it is for servers with an address",
        (RULE.applies(case_of(Made(), "L12")), NOT_ASKED),
        (RULE.applies(between("L12")), ASKED),
        ("a reader that looks until it sees something", RULE.applies(looking()), NOT_ASKED),
    )
