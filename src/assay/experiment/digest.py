"""What an experiment is known by: SHA-256 of its canonical JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from assay import plain
from assay.records import Experiment, Precision


def digest(experiment: Experiment) -> str:
    """64 hexadecimal digits; title and question are part of it, its own `digest` field and the addresses of hosts are not.

    What was added later is left out where nothing is said, so that older experiments keep their folders.
    """
    values = plain.to_plain(replace(experiment, digest=""))
    assert isinstance(values, dict)
    if not experiment.implied:
        del values["implied"]
    for added in ("design", "resolution"):
        if values[added] is None:
            del values[added]
    if isinstance(experiment.repeats, Precision) and experiment.repeats.most is None:
        del values["repeats"]["most"]
    for measure in values["measures"]:
        if measure["summary"] is None:
            del measure["summary"]
    values["hosts"] = [host if host["name"] == "local" else {"name": host["name"]} for host in values["hosts"]]
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
