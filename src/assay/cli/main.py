"""The `assay` command: `stat` at once, every other verb through the library that reads the words of the call.

`stat` has a CPU budget, since it loads the machine that it measures: it is dispatched before that library is imported.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Callable

STAT = "stat"
GARBAGE = (50_000, 20, 100)
"""Thresholds of the collector: a verb makes next to no garbage, and Python's usual ones took a fifth of the CPU time of a
report on 2,000 trials."""
WITHOUT_NOTEBOOK = ("load", "selftest")


def main() -> None:
    """Run the verb of the call."""
    words = sys.argv[1:]
    open_streams()
    if words[:1] == [STAT]:
        run_stat(words[1:])
    gc.set_threshold(*GARBAGE)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    try:
        from assay.cli.options import INTERRUPTED, arranged, completed, prepare_only, usage_in_own_words
        from assay.cli.verbs import app
    except KeyboardInterrupt:
        print("assay: interrupted before it had begun", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    words = arranged(words)
    if words[:1] == [STAT]:
        run_stat(words[1:])
    usage_in_own_words()
    prepare_only(app, words[:1])
    end = called(app, completed(words))
    if end.code == INTERRUPTED:  # typer, too, ends so where the signal comes before a verb has begun
        kept = "" if words[:1] and words[0] in WITHOUT_NOTEBOOK else " Finished runs are in the notebook."
        print(f"assay: interrupted. All changes of the machine are undone.{kept}", file=sys.stderr)
    raise end


def called(app: Callable[[list[str]], object], words: list[str]) -> SystemExit:
    """Call a verb; return how it ends. Help and the version are printed by the library, which does not see to its output."""
    from assay.errors import AssayError
    from assay.terminal.output import say, standard_output

    end = SystemExit(0)
    try:
        with standard_output():
            try:
                app(words)
            except SystemExit as found:
                end = found
    except AssayError as error:
        say(f"assay: {error}", sys.stderr)
        return SystemExit(error.exit_status)
    return end


def open_streams() -> None:
    """Let closed streams go nowhere, and write as escapes what a locale without UTF-8 cannot: no letter costs an answer.

    Errors of standard output name it, whoever writes to it.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  for the whole life of the process
        elif stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")
    plain = sys.__stdout__
    if plain is not None and sys.stdout is plain:
        from assay.terminal.output import NamedOutput

        named = io.BufferedWriter(NamedOutput(plain.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(named, plain.encoding, plain.errors, line_buffering=plain.line_buffering)


def run_stat(words: list[str]) -> None:
    """Run `assay stat` and exit with its status."""
    gc.disable()  # nothing becomes garbage before the end: looking for it costs more than it gives
    from assay.cli.stat.verb import stat

    sys.exit(stat(words))
