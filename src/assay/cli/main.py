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
OUTPUT_NUMBER = 1
GARBAGE = (50_000, 20, 100)
"""Thresholds of the collector: a verb makes next to no garbage, and Python's usual ones took a fifth of the CPU time of a
report on 2,000 trials."""
GO_ON = "Go on with --resume; `assay compare` shows what there is."
"""After an interrupted run: its blocks so far have an answer, too."""
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
        further = f" {GO_ON}" if words[:1] == ["run"] and "--sitting" not in words else ""
        print(f"assay: interrupted. All changes of the machine are undone.{kept}{further}", file=sys.stderr)
    raise end


def called(app: Callable[..., object], words: list[str]) -> SystemExit:
    """Call a verb with the user's defaults; return how it ends.

    Help and the version are printed by the library, which does not see to its output.
    """
    from assay.cli.preferences import applied
    from assay.cli.small import LIBRARIES, refusal
    from assay.errors import AssayError
    from assay.terminal.output import say, standard_output

    end = SystemExit(0)
    try:
        with standard_output():
            usual = applied().options
            try:
                app(words, default_map=dict.fromkeys(words[:1], usual))
            except SystemExit as found:
                end = found
    except AssayError as error:
        say(f"assay: {error}", sys.stderr)
        return SystemExit(error.exit_status)
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        say(f"assay: {refusal((error.name,))}", sys.stderr)
        return SystemExit(AssayError.exit_status)
    return end


def open_streams() -> None:
    """Let standard error never cost an answer, and let errors of standard output name it, whoever writes to it.

    What a locale without UTF-8 cannot write is written as escapes; a closed standard error goes nowhere.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  for the whole life of the process
    plain = sys.__stdout__
    if plain is None:
        refuse_output()
        sys.stdout = named_output("utf-8", "strict", buffered_by_line=False)
    elif sys.stdout is plain:
        sys.stdout = named_output(plain.encoding, plain.errors, buffered_by_line=plain.line_buffering)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")


def refuse_output() -> None:
    """Take the number of a closed standard output, so that no file gets it; every write there fails, as it would have."""
    taken = os.open(os.devnull, os.O_RDONLY)
    os.dup2(taken, OUTPUT_NUMBER)
    os.set_inheritable(OUTPUT_NUMBER, True)
    if taken != OUTPUT_NUMBER:
        os.close(taken)


def named_output(encoding: str, errors: str | None, *, buffered_by_line: bool) -> io.TextIOWrapper:
    """Return a standard output whose errors name it."""
    from assay.terminal.output import NamedOutput

    raw = io.FileIO(OUTPUT_NUMBER, "w", closefd=False)
    return NamedOutput(io.BufferedWriter(raw), encoding, errors, line_buffering=buffered_by_line)


def run_stat(words: list[str]) -> None:
    """Run `assay stat` and exit with its status."""
    gc.disable()  # nothing becomes garbage before the end: looking for it costs more than it gives
    from assay.cli.stat.verb import stat

    sys.exit(stat(words))
