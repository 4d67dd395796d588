"""Both ends of a workload over the network on two far machines: the server on the target's host, the load on the other."""

import json

import pytest

from stage.assay_process import Bench

TEXT = """
title = "Two machines"
question = "How fast is the bridge?"
repeats = 1

[hosts]
s = {{ via = "ssh", address = "{server}", engine = true }}
c = {{ via = "ssh", address = "{load}", load = true }}

[targets.wire]
kind = "socket"
host = "s"
address = "{server}"

[workloads.n]
kind = "net_stream"
message = "64 KiB"
ops = 200
quiesce = "0 s"

[measures]
"n.send.bytes_per_s" = {{}}
"n.send.delivered_share" = {{}}
"n.send.server_cpu_ns_per_gb" = {{}}
"""


@pytest.mark.root
@pytest.mark.slow
def test_the_server_runs_on_the_targets_host(far, tmp_path):
    fleet = far(2)
    bench = Bench(fleet.home)
    (fleet.home / "two.toml").write_text(TEXT.format(server=fleet[0].address, load=fleet[1].address))
    done = bench.run("run", "two.toml", "--lab", str(tmp_path / "lab"), "--json", "--progress", "none")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "lab").glob("*/trials/*")
    (run,) = [json.loads(path.read_text()) for path in folder.rglob("run.json")]
    (phase,) = run["phases"]
    assert [(one["host"], one["role"]) for one in phase["clients"]] == [("c", "load")]
    assert [(one["host"], one["role"]) for one in phase["servers"]] == [("s", "server")]
    (connection,) = phase["clients"][0]["net"]["connections"]
    assert connection["peer"] == phase["servers"][0]["net"]["address"]
    assert connection["peer"].startswith(f"{fleet[0].address}:")
    assert connection["local"].startswith(f"{fleet[1].address}:")
    assert phase["servers"][0]["operations"][0]["bytes"] == 200 * 65536
    assert not bench.processes()
