"""Commands as observers: run for real on this host, through the sampler."""

from dataclasses import replace

from assay import sampler
from assay.records import Edge, Experiment, ObserveKind, ObserveSpec, Subject
from assay.sampler import Sampler
from assay.trial.observing import observing, watching
from stage.trial_stage import HOST

SPEC = ObserveSpec(name="x", hosts=("local",), argv=("sh", "-c", "echo 42 hits"), every_ns=10**9, pattern=r"(\d+) hits")


def seen(spec):
    present, missing = sampler.roll_call(HOST, (observing(spec),))
    assert missing == {}
    watch = Sampler(HOST, present, Subject())
    for edge in (Edge.QUIET, Edge.ARMED, Edge.LAST, Edge.DRAINED):
        watch.edge(edge)
    return watch.seen("w.read", HOST.monotonic_ns()).evidence


def test_each_look_runs_the_command():
    evidence = seen(SPEC)
    (series,) = (one for one in evidence.series if one.layer == "observe")
    assert (series.metric, series.host, list(series.value)) == ("x", "local", [42.0] * 4)
    assert evidence.missing == {}


def test_a_command_that_fails_is_evidence_that_is_missing(subtests):
    for argv, reason in [
        (("no-such-tool",), "no-such-tool"),
        (("sh", "-c", "echo 42 hits; echo no server >&2; exit 3"), "sh: exit status 3: no server"),
        (("echo", "42 misses"), r"echo: no match of '(\\d+) hits' in '42 misses\n'"),
        (("sleep", "20"), "sleep"),
    ]:
        with subtests.test(argv=argv, reason=reason):
            evidence = seen(replace(SPEC, argv=argv, every_ns=10**8))
            assert [one for one in evidence.series if one.layer == "observe"] == []
            assert reason in evidence.missing["observe.x"]


def test_an_argument_is_never_read_by_a_shell(tmp_path):
    proof = tmp_path / "executed"
    evidence = seen(replace(SPEC, argv=("echo", f"$(touch {proof})", f"`touch {proof}`; touch {proof} 42 hits")))
    assert not proof.exists()
    assert len([one for one in evidence.series if one.layer == "observe"]) == 1


def test_each_host_has_the_commands_that_name_it():
    other = replace(SPEC, name="y", hosts=("s", "c.1"), pattern=r"(?P<used>\d+)/(?P<limit>\d+)", kind=ObserveKind.GAUGE)
    asked = Experiment(title="", question="", targets=(), workloads=(), factors=(), measures=(), observe=(SPEC, other))
    assert [one.name for one in watching(asked, "local")] == ["observe.x"]
    (observer,) = watching(asked, "c.1")
    assert observer.gives == ("observe.y.used", "observe.y.limit", "observe.y.used_share")
    assert watching(asked, "c.2") == ()
