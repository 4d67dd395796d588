"""Runs every benchmark of the lab itself, or those named, and writes benchmarks/RESULTS.md with the machine and the method.

    python benchmarks/run.py [NAME...]

All figures are informational, none is a gate: machines differ and are noisy. Where CPU time or instructions can be counted, wall
times are not used.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import platform
from pathlib import Path

BENCHMARKS = (
    "own_cpu",
    "stat_cost",
    "observer_cost",
    "dsio_cost",
    "engine_cost",
    "agent_cost",
    "against_fio",
    "against_others",
    "open_loop",
    "net_cost",
    "line",
    "window_sweep",
    "ldap_load",
    "directories",
    "dissect",
    "engine_size",
    "large_notebook",
    "many_clients",
    "hosts",
    "same_against_same",
    "plan_time",
    "time_left",
    "serve_cost",
    "put_ends",
    "server_accounts",
    "noise_matrix",
    "change_jobs",
)
RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    parser = argparse.ArgumentParser(description="benchmarks of the lab itself")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; the sections of others are kept")
    asked = parser.parse_args().names or BENCHMARKS
    kept = sections()
    for name in asked:
        print(f"benchmark {name} ...", flush=True)
        kept[title(name)] = section(name)
        order = [title(one) for one in BENCHMARKS if title(one) in kept]
        RESULTS.write_text("\n".join(["# What the lab itself costs", "", *(kept[one] for one in order)]), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def title(name: str) -> str:
    return name.replace("_", " ")


def section(name: str) -> str:
    """Run one benchmark: its text with the machine and the date."""
    module = importlib.import_module(name)
    lines = [f"## {title(name)}", "", machine(), "", str(module.__doc__).strip(), "", "| what | figure |", "|---|---|"]
    lines += [f"| {what} | {figure} |" for what, figure in module.measure()]
    return "\n".join([*lines, ""])


def sections() -> dict[str, str]:
    """Title -> text of the sections of the last results."""
    if not RESULTS.exists():
        return {}
    _, *texts = RESULTS.read_text(encoding="utf-8").split("\n## ")
    return {text.partition("\n")[0]: f"## {text.rstrip()}\n" for text in texts}


def machine() -> str:
    cpus = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = cpus[0].split(":", 1)[1].strip() if cpus else platform.machine()
    today = dt.date.today().isoformat()
    return f"{today}; {len(cpus)} x {model}; Linux {platform.release().partition('-')[0]}; Python {platform.python_version()}"


if __name__ == "__main__":
    main()
