"""An engine for tests that speaks the protocol in a few lines and misbehaves as its argument says.

well · debug (build) · mute (no hello) · garbage (instead of armed) · refuses (to be armed) · dies (while running)
· stays (after the end of its input) · full (no space left) · half (client 1 dies while running) · slow (runs for a second)
· older (its result lacks a field) · strict (knows no field of its settings)
"""

import json
import os
import sys
import time

MODE = sys.argv[1]


def say(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(config, start, end, stopped_by="work", errors=()):
    operation = {"count": 10, "bytes": 10240, "errors": 0, "busy_ns": end - start, "first_ns": start, "last_ns": end}
    operation |= {"min_ns": 1, "max_ns": 9, "sampled_count": 1, "sampled_ns": 5}
    if MODE == "older":
        del operation["sampled_ns"]
    operation["histogram"] = {"upper_ns": [5, 9], "count": [4, 6]}
    operation["checkpoints"] = {"at_ns": [start, end], "count": [0, 10], "bytes": [0, 10240], "busy_ns": [0, end - start]}
    name = config["settings"].get("name") or config["settings"].get("operation")
    say(
        type="result",
        phase=config["phase"],
        client=config["client"],
        pid=os.getpid(),
        workers=1,
        armed_ns=start - 1000,
        started_ns=start,
        first_ns=start,
        last_ns=end,
        stopped_by=stopped_by,
        operations={name: operation},
        errors=list(errors),
        cost={"cpu_user_ns": 1, "cpu_system_ns": 2},
        io=None,
        clock={"source": "clock_gettime", "error_ppm": 0},
        command=None,
    )


def run(config, at_ns):
    time.sleep(max(0, at_ns - time.monotonic_ns()) / 1e9)
    if MODE == "dies" or (MODE == "half" and config["client"] == 1):
        os._exit(3)
    if MODE == "slow":
        time.sleep(1.0)
    if MODE == "full":
        error = {"operation": "write", "errno": 28, "count": 1, "path": "/x"}
        result(config, at_ns, time.monotonic_ns(), "error", [error])
    else:
        result(config, at_ns, time.monotonic_ns())


def arm(config):
    if MODE == "garbage":
        sys.stdout.write("Segmentation fault\n")
        sys.stdout.flush()
    elif MODE == "refuses":
        say(type="error", phase=config["phase"], what="open", path="/x", errno=13, message="Permission denied")
    elif MODE == "strict":
        say(type="error", phase=config["phase"], what="settings", message="unknown field `more`, expected `path`")
    else:
        say(type="armed", phase=config["phase"], mono_ns=time.monotonic_ns(), address=None)


def main():
    if MODE != "mute":
        say(type="hello", version="0", pid=os.getpid(), engines=["bulk"], build="debug" if MODE == "debug" else "release")
    config = {}
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "config":
            config = message
            arm(config)
        elif message["type"] == "clock":
            say(type="clock", mono_ns=time.monotonic_ns())
        elif message["type"] == "go":
            say(type="told", phase=config["phase"], at_ns=message["at_ns"], mono_ns=time.monotonic_ns())
            run(config, message["at_ns"])
    if MODE == "stays":
        time.sleep(600)


main()
