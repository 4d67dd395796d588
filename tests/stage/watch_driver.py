"""Watches one command in a process of its own, writes what came of it as JSON, and ends as the command ended.

Called as `watch_driver.py RESULT [--quiet] [--budget] [--linger SECONDS] [--result FILE] [--programs NAME] -- COMMAND...`.
What others open on the same file systems costs the budget of hearing: without `--budget` it has no end.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

from assay.errors import MissingError, RefusedError
from assay.hosts.local import Local
from assay.watch import traces
from assay.watch.command import WatchRequest, watch


def main(words):
    result, *options = words[: words.index("--")]
    argv = tuple(words[words.index("--") + 1 :])
    given = {"quiet_ns": 20_000_000}
    if "--budget" not in options:
        traces.HEARING_NS = 10**12
    if "--quiet" in options:
        given["pass_through"] = False
    if "--linger" in options:
        given["linger_ns"] = round(float(options[options.index("--linger") + 1]) * 1e9)
    if "--programs" in options:
        given["programs"] = frozenset({options[options.index("--programs") + 1]})
    if "--result" in options:
        given["result_file"] = options[options.index("--result") + 1]
    try:
        watched = watch(Local(), WatchRequest(argv=argv, **given))
    except MissingError:
        return 127
    except RefusedError:
        return 126
    left = {"descriptors": sorted(path.name for path in Path("/proc/self/fd").iterdir()), "children": children()}
    Path(result).write_text(json.dumps({**dataclasses.asdict(watched), "left": left}, default=list))
    return watched.status if watched.signal is None else 128 + watched.signal


def children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
