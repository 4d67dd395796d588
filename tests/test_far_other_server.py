"""A load of a far host that talks to another server than the named one, on a third machine. Real machines, real connections.

The load is small: in its seconds the lab's own connections move as much over the interface of the named server.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stage.far_machines import far  # noqa: F401 - a fixture

pytestmark = [pytest.mark.root, pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no /usr/bin/python3")]
PYTHON = "/usr/bin/python3"
"""That of the system: a far machine has another /root, in which the tests' own may be."""
ASSAY = Path(sys.executable).parent / "assay"
TEXT = """
title = "Who answered"
question = "How fast?"
repeats = 1
[hosts]
named = {{ via = "ssh", address = "{named}", engine = true }}
client = {{ via = "ssh", address = "{client}", load = true }}
[targets.web]
kind = "commands"
host = "named"
prepare = ["sh", "-c", "mkdir -p {{scratch}}/{{name}} && echo {{scratch}}/{{name}}"]
attach = ["sh", "-c", "mkdir -p {{scratch}}/own && echo {{scratch}}/own"]
teardown = ["rm", "-rf", "{{scratch}}/{{name}}"]
server = {{ pid_file = "{pid_file}", address = "{named}" }}
[workloads.w]
kind = "command"
quiesce = "0 s"
argv = ["bash", "-c", '''
for at in 1 2 3 4 5; do exec 3<> /dev/tcp/{answers}/8080; head -c 60000 <&3 > /dev/null; exec 3>&-; sleep 0.3; done
echo 300000
''']
parse = "regex"
pattern = '(\\d+)'
unit = "B"
direction = "read"
[measures]
"w.read.bytes" = {{}}
"""


NAT = """
table ip elsewhere {{
 chain o {{
  type nat hook output priority -100
  ip daddr {named} tcp dport 8080 dnat to {other}
 }}
}}
"""


@pytest.mark.parametrize(
    ("answers", "translated", "state"),
    [(0, False, "pass"), (2, False, "fail"), (0, True, "fail")],
    ids=["the named server", "a third machine", "a third machine by NAT"],
)
def test_who_answered(far, tmp_path, answers, translated, state):  # noqa: F811
    if translated and not shutil.which("nft"):
        pytest.skip("needs nft")
    fleet = far(3)
    if translated:
        rules = NAT.format(named=fleet[0].address, other=fleet[2].address)
        fleet[1].run("nft", "-f", "-", input=rules)
    script = tmp_path / "serve.py"
    script.write_text(
        "import os, socket, sys, time\n"
        "server = socket.create_server((sys.argv[1], 8080))\n"
        "open(sys.argv[2], 'w').write(str(os.getpid()))\n"
        "while True:\n"
        "    link, _ = server.accept()\n"
        "    time.sleep(0.6)\n"
        "    link.sendall(bytes(60000))\n"
        "    link.close()\n"
    )
    pids = [tmp_path / f"pid{number}" for number in (0, 2)]
    with (
        fleet[0].start(PYTHON, script, fleet[0].address, pids[0]) as first,
        fleet[2].start(PYTHON, script, fleet[2].address, pids[1]) as other,
    ):
        try:
            while not all(path.exists() and path.read_text() for path in pids):
                assert first.poll() is None, "the named server runs"
            (tmp_path / "x.toml").write_text(
                TEXT.format(named=fleet[0].address, client=fleet[1].address, answers=fleet[answers].address, pid_file=pids[0])
            )
            environment = {**os.environ, "HOME": str(fleet.home)}
            done = subprocess.run(
                [ASSAY, "run", "x.toml", "--lab", "lab", "--json"],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            first.kill()
            other.kill()
    assert done.returncode in (0, 4), done.stderr
    found = [one for one in findings(json.loads(done.stdout)) if one.get("rule") == "E13"]
    assert [one["state"] for one in found] == [state], found


def findings(told):
    """Every finding in an answer."""
    if isinstance(told, dict):
        if "rule" in told and "state" in told:
            yield told
        for one in told.values():
            yield from findings(one)
    elif isinstance(told, list):
        for one in told:
            yield from findings(one)
