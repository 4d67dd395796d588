"""CPU time of servers as Assay tells it, against the kernel's own account, for twelve servers of four kinds and two loads.

A thread, a process for each connection, processes forked before, and one loop of events. Each server runs in a control group
of this benchmark (cpuacct, version 1). In a `shared` one a stranger sleeps beside it, so that Assay must add up processes; in
one of its `own` Assay takes the group's account. `short` is one connection after another, each for 64 KiB; `long` is three at
a time, each for 256 MiB; both go on for 2 to 4 s. A program apart reads `cpuacct.usage` every 5 ms. Both rises are taken
between the same two looks of Assay around the load. 0.97 to 1.03 times is wanted.

    python benchmarks/server_accounts.py [NAME...]
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.audit import judge
from assay.notebook import read
from assay.records import Run, Verdict

ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
GROUPS = Path("/sys/fs/cgroup/cpuacct")
LOOK_S = 0.005
SMALL, LARGE = 64 << 10, 256 << 20
PATH = f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
THREAD, PROCESS, FORKED, EVENTS = "thread a connection", "process a connection", "forked before", "loop of events"
PYTHON = """
import asyncio, http.server, os, socketserver, sys
kind, port, root = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.chdir(root)
class Handler(http.server.SimpleHTTPRequestHandler):
    log_message = lambda *words: None
class Threads(socketserver.ThreadingMixIn, socketserver.TCPServer): allow_reuse_address = daemon_threads = True
class Processes(socketserver.ForkingMixIn, socketserver.TCPServer): allow_reuse_address = True
class One(socketserver.TCPServer): allow_reuse_address = True
async def answer(reader, writer):
    name = (await reader.readuntil(b"\\r\\n\\r\\n")).split()[1].decode().strip("/").partition("?")[0]
    writer.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % os.stat(name).st_size)
    with open(name, "rb") as file:
        while part := file.read(1 << 16):
            writer.write(part)
            await writer.drain()
    writer.close()
async def events():
    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        await server.serve_forever()
if kind == "events":
    asyncio.run(events())
server = {"threads": Threads, "processes": Processes, "forked": One}[kind](("127.0.0.1", port), Handler)
if kind == "forked":
    for _ in range(3):
        if not os.fork():
            break
server.serve_forever()
"""
NODE = """
const http = require('http'), fs = require('fs'), cluster = require('cluster');
const [kind, port, root] = process.argv.slice(2);
if (kind === 'forked' && cluster.isPrimary) { for (let i = 0; i < 4; i++) cluster.fork(); }
else http.createServer((request, answer) => {
  const name = root + request.url.split('?')[0];
  answer.writeHead(200, {'Content-Length': fs.statSync(name).size, 'Connection': 'close'});
  fs.createReadStream(name).pipe(answer);
}).listen(port, '127.0.0.1');
"""
THREADS_C = """
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static const char *root;
static void *answer(void *given) {
  int link = (int)(long)given; char line[4096], path[8192], name[4096]; static __thread char part[65536]; struct stat about;
  ssize_t got = read(link, line, sizeof line - 1);
  if (got > 0 && (line[got] = 0, sscanf(line, "GET /%4000[^ ?]", name) == 1)) {
    snprintf(path, sizeof path, "%s/%s", root, name);
    int file = open(path, O_RDONLY);
    if (file >= 0 && !fstat(file, &about)) {
      dprintf(link, "HTTP/1.0 200 OK\\r\\nContent-Length: %lld\\r\\n\\r\\n", (long long)about.st_size);
      while ((got = read(file, part, sizeof part)) > 0) for (ssize_t at = 0, put; at < got; at += put)
        if ((put = write(link, part + at, got - at)) < 0) { got = -1; break; }
      close(file);
    }
  }
  close(link); return 0;
}
int main(int count, char **words) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int one = 1, door = socket(AF_INET, SOCK_STREAM, 0); root = words[2];
  setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(door, (void *)&at, sizeof at) || listen(door, 64)) return 1;
  for (;;) { pthread_t thread; pthread_create(&thread, 0, answer, (void *)(long)accept(door, 0, 0)); pthread_detach(thread); }
}
"""
APACHE = """
ServerRoot {instance}
ServerName localhost
PidFile {instance}/apache.pid
DefaultRuntimeDir {instance}
Listen 127.0.0.1:{port}
LoadModule mpm_{kind}_module /usr/lib/apache2/modules/mod_mpm_{kind}.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
User www-data
Group www-data
ErrorLog {instance}/errors
DocumentRoot {root}
"""
VSFTPD = """
background=NO
listen=YES
listen_address=127.0.0.1
listen_port={port}
anonymous_enable=YES
no_anon_password=YES
anon_root={root}
secure_chroot_dir={instance}/empty
connect_from_port_20=NO
seccomp_sandbox=NO
xferlog_enable=NO
"""
# name -> (kind, the program's words)
CASES: Mapping[str, tuple[str, str]] = {
    "threads of Python": (THREAD, "{python} {instance}/server.py threads {port} {root}"),
    "threads of C": (THREAD, "{instance}/threads {port} {root}"),
    "rclone serve http": (THREAD, "rclone serve http --config /dev/null --addr 127.0.0.1:{port} {root}"),
    "processes of Python": (PROCESS, "{python} {instance}/server.py processes {port} {root}"),
    "busybox httpd": (PROCESS, "busybox httpd -f -p 127.0.0.1:{port} -h {root}"),
    "vsftpd": (PROCESS, "vsftpd {instance}/vsftpd.conf"),
    "apache2 prefork": (FORKED, "apache2 -f {instance}/prefork.conf -DFOREGROUND"),
    "forked before of Python": (FORKED, "{python} {instance}/server.py forked {port} {root}"),
    "cluster of Node": (FORKED, "node {instance}/server.js forked {port} {root}"),
    "asyncio of Python": (EVENTS, "{python} {instance}/server.py events {port} {root}"),
    "Node": (EVENTS, "node {instance}/server.js events {port} {root}"),
    "apache2 event": (EVENTS, "apache2 -f {instance}/event.conf -DFOREGROUND"),
}
LOADS = {
    "short": "curl -sSf --no-keepalive -H 'Connection: close' '{url}/small{ask}[1-50]' -o /dev/null",
    "long": "curl -sSf -Z --parallel-max 3 '{url}/large{ask}[1-3]' -o /dev/null",
}
FTP_LOADS = {  # one file by many connections, as a name of its own is asked for
    "short": "for i in $(seq 10); do curl -sSf '{url}/small' -o /dev/null; done",
    "long": "for i in 1 2 3; do curl -sSf '{url}/large' -o /dev/null & done; wait",
}
EXPERIMENT = """
title = "CPU time of a server"
question = "How much CPU time does the server use?"
repeats = 1
[targets.t]
kind = "commands"
prepare = ["sh", "-c", '''
set -e
d={{scratch}}/{{name}}
mkdir -p $d
sh -c 'echo $$ > {group}/cgroup.procs; PATH={path}; exec setsid {run}' > {instance}/log 2>&1 < /dev/null &
echo $! > $d/pid
until curl -sf {url}/small -o /dev/null; do sleep 0.05; kill -0 $!; done
echo $d
''']
teardown = ["sh", "-c", '''
d={{scratch}}/{{name}}
if [ -s $d/pid ]; then kill $(cat $d/pid); fi
rm -rf $d
''']
server = {{ pid_file = "{{scratch}}/{{name}}/pid" }}
[workloads.w]
kind = "command"
quiesce = "0 s"
argv = ["sh", "-c", '''
end=$(($(date +%s) + 3))
while [ $(date +%s) -lt $end ]; do {load}; done
''']
operation = "fetch"
[measures]
"w.fetch.@local.server_cpu_share" = {{}}
"""


def measure(names: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(what, figure): each server under each load, in a group of its own and in a shared one."""
    with tempfile.TemporaryDirectory(prefix="assay-server-accounts-", dir="/var/tmp") as folder:
        place = Path(folder)
        place.chmod(0o755)
        written(place)
        for name, (kind, words) in CASES.items():
            if names and not any(word in name for word in names):
                continue
            if shutil.which(program := words.split()[0], path=PATH) is None and "{" not in program:
                yield name, f"not run: no {program}"
                continue
            for load in LOADS:
                told = [f"{where} {of(place, name, load, is_shared=where == 'shared')}" for where in ("own", "shared")]
                yield f"{kind}: {name}, {load}", "; ".join(told)


def written(place: Path) -> None:
    """Write what the servers serve, and the programs of our own."""
    (root := place / "root").mkdir()
    (place / "empty").mkdir()
    (root / "small").write_bytes(os.urandom(SMALL))
    with (root / "large").open("wb") as large:
        for _ in range(LARGE >> 20):
            large.write(os.urandom(1 << 20))
    (place / "server.py").write_text(PYTHON)
    (place / "server.js").write_text(NODE)
    (place / "threads.c").write_text(THREADS_C)
    subprocess.run(["gcc", "-O2", "-pthread", "-o", place / "threads", place / "threads.c"], check=True)


def of(place: Path, name: str, load: str, *, is_shared: bool) -> str:
    """Run one case; what Assay and the kernel say."""
    port, group = free_port(), GROUPS / f"assay-ruler-{os.getpid()}"
    values = {"instance": place, "root": place / "root", "port": port, "python": sys.executable}
    for kind in ("prefork", "event"):
        (place / f"{kind}.conf").write_text(APACHE.format(kind=kind, **values))
    (place / "vsftpd.conf").write_text(VSFTPD.format(**values))
    is_ftp = name == "vsftpd"
    url = f"{'ftp' if is_ftp else 'http'}://127.0.0.1:{port}"
    words = (FTP_LOADS if is_ftp else LOADS)[load].format(url=url, ask="?")
    text = EXPERIMENT.format(run=CASES[name][1].format(**values), group=group, path=PATH, url=url, load=words, **values)
    (place / "x.toml").write_text(text)
    shutil.rmtree(place / "lab", ignore_errors=True)
    group.mkdir()
    stranger = subprocess.Popen(["sleep", "infinity"])
    ruler = subprocess.Popen([sys.executable, __file__, "--ruler", str(group)], stdout=subprocess.PIPE, text=True)
    try:
        if is_shared:
            (group / "cgroup.procs").write_text(str(stranger.pid))
        done = subprocess.run(
            [*ASSAY, "run", "x.toml", "--lab", "lab", "--progress", "none"],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        ruler.send_signal(signal.SIGTERM)
        looks = [(int(at), int(used)) for at, used in (line.split() for line in ruler.communicate()[0].splitlines())]
        stranger.kill()
        stranger.wait()
        left(group)
    if done.returncode:
        return f"failed: {done.stderr or done.stdout}"
    return compared(place / "lab", looks)


def left(group: Path) -> None:
    """Remove a group as soon as its processes have ended; those that a server left are ended."""
    for _ in range(100):
        for pid in (group / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.05)
        try:
            return group.rmdir()
        except OSError:
            continue
    raise SystemExit(f"{group} still has processes")


def compared(lab: Path, looks: Sequence[tuple[int, int]]) -> str:
    """The last attempt's CPU time over the kernel's between the same two looks, with the verdict and its range."""
    (plan,) = lab.glob("*/plan.json")
    results, load = read.results(plan.parent, judge.ruleset()), read.load(plan.parent)
    judged = results.runs[-1]
    run: Run = judged.run
    (phase,) = run.phases
    (series,) = load(judged.id).over_time(phase.name, "server", "run_ns")
    t0 = run.hosts[0].t0_mono_ns
    first = max(place for place, at in enumerate(series.at_ns) if at <= phase.start_ns)
    last = min(place for place, at in enumerate(series.at_ns) if at >= phase.end_ns)
    told = series.value[last] - series.value[first]
    truth = at_time(looks, t0 + series.at_ns[last]) - at_time(looks, t0 + series.at_ns[first])
    (verdict,) = judged.verdicts.values()
    return f"{told / truth:.3f} times ({told / 1e6:.0f} of {truth / 1e6:.0f} ms), {words_of(verdict)}"


def words_of(verdict: Verdict) -> str:
    """The verdict with the range of what is true."""
    if verdict.value is None:
        return str(verdict.state)
    ends = [one for one in (verdict.bound.low, verdict.bound.high) if one is not None] if verdict.bound else []
    return f"{verdict.value:.1%} {verdict.state}" + (f" ({' to '.join(f'{one:.1%}' for one in ends)})" if ends else "")


def at_time(looks: Sequence[tuple[int, int]], at_ns: int) -> float:
    """The kernel's account at a time between two looks."""
    place = min(max(1, bisect_left(looks, (at_ns, 0))), len(looks) - 1)
    (before, had), (after, has) = looks[place - 1], looks[place]
    return had + (has - had) * (at_ns - before) / (after - before)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def rule(group: Path) -> None:
    """Print (time, account) until this is ended."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # a look that waits for a CPU is late
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    usage = os.open(group / "cpuacct.usage", os.O_RDONLY)
    while not ended:
        print(time.monotonic_ns(), os.pread(usage, 32, 0).decode().strip())
        time.sleep(LOOK_S)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ruler"]:
        rule(Path(sys.argv[2]))
        sys.exit()
    for what, figure in measure(sys.argv[1:]):
        print(f"| {what} | {figure} |", flush=True)
