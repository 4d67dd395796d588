"""Laws of all rules, on the cases that the tests of each rule build: lacking evidence never passes, bounds are bounds."""

import contextlib
import dataclasses
import functools
import importlib
import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch

import pytest

from assay import catalogue, measures
from assay.audit.judge import examine_one
from assay.catalogue import ComparisonCase, TrialCase
from assay.measures import Better
from assay.records import Observations, Reading, Scope, State

RULES = [rule for scope in Scope for rule in catalogue.rules_of(scope)]


NEARLY = 1.000001
OF_ANOTHER_UNIT = ("L04",)
"""Rules whose limit may be one of operations where the figure is one of bytes."""
OF_A_PART = ("W02",)
"""Rules whose bound is that of a part of the phase: a percentile of its steady rounds."""
ENOUGH = {
    "C01": {"*": "facts that both arms lack are none; what one arm alone lacks differs"},
    "C02": {"*": "it compares what both arms tell, and says how many points those are"},
    "C03": {"fact:end.1.interface.0.mtu*": "it compares what both arms tell"},
    "C05": {"fact:target.machine*": "of other targets nobody says which machine", "fact:machine.serial*": "names stand in"},
    "C07": {"fact:target.setting.software*": "indexes of one arm are compared by the filter's attributes"},
    "D01": {
        "page_cache.dirty_bytes": "the drain that is charged left nothing",
        "values.*": "nothing was printed that the drain would change",
    },
    "D04": {
        "directory.add": "a server without a monitor counts nothing",
        "fact:device.*": "a cache that nobody calls volatile may lose nothing",
        "fact:target.*": "a target without such a setting has none",
        "values.*": "what the server took is held against what it stored",
    },
    "D05": {"page_cache.file_bytes": "work that is done once through writes each byte once"},
    "D07": {"L?.write (drain)": "what came during the clock alone is less: it is a note on excess"},
    "E05": {"*": "it says that nothing contradicts; what a claim needs is asked by the rules of its parts"},
    "E06": {"values.*": "a tool that told nothing has no figure"},
    "E07": {"*": "it names the versions that were compared"},
    "E08": {"directory.*": "it names what was counted"},
    "G04": {
        "clients.coherence*": "a reader tells what it never saw together with its latencies",
        "values.*.answers_*": "a sample of the answers tells all its counts together",
    },
    "G05": {"values.*": "the bytes and the time are judged"},
    "G06": {"clients.errors.what": "G04 counts errors of each kind"},
    "G10": {"*.net.zerocopy": "an end that was asked for none tells none; the knob decides"},
    "G09": {"directory.bind": "of neither arm: connections are compared"},
    "L01": {
        "cpu.*": "the threads themselves are known",
        "pressure.*": "the threads themselves are known",
        "process.run_delay_ns": "N02 says what waiting for a CPU did",
        "process.cpu_wait_ns": "N03 says what other programs took of the CPUs",
        "values.*": "the threads themselves are known",
    },
    "L02": {
        "fact:target.server.be*": "a server without such a program has no such fact",
        "server.brief_ready_ns": "its CPU time is counted, and N02 says what waiting did",
    },
    "L03": {
        "fact:target.server.limit_bytes_per_s*": "a way without a limit has no such fact",
        "fact:target.server.router*": "a way without a router has no such fact",
        "server.*_segments": "it says how full the way was",
        "end_network.*": "it says how full the way was",
        "*.net*": "segments of the server's host are counted",
        "values.*": "of a tool that told no rate the bytes of the link are judged",
    },
    "L05": {
        "fact:target.server.inside.*": "clients in the lab's own namespace have none",
        "values.*": "what passed the wire is held against what was told",
    },
    "L06": {
        "cgroup.limit_write_bytes_per_s": "a group without a limit has none",
        "cgroup.memory_limit_*": "a group without the controller memory has none",
    },
    "L10": {"fact:health.*": "a path without such a device has none", "network.rx_errors": "errors of the disk were counted"},
    "L12": {"process.run_delay_ns": "N02 says what waiting did", "end_cpu.stolen_ns": "a column of the line that gives busy_ns"},
    "L13": {"fact:target.path.*": "a path that states no loss has none"},
    "L17": {"tcp.*": "the losses of the path explain the rate", "*.net": "the losses of the path explain the rate"},
    "L24": {
        "policers.limit_bytes_per_s": "what the rule dropped is counted",
        "policers.refused_packets": "a limit without a counter is held against losses",
    },
    "N01": {"fact:speed.*": "a machine without such counters has none; the work itself was timed"},
    "N03": {"other_processes.own_cpu_ns": "the more cautious share counts", "L9.write (clock)": "the CPU alone is judged"},
    "N04": {"placement.queues": "one queue is no choice", "placement.far_threads": "a device without a node has none"},
    "N05": {"memory.*": "the time that tasks waited is known"},
    "N07": {"fact:kernel.log.*": "the log was read, and has no such message"},
    "S04": {"*": "no clock was seen to be set; the order is that of the schedule"},
    "S10": {"fact:target.made*": "the boot is a set-up, too"},
    "T01": dict.fromkeys(("tracepoints.added_bytes", "L9.read (clock)"), "bytes that the process made storage read are known"),
    "T02": {
        "values.*": "operations of the engine are counted",
        "L9.read (clock)": "bytes of the device above, or of the server, are known",
    },
    "T03": dict.fromkeys(
        ("tracepoints.added_bytes", "page_cache.cached_bytes", "fact:device.*", "L8.write (clock)"),
        "bytes above and below are known, and agree",
    ),
    "T04": {"L2.read (clock)": "it says that caches below are not excluded"},
    "T07": {"L8.write (clock)": "the device below is known"},
    "T08": {"tracepoints.added_bytes": "bytes that the process made storage read are known"},
    "T14": {"directory.cache_*": "a server without an entry cache counts none"},
    "W01": {"steady*": "a phase that was not run until it was steady has its whole time", "values.*": "the time alone is judged"},
    "W02": {
        "steady*": "a phase that was not run until it was steady is judged as a whole",
        "application.*": "engines tell count, bytes and time of a part together",
        "latencies": "the rounds are known",
    },
    "W03": {"application.*": "engines tell count, bytes and time of a part together"},
    "W04": {"application.*": "engines tell count, bytes and time of a part together"},
    "W06": {"application.*": "engines tell count, bytes and time of a part together"},
    "W07": {"hosts.server_cached_before": "T02 judges what the server read"},
    "W08": {
        "clock.asleep_s": "a host without /proc/uptime tells no sleep",
        "clock.boot_time_s": "the lab's own engines take no time by the wall clock",
    },
}
"""Rule -> evidence without which a failure may become a pass, and what is enough instead."""
OF_THE_REPORT = {
    "D01": "the drain", "D08": "the checks", "E01": "a claim of nothing", "E02": "no samples", "E05": "see above",
    "E06": "output", "G01": "latencies of the load", "G02": "the load's account", "G03": "the load's account",
    "G04": "errors", "G05": "counts",
    "G06": "checks of records", "G08": "counts", "G10": "confirmations", "G11": "the receiver's report", "L01": "CPU time",
    "L04": "declared limits",
    "L07": "the load's sums", "L08": "other figures", "L11": "the queue's account", "L15": "the ends' sockets",
    "L16": "the receiver's socket", "L18": "the ends' sockets", "L19": "the tool's options and latencies",
    "N05": "a limit that is meant",
    "S01": "the tool's own figures", "T01": "residency before",
    "T03": "no loop device", "T10": "other figures", "T11": "earlier phases", "T14": "residency before", "W01": "times",
    "W04": "times of the clients", "W12": "the tool's own intervals",
}  # fmt: skip
"""Rules that pass by what the load or the phase itself tells, without any observer: by what."""


def own_tests(module):
    """The tests of a rule that need nothing but the rule."""
    for name, test in vars(module).items():
        if name.startswith("test_") and not hasattr(test, "hypothesis") and not inspect.signature(test).parameters:
            yield test


MOST = 100
"""Cases of one test: one that shows more draws them by chance."""


class EnoughError(AssertionError):
    """A test has shown enough cases."""


def keeping(rule, kept):
    """A check that keeps the cases that a test shows it, until they are enough."""

    def check(case):
        if len(kept) == MOST:
            raise EnoughError
        kept.append(case)
        return rule.check(case)

    return check


@pytest.fixture(scope="module")
def cases():
    """Rule -> the cases that its own tests show it, each with what it says of them: the tests are run for it once more."""
    found = {}
    for rule in RULES:
        module, kept = importlib.import_module(f"rules.test_{rule.name.replace('-', '_')}"), []
        for test in own_tests(module):
            with pytest.MonkeyPatch.context() as patch, contextlib.suppress(AssertionError, BaseExceptionGroup):
                kept.append([])
                patch.setattr(module, "RULE", replace(rule, check=keeping(rule, kept[-1])))
                test()
        found[rule.id] = [(case, examine_one(rule, case)) for shown in kept for case in shown]
    return found


# ------------------------------------------------------------------------------------------------ evidence taken away


def pieces(seen):
    """Evidence by what it is: a rung and a direction, a series, a fact, all latencies."""
    found = {}
    for one in seen.readings:
        found.setdefault(f"{one.rung}.{one.direction} ({one.span})", []).append(one)
    for one in seen.series:
        found.setdefault(f"{one.layer}.{one.metric}", []).append(one)
    for one in seen.facts:
        found.setdefault(f"fact:{one.key} ({one.when})", []).append(one)
    for one in seen.histograms:
        found.setdefault("latencies", []).append(one)
    return found


def without(seen, piece):
    gone = {id(one) for one in piece}
    kinds = ("readings", "series", "facts", "histograms")
    return replace(seen, **{kind: tuple(one for one in getattr(seen, kind) if id(one) not in gone) for kind in kinds})


BYTES = ", bytes"
"""After the name of readings that are there and tell no bytes."""
PLANNED = ("directions",)
"""Fields of a phase that say what was to be done, and are no evidence."""


def uncounted(seen, piece):
    """The evidence with readings of one rung and direction that are there and tell no bytes."""
    gone = {id(one) for one in piece}
    return replace(seen, readings=tuple(replace(one, bytes=None) if id(one) in gone else one for one in seen.readings))


def parts_of(value):
    """The records right below a value: of a record its fields, of a tuple its members, each with the name of the way there."""
    if dataclasses.is_dataclass(value):
        return [(one.name, getattr(value, one.name)) for one in dataclasses.fields(value)]
    return [("", one) for one in value] if isinstance(value, tuple) else []


@functools.cache
def may_be_unknown(kind, name):
    """Whether None is a value of a field itself, and not of what it holds."""
    (field,) = (one for one in dataclasses.fields(kind) if one.name == name)
    return "None" in re.sub(r"\[.*\]", "", str(field.type))


def unsaid(value, way=()):
    """Ways to what is known and may be unknown: optional fields of records at any depth, and keys of their mappings."""
    for name, part in parts_of(value):
        further = (*way, name) if name else way
        if name and part is not None and may_be_unknown(type(value), name):
            yield further
        if isinstance(part, Mapping):
            yield from ((*further, key) for key in part if isinstance(key, str))
        yield from unsaid(part, further)


def quiet(value, way):
    """The value without what a way leads to, in every member of the tuples on it."""
    if isinstance(value, tuple):
        return tuple(quiet(one, way) for one in value)
    if isinstance(value, Mapping):
        return {key: one for key, one in value.items() if key != way[0]}
    if not dataclasses.is_dataclass(value) or way[0] not in {one.name for one in dataclasses.fields(value)}:
        return value
    part = getattr(value, way[0])
    if len(way) == 1:
        return replace(value, **{way[0]: None}) if part is not None else value
    return replace(value, **{way[0]: quiet(part, way[1:])}) if part is not None else value


def stripped(case):
    """The case with each piece of its evidence taken away: what is gone, and what is left."""
    if isinstance(case, TrialCase):
        for what, piece in pieces(case.observations).items():
            yield what, replace(case, observations=without(case.observations, piece))
            if isinstance(piece[0], Reading):
                yield f"{what}{BYTES}", replace(case, observations=uncounted(case.observations, piece))
        for way in sorted({way for way in unsaid(case.phase) if way[0] not in PLANNED}):
            run = replace(case.run, phases=tuple(quiet(phase, way) for phase in case.run.phases))
            yield ".".join(way), replace(case, run=run, phase=quiet(case.phase, way))
    if isinstance(case, ComparisonCase):
        told = {name: [(run, seen, pieces(seen)) for run, seen in getattr(case, name)] for name in ("baseline", "candidate")}
        for what in sorted({what for arm in told.values() for _, _, found in arm for what in found}):
            bare = {
                name: tuple((run, without(seen, found.get(what, ()))) for run, seen, found in arm) for name, arm in told.items()
            }
            yield what, replace(case, **bare)
            yield f"{what} of one arm", replace(case, candidate=bare["candidate"])


@pytest.mark.slow
def test_what_was_not_seen_never_passes(cases):
    """Where a rule fails, taking evidence away makes it unverified, not asked, or another failure."""
    passed = {
        (rule.id, what)
        for rule in RULES
        for case, said in cases[rule.id]
        if said.state is State.FAIL
        for what, bare in stripped(case)
        if examine_one(rule, bare).state is State.PASS
    }
    lacking = [
        (rule, what)
        for rule, what in sorted(passed)
        if not any(fnmatch(what.removesuffix(BYTES), one) for one in ENOUGH.get(rule, ()))
    ]
    assert not lacking, "\n".join(map(str, lacking))


def test_without_any_evidence_nothing_passes(cases):
    passed = {
        rule.id
        for rule in RULES
        for case, said in cases[rule.id]
        if said.state is State.PASS and isinstance(case, TrialCase) and case.observations != Observations()
        if examine_one(rule, replace(case, observations=Observations())).state is State.PASS
    }
    assert sorted(passed - OF_THE_REPORT.keys()) == []


# ------------------------------------------------------------------------------------------------ bounds


def wrong_bound(case, found):
    """What is wrong with the bound of a finding; None where nothing is.

    It holds the value, or lies where the figure would be without what flattered it: a rate below, a time above.
    """
    bound = found.bound
    edges = [edge for edge in (bound.low, bound.high) if edge is not None]
    if not edges or not all(math.isfinite(edge) and edge >= 0 for edge in edges) or edges != sorted(edges):
        return "no interval"
    if not isinstance(case, TrialCase) or case.value is None:
        return None
    kind = measures.figure_kind(case.measure.figure)
    if kind is None or bound.unit != kind.unit:
        return None if kind is None or found.rule in OF_ANOTHER_UNIT else "another unit than the figure's"
    is_rate = kind.better is Better.HIGHER
    outside = (
        bound.low is not None and bound.low > case.value * NEARLY
        if is_rate
        else bound.high is not None and bound.high < case.value / NEARLY
    )
    return "on the wrong side of the value" if outside and found.rule not in OF_A_PART else None


def test_bounds_are_ordered_and_on_the_right_side(cases):
    wrong = {
        (rule.id, why, str(found.bound), case.value, case.measure.figure)
        for rule in RULES
        for case, found in cases[rule.id]
        if found.bound is not None and (why := wrong_bound(case, found))
    }
    assert sorted(wrong) == []


def test_each_rule_has_a_case_that_passes_and_one_that_fails(cases):
    lacking = {
        (rule.id, state)
        for rule in RULES
        for state in (State.PASS, State.FAIL)
        if not any(found.state is state for _, found in cases[rule.id])
    }
    assert lacking == {("E02", State.FAIL)}, "lost samples are unknown, and nothing else"
