"""What tests of whole runs over far machines share: an experiment over them, and a user who has their keys."""

import json

from stage.assay_process import Bench

TEXT = """
title = "Hosts"
question = "How fast?"
repeats = 1
observers = [{observers}]
[hosts]
{hosts}
[targets.here]
kind = "directory"
path = "{path}"
{target}
[workloads.w]
kind = "null"
think = "1 ms"
duration = "{seconds} s"
quiesce = "0 s"
[measures]
"w.null.ops_per_s" = {claim}
{more}
"""


class OnFleet(Bench):
    """A directory in which `assay` is called by a user whose home has the fleet's keys."""

    def __init__(self, folder, home):
        super().__init__(folder)
        self._home = home

    def environment(self, **more):
        given = super().environment(HOME=str(self._home), **more)
        given.pop("SSH_AUTH_SOCK", None)
        return given

    def write(self, hosts, *, seconds=0.5, target="", claim="{}", more="", place=None, observers='"cpu", "clock", "network"'):
        path = self.home / "t.toml"
        path.write_text(
            TEXT.format(
                hosts=hosts,
                path=place or self.home / "data",
                seconds=seconds,
                target=target,
                claim=claim,
                more=more,
                observers=observers,
            )
        )
        return path

    def runs(self):
        """The runs in its notebook."""
        return [json.loads(path.read_text()) for path in sorted(self.home.glob("lab/*/trials/*/*/run.json"))]


def line(machines, name="c", **more):
    """A line of [hosts]: a group of load hosts by ssh."""
    addresses = ", ".join(f'"{machine.address}"' for machine in machines)
    return f'{name} = {{ via = "ssh", addresses = [{addresses}], load = true }}'


OWN_LEDGER = """
for at in /run/assay /var/lib/assay; do
  mkdir -p "$at" "$0/ledger$at"
  chmod 700 "$at" "$0/ledger$at"
  mount --bind "$0/ledger$at" "$at"
done
exec "$@"
"""
"""Entries for far machines that are gone would stay in the ledger of this one."""


def own_ledger(folder):
    """What a command is called through so that its ledger is below a folder of the test's own."""
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c", OWN_LEDGER, str(folder))
