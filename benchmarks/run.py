"""Runs every benchmark of the lab itself and writes benchmarks/RESULTS.md with the machine and the method.

All figures are informational, none is a gate: machines differ and are noisy. Where CPU time or instructions can be counted, wall
times are not used.
"""

from __future__ import annotations

import datetime as dt
import importlib
import platform
from pathlib import Path

BENCHMARKS = (
    "own_cpu",
    "stat_cost",
    "observer_cost",
    "engine_cost",
    "against_fio",
    "open_loop",
    "engine_size",
    "large_notebook",
    "same_against_same",
)
RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    lines = ["# What the lab itself costs", "", machine(), ""]
    for name in BENCHMARKS:
        module = importlib.import_module(name)
        print(f"benchmark {name} ...", flush=True)
        lines += [f"## {name.replace('_', ' ')}", "", str(module.__doc__).strip(), "", "| what | figure |", "|---|---|"]
        lines += [f"| {what} | {figure} |" for what, figure in module.measure()]
        lines.append("")
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def machine() -> str:
    cpus = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = cpus[0].split(":", 1)[1].strip() if cpus else platform.machine()
    today = dt.date.today().isoformat()
    return f"{today}; {len(cpus)} x {model}; Linux {platform.release().partition('-')[0]}; Python {platform.python_version()}"


if __name__ == "__main__":
    main()
