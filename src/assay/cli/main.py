"""The `assay` command: `stat` at once, every other verb through the library that reads the words of the call.

`stat` has a budget: it loads the machine that it measures. So it is dispatched before that library is imported.
"""

from __future__ import annotations

import gc
import signal
import sys

STAT = "stat"
GARBAGE = (50_000, 20, 100)
"""Thresholds of the collector: all but nothing that a verb makes is garbage, and looking for it at Python's usual ones took a
fifth of the time of a report on 2,000 trials."""


def main() -> None:
    """Do what the words say; `--gate` alone means `--gate=on`."""
    if sys.argv[1:2] == [STAT]:
        gc.disable()  # nothing that is made is thrown away before the end: looking for it costs more than it gives
        from assay.cli.stat.verb import stat

        sys.exit(stat(sys.argv[2:]))
    gc.set_threshold(*GARBAGE)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    try:
        from assay.cli.verbs import INTERRUPTED, app
    except KeyboardInterrupt:
        print("assay: interrupted before it had begun", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    try:
        app(["--gate=on" if word == "--gate" else word for word in sys.argv[1:]])
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer, too, ends so where the signal comes before a verb has begun
            kept = "" if sys.argv[1:2] in (["load"], ["selftest"]) else ", what was measured is kept"  # these have no notebook
            print(f"assay: interrupted; what was set up has been undone{kept}", file=sys.stderr)
        raise
