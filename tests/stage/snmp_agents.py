"""A real agent of SNMP in a network namespace: Debian's snmpd, unpacked below .build, with a port whose true bytes are known."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from assay.hosts import snmp_agent as agent_module
from stage.assay_process import wait_until
from stage.far_machines import own_number

PARTS = Path(__file__).parents[2] / ".build" / "snmpd"
SNMPD = PARTS / "usr" / "sbin" / "snmpd"
LIBRARIES = (PARTS / "usr" / "lib" / "x86_64-linux-gnu", *(PARTS / "usr" / "lib").glob("*-linux-gnu"))
COMMUNITY = "a-community-of-the-tests"
USER = {"user": "assay", "auth": "sha256", "auth_password": "authentication of tests"}
PRIVATE = {**USER, "user": "private", "privacy": "aes128", "privacy_password": "privacy of the tests"}
CONFIGURATION = """
agentaddress udp:161
rocommunity {community}
createUser assay SHA-256 "{user[auth_password]}"
rouser assay auth
createUser private SHA-256 "{private[auth_password]}" AES "{private[privacy_password]}"
rouser private priv
"""
PORT = "port3"


class SnmpAgent:
    """An agent at `address`; `truth` is what the kernel counts on its port."""

    def __init__(self, number, directory):
        self.namespace, self.link = f"asysnmp{number}", f"asysnmp{number}"
        self.address = f"10.93.{number}.2"
        self._directory, self._number = directory, number
        self._process = None

    def start(self):
        self.stop()  # what a killed test left
        _ip("netns", "add", self.namespace)
        _ip("link", "add", self.link, "type", "veth", "peer", "name", PORT, "netns", self.namespace)
        _ip("addr", "add", f"10.93.{self._number}.1/24", "dev", self.link)
        _ip("link", "set", self.link, "up")
        for words in (
            ("addr", "add", f"{self.address}/24", "dev", PORT),
            ("link", "set", PORT, "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-n", self.namespace, *words)
        self.restart()

    def restart(self):
        """Begin the agent, or begin it anew: its uptime is 0 again."""
        self._end()
        configuration = self._directory / "snmpd.conf"
        configuration.write_text(CONFIGURATION.format(community=COMMUNITY, user=USER, private=PRIVATE))
        libraries = ":".join(map(str, LIBRARIES))
        env = {**os.environ, "LD_LIBRARY_PATH": libraries, "SNMP_PERSISTENT_DIR": str(self._directory), "MIBS": ""}
        argv = (SNMPD, "-f", "-Lf", self._directory / "log", "-C", "-c", configuration, "-p", self._directory / "pid")
        self._process = subprocess.Popen(("ip", "netns", "exec", self.namespace, *map(str, argv)), env=env)
        wait_until(lambda: ":00A1 " in self._inside("cat", "/proc/net/udp"))

    def truth(self, name=PORT):
        """Received and sent bytes of the port by the kernel."""
        lines = self._inside("cat", "/proc/net/dev").splitlines()
        row = next(line.partition(":")[2].split() for line in lines if line.strip().startswith(f"{name}:"))
        return int(row[0]), int(row[8])

    def _inside(self, *words):
        argv = ("ip", "netns", "exec", self.namespace, *words)
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def pause(self):
        """Let the agent stand still: it answers nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def stop(self):
        self._end()
        _ip("link", "del", self.link, check=False)
        _ip("netns", "del", self.namespace, check=False)

    def _end(self):
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def snmp_agent(directory):
    """Give an agent in a namespace of its own; skip the test, with the reason, where there can be none."""
    if os.geteuid():
        pytest.skip("an agent with a port of its own needs root: a namespace and a veth")
    if not SNMPD.exists():
        pytest.skip("no snmpd below .build: scripts/tools.sh unpacks Debian's snmpd there")
    if not shutil.which("ip"):
        pytest.skip("an agent with a port of its own needs ip")
    with own_number() as number, pytest.MonkeyPatch.context() as patch:
        patch.setattr(agent_module, "SECOND_S", 5.0)
        agent = SnmpAgent(number, directory)
        try:
            agent.start()
            yield agent
        finally:
            agent.stop()


def _ip(*words, check=True):
    done = subprocess.run(("ip", *words), capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
