"""A workload's side: the path alone and the server's storage alone, in a file, in a trial, and in what is made of both."""

import json
from dataclasses import replace

import pytest

from assay.answer.layers import MARGIN, LayerBelow, LayeredRate
from assay.answer.wording import layers
from assay.audit.limits import thresholds
from assay.errors import InputErrors
from assay.experiment import read
from assay.experiment.digest import digest
from assay.records import Claim, Direction, Experiment, Limit, Measure, Severity, State, Tier, VerdictState, WorkSide
from assay.rules.roofline import RULE
from audit.case_builder import Made, case_of
from stage.assay_process import Bench
from stage.served_stage import SBIN, needs, needs_fuse, needs_root, sshd

FILE = """
title = "Layers"
question = "What does each layer lose?"
repeats = 1
[paths.wan]
rate = "100 Mbit/s"
delay = "500 us"
queue = "100 kB"
[targets.files]
kind = "sftp_openssh"
through = "wan"
{program}
[workloads.down]
kind = "net_stream"
side = "path"
direction = "receive"
duration = "2 s"
quiesce = "0 s"
[workloads.up]
kind = "net_stream"
side = "path"
duration = "2 s"
quiesce = "0 s"
[workloads.disk]
kind = "bulk_io"
side = "server"
size = "24 MiB"
record_size = "1 MiB"
flush = "end"
quiesce = "0 s"
[workloads.through]
kind = "bulk_io"
size = "24 MiB"
record_size = "1 MiB"
flush = "end"
cache = "cold"
quiesce = "0 s"
[measures]
"through.read.bytes_per_s" = {{ claim = {{ path = "emulated" }} }}
"through.write.bytes_per_s" = {{ claim = {{ path = "emulated" }} }}
"disk.read.bytes_per_s" = {{}}
"disk.write.bytes_per_s" = {{}}
"down.receive.bytes_per_s" = {{ claim = {{ path = "emulated" }} }}
"up.send.delivered_bytes_per_s" = {{ claim = {{ path = "emulated" }} }}
"""


def mistakes(text):
    with pytest.raises(InputErrors) as raised:
        read.parse(text, "layers.toml")
    return str(raised.value)


def test_each_wrong_side_is_told_at_once():
    text = (
        FILE.format(program="")
        .replace('side = "server"', 'side = "path"')
        .replace('side = "path"\nduration', 'side = "pat"\nduration')
    )
    told = mistakes(text)
    assert "found side 'pat'; expected one of client, path, server (did you mean 'path'?)" in told
    assert "workload 'disk' on target 'files' with side = path, which is a socket; expected a side that is a directory" in told


def test_only_a_target_with_a_file_server_has_sides():
    text = FILE.format(program="").replace('kind = "sftp_openssh"\nthrough = "wan"', 'kind = "directory"\npath = "/tmp"')
    told = mistakes(text)
    assert "side = path of workload 'down' on target 'files'; expected a target that starts a file server" in told
    assert "side = server of workload 'disk'" in told


def test_such_a_workload_has_no_hosts():
    text = FILE.format(program="").replace("[workloads.up]\n", '[workloads.up]\nhosts = { load = ["local"] }\n')
    assert "hosts with side = path" in mistakes(text)


def test_a_client_is_what_it_was_before_there_were_sides():
    plain = read.parse(FILE.format(program=""), "x.toml")
    clients = replace(plain, workloads=tuple(replace(one, side=WorkSide.CLIENT) for one in plain.workloads))
    assert digest(clients) != digest(plain)
    assert "side" not in json.dumps(digest_values(clients))
    assert isinstance(plain, Experiment)


def digest_values(experiment):
    """What of the workloads counts in the digest."""
    from assay import plain
    from assay.experiment import digest as module

    values = plain.to_plain(experiment)["workloads"]
    module._without_sides(values)
    return values


def test_what_clients_have_below_them_is_a_limit_and_no_question():
    def compared(text):
        return [one.name.partition(".")[0] for one in read.parse(text, "x.toml").compared_measures()]

    assert compared(FILE.format(program="")) == ["through", "through"]
    required = FILE.format(program="") + '[require]\n"disk.read.bytes_per_s" = [">= 1 MB/s"]\n'
    assert compared(required) == ["through", "through", "disk"], "what is required is asked for"
    head, below = FILE.format(program="").split("[measures]\n")
    alone = "\n".join(line for line in below.splitlines() if "through" not in line)
    assert compared(f"{head}[measures]\n{alone}\n") == ["disk", "disk", "down", "up"], "without clients nothing stands above them"


# ---------------------------------------------------------------------------------------------------- what L04 makes of it


def case_with(side, *shares, operation="read", way=Direction.READ, due_ns=None, **made):
    """A client's read, and phases below it that were so many times as fast."""
    case = case_of(Made(count=2000, record_bytes=1 << 20, seconds=16.0, **made), "L04")
    below = (
        replace(below_it(case, f"below{index}", share, operation, way), side=side, due_ns=due_ns)
        for index, share in enumerate(shares)
    )
    return replace(case, run=replace(case.run, phases=(*case.run.phases, *below)))


def below_it(case, name, share, operation, way):
    client = case.phase.clients[0]
    total = replace(client.operations[0], operation=operation, bytes=round(client.operations[0].bytes * share))
    return replace(
        case.phase,
        name=name,
        workload=name,
        operations=(operation,),
        directions={operation: way},
        clients=(replace(client, operations=(total,)),),
    )


def test_a_client_stands_on_what_was_measured_below_it(subtests):
    for side, below in [(WorkSide.SERVER, {}), (WorkSide.PATH, {"operation": "receive", "way": Direction.RECEIVE})]:
        with subtests.test(side=side, below=below):
            assert RULE.applies(case_with(side, 4.0, **below)) is None
            assert RULE.check(case_with(side, 4.0, **below)).state is State.PASS
            near = RULE.check(case_with(side, 1.02, **below))
            assert near.state is State.PASS
            assert near.relabel is not None
            assert near.relabel.startswith("limited by the measured")
            assert near.limiter is not None
            assert not near.limiter.declared
            wrong = RULE.check(case_with(side, 0.5, **below))
            assert (wrong.state, wrong.severity) == (State.FAIL, Severity.QUALIFIES)
            assert "A client cannot be faster than a layer below it" in wrong.statement


def test_the_fastest_of_several_workloads_is_the_limit(subtests):
    """Small reads of the server's disk beside large ones: the client's large reads are no contradiction."""
    for shares in [(0.1, 4.0), (4.0, 0.1)]:
        with subtests.test(shares=shares):
            assert RULE.check(case_with(WorkSide.SERVER, *shares)).state is State.PASS


def test_a_measured_limit_hides_no_declared_one(subtests):
    """1.6 times what the disk is throttled to, twice what the server's storage did: the claim of the device is disproved."""
    for claim, severity in [(Claim(tier=Tier.DEVICE), Severity.INVALIDATES), (Claim(), Severity.QUALIFIES)]:
        with subtests.test(claim=claim, severity=severity):
            throttled = (Limit(device="loop0", direction=Direction.READ, bytes_per_s=80 << 20, declared_by="d.limit"),)
            found = RULE.check(case_with(WorkSide.SERVER, 0.5, claim=claim, limits=throttled))
            assert (found.state, found.severity) == (State.FAIL, severity)


def test_a_measured_limit_has_no_mistaken_unit():
    found = RULE.check(case_with(WorkSide.SERVER, 0.125))
    assert found.state is State.FAIL
    assert "is that of" not in found.statement


def test_a_workload_with_a_schedule_shows_no_limit():
    sent = case_with(WorkSide.PATH, 0.5, operation="receive", way=Direction.RECEIVE, due_ns=10**9)
    assert RULE.applies(sent) == "no declared and no measured limit for this measure"


def test_bytes_that_went_the_other_way_are_no_limit():
    sent = case_with(WorkSide.PATH, 0.5, operation="send", way=Direction.SEND)
    assert RULE.applies(sent) == "no declared and no measured limit for this measure"


def test_another_operation_of_the_server_is_no_limit():
    assert RULE.applies(case_with(WorkSide.SERVER, 0.5, operation="random_read")) is not None


# ---------------------------------------------------------------------------------------------------- in words


def test_the_answer_and_l04_have_one_margin():
    assert thresholds("L04")["measured_share"] == MARGIN


def test_what_each_layer_loses_in_words():
    nobody = Experiment(title="t", question="q", targets=(), workloads=(), factors=(), measures=())
    measure = Measure(workload="files", operation="read", figure="bytes_per_s")
    path = LayerBelow(
        side=WorkSide.PATH, measure="down.receive.bytes_per_s", value=11.7e6, share=0.93, runs=5, low=0.91, high=0.95
    )
    disk = LayerBelow(side=WorkSide.SERVER, measure="disk.read.bytes_per_s", value=8e6, share=1.36, runs=5, low=1.2, high=1.5)
    one = LayeredRate(measure=measure, levels={}, value=10.9e6, below=(path,), state=VerdictState.TAINTED)
    assert layers.statement(nobody, one) == (
        "files read: 10.9 MB/s, 7 % less than the path alone (11.7 MB/s; 95 % interval 5 % to 9 %) [TAINTED]"
    )
    few = layers.statement(nobody, replace(one, below=(replace(path, low=None, high=None, runs=1),)))
    assert few.endswith("7 % less than the path alone (11.7 MB/s; 1 run with both) [TAINTED]"), (
        "other runs than those of the two rates"
    )
    near = layers.statement(nobody, replace(one, below=(replace(disk, share=1.04, low=1.02, high=1.06),)))
    assert near.endswith("4 % more than the server's storage alone (8 MB/s; 95 % interval 2 % to 6 %) [TAINTED]"), (
        "within L04's margin"
    )
    said = layers.statement(nobody, replace(one, below=(disk, path)))
    assert (
        "36 % more than the server's storage alone (8 MB/s; 95 % interval 20 % to 50 %) and 7 % less than the path alone" in said
    )
    wrong = "no client is faster than the server's storage alone: one of these figures is not what it is called [TAINTED]"
    assert said.endswith(wrong)


# ---------------------------------------------------------------------------------------------------- a real trial


@pytest.mark.root
@pytest.mark.slow
@needs_root
@needs_fuse
@needs("sshfs", "ssh", "ip")
def test_three_rates_of_one_trial_each_lower_than_what_it_stands_on(tmp_path):
    program = "".join(f'{name} = "{path}"' for name, path in sshd().items())
    (tmp_path / "layers.toml").write_text(FILE.format(program=program))
    bench = Bench(tmp_path)
    done = bench.run("run", "layers.toml", "--json", "--progress", "none", env=bench.environment(PATH=SBIN))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {run["run"]["outcome"] for run in found["runs"]} == {"finished"}
    (judged,) = found["runs"]
    sides = {phase["workload"]: phase["side"] for phase in judged["run"]["phases"]}
    assert sides == {"down": "path", "up": "path", "disk": "server", "through": "client"}
    each = {one["measure"]["operation"]: one for one in found["layers"]}
    assert set(each) == {"read", "write"}
    for one in each.values():
        assert {below["side"] for below in one["below"]} == {"path", "server"}
        assert all(below["share"] < 1.1 for below in one["below"]), one["statement"]
    nearest = each["read"]["below"][0]
    assert nearest["side"] == "path"
    assert 9e6 < nearest["value"] < 12e6, "94 % of 100 Mbit/s are payload"
    own = {one["rule"]: one for one in judged["verdicts"]["through.read.bytes_per_s"]["findings"]}
    assert "the path (down receive)" in own["L04"]["statement"]
    below = {one["rule"]: one for one in judged["verdicts"]["disk.read.bytes_per_s"]["findings"]}
    assert {below[rule]["state"] for rule in ("L05", "L13", "L17", "T02")} == {"n/a"}, "the server's side has no path before it"
    assert bench.traces() == []
