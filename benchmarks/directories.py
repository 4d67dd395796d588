"""Directory servers of our own: from nothing to the first answer, imports with and without a cache and a flush, and `assay ldif`.

The first answer is that of a search of a command, in an experiment with 10,000 people: from the start of `assay run` to the end
of ldapsearch, the wait for quiet left out. 389-ds imports with bdb and two sizes of its entry cache, each trial with a fresh
server; sizes are those that the server counts. The share of an import that is still dirty is that of rule D01.
`assay ldif` writes 10,000,000 persons: CPU time of the whole process, user and system, and its largest resident set.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from stage.directory_stage import IMPORT

ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
ENTRIES, TIMES = 10_000_000, 3
SERVERS = {"ldap_openldap": "slapd", "ldap_389ds": "ns-slapd"}
PATHS = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
SEARCH = "ldapsearch -LLL -x -H {url} -D '{bind_dn}' -y {password_file} -b {base}"
CACHES = """
title = "The entry cache and the import of 389-ds"
question = "How much faster is an import with an entry cache of 64 MiB than with one of 512 KiB?"
repeats = 3
seed = 389
[targets.directory]
kind = "ldap_389ds"
entries = 20000
state = "stopped"
backend = "bdb"
[workloads.load]
kind = "ldap_import"
flush = "inside"
[factors]
"directory.server.cache" = ["512 KiB", "64 MiB"]
[measures]
"load.import.ops_per_s" = { claim = { durability = "stable-media" } }
"""
FIRST = """
title = "First"
question = "When does it answer?"
repeats = 1
observers = ["process_io"]
[targets.people]
kind = "{kind}"
entries = 10000
[workloads.peer]
kind = "command"
quiesce = "0 s"
argv = ["sh", "-c", "{search} '(uid=u00009999)' && date +%s.%N >>{out}"]
"""


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    for kind, tool in SERVERS.items():
        if shutil.which(tool, path=PATHS):
            seconds = sorted(first_answer(kind) for _ in range(TIMES))
            figure = f"{statistics.median(seconds):.2f} s ({seconds[0]:.2f} to {seconds[-1]:.2f})"
            yield f"from nothing to the first answer of {kind}, 10,000 people, {TIMES} times", figure
    if shutil.which("ns-slapd", path=PATHS):
        yield from caches()
    if shutil.which("slapd", path=PATHS):
        for flush in ("none", "inside"):
            yield f"slapadd -q of 100,000 entries, flush = {flush}", imported(flush)
    for out in ("/dev/null", "a file"):
        yield f"assay ldif, {ENTRIES:,} entries, to {out}", population(out)


def ran(text: str, *words: str) -> tuple[dict[str, Any], Path]:
    """The answer of an experiment in a directory of its own, and that directory."""
    home = Path(tempfile.mkdtemp(prefix="bench-"))
    (home / "e.toml").write_text(text)
    done = subprocess.run([*ASSAY, "run", "e.toml", "--json", *words], cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), home


def first_answer(kind: str) -> float:
    with tempfile.NamedTemporaryFile(prefix="bench-", mode="r") as out:
        since = time.time()
        _, home = ran(FIRST.format(kind=kind, search=SEARCH, out=out.name))
        shutil.rmtree(home)
        return float(out.read()) - since


def caches() -> Iterator[tuple[str, str]]:
    """Seconds of imports with a small and a large entry cache, by the size that the server counts."""
    _, home = ran(CACHES)
    times: dict[int, list[float]] = {}
    for path in home.glob("lab/*/trials/*/attempt-*/run.json"):
        run = json.loads(path.read_text())
        facts = json.loads(path.with_name("facts.json").read_text())["facts"]
        size = next(fact["value"] for fact in facts if fact["key"] == "target.setting.server.cache")
        times.setdefault(int(size), []).append(run["phases"][0]["values"]["import.elapsed_ns"] / 1e9)
    shutil.rmtree(home)
    for size, seconds in sorted(times.items()):
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        yield (
            f"ldif2db of 20,000 entries with bdb, entry cache of {size:,} bytes",
            f"{statistics.median(seconds):.2f} s ({spread})",
        )
    small, large = (statistics.median(times[size]) for size in sorted(times))
    yield "the same, ratio of the two", f"{small / large:.1f}"


def imported(flush: str) -> str:
    answer, home = ran(IMPORT.format(kind="ldap_openldap", entries=100_000, flush=flush), "--progress", "json")
    shutil.rmtree(home)
    (run,) = answer["runs"]
    verdict = run["verdicts"]["load.import.ops_per_s"]
    (dirty,) = [one for one in verdict["findings"] if one["rule"] == "D01"]
    return f"{verdict['state']}; {dirty['observed']['dirty_share'] * 100:.1f} % dirty when the clock stopped"


def population(out: str) -> str:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = out if out.startswith("/") else f"{folder}/people.ldif"
        words = ("ldif", "--entries", str(ENTRIES), "--seed", "7", "--out", path)
        process = subprocess.Popen([*ASSAY, *words], stderr=subprocess.PIPE, text=True)
        assert process.stderr
        written = json.loads(process.stderr.read())
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    per_gb = (used.ru_utime + used.ru_stime) / (written["bytes"] / 1e9)
    return f"{per_gb:.2f} CPU-s a GB; {written['bytes'] / 1e9:.2f} GB; {used.ru_maxrss / 1000:.0f} MB of memory"
