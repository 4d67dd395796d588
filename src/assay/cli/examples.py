"""Examples below the help of each verb, and its arguments without the names of Python's types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer
import typer.core

EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "quick": (
        ("assay quick", "this directory"),
        ("assay quick /srv /mnt/new", "two directories against each other"),
    ),
    "plan": (("assay plan spool.toml", "trials, duration, missing evidence; measures nothing"),),
    "run": (
        ("assay run spool.toml", "Ctrl-C undoes everything"),
        ("assay run spool.toml --resume", "complete an interrupted run"),
        ("assay run spool.toml --gate --json=spool.json", "for scripts: status 3 for a bad verdict"),
        ("assay run move.toml --sitting old", "the level that is set by hand now"),
    ),
    "load": (
        ("assay load bulk_io path=f size=1GiB operation=random_read record_size=4KiB direct=true duration=10s", ""),
        ("assay load net_stream duration=5s connections=4", ""),
        ("assay load bulk_io", "the keys of this workload"),
    ),
    "check": (
        ('assay check "1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"', ""),
        ('assay check "40 TB a week"', "the same rate in MB/s"),
        ('assay check "115 MB/s, 1 GbE" against "95 MB/s"', ""),
    ),
    "from-fio": (("assay from-fio disk.fio", "keep it: > disk.toml; then: assay plan disk.toml"),),
    "compare": (
        ("assay compare", "the newest experiment of the notebook"),
        ("assay compare lab-march lab-may", "two notebooks; the first is the baseline"),
    ),
    "report": (
        ("assay report --open", "the newest experiment, in the browser"),
        ("assay report --format md --out -", "Markdown on standard output"),
    ),
    "show": (("assay show 0007/1", "trial 7, first attempt"),),
    "list": (("assay list --runs", "every run with its figures and verdicts"),),
    "import": (("assay import fio.json elbencho.csv", ""),),
    "sql": (('assay sql "SELECT trial, measure, value, state FROM verdicts"', ""),),
    "export": (("assay export --format parquet", ""),),
    "serve": (("assay serve", "prints the address to open"),),
    "dsio": (
        ("assay dsio", "the directory server of this machine, until Ctrl-C"),
        ("assay dsio --json=dsio.json", "for `assay size`"),
    ),
    "size": (
        ("assay size experiments/chains/cheap_san.toml", ""),
        ("assay size san.toml --picture san.svg", ""),
    ),
    "predict": (("assay predict experiments/predictions/netware_to_linux.toml", ""),),
    "survey": (
        ("assay survey /srv", "all files by age and size"),
        ("assay survey /srv --older year --least '1 MiB' --list", "the paths of the large old files"),
    ),
    "ldif": (("assay ldif --entries 1000000 --seed 7 --out people.ldif", ""),),
    "dissect": (
        ("assay dissect ldap.pcap", ""),
        ("assay dissect -i eth0 --duration '30 s' --sla 'search p99 <= 50 ms'", "live (root)"),
    ),
    "explain": (("assay explain T01", ""),),
    "hosts": (("assay hosts experiments/thirty_clients.toml check", ""),),
}
"""Verb -> calls, each with a remark. A test reads each of them with the words that the verb has."""


def add_to(app: typer.Typer) -> None:
    """Give each verb its examples; arguments are named by their help, as `FILE`, without a type."""
    for command in app.registered_commands:
        name = command.name or (command.callback.__name__.rstrip("_") if command.callback else "")
        if name in EXAMPLES:
            command.epilog = text(EXAMPLES[name])
    setattr(typer.core.TyperArgument, "display_type_rich", lambda self, ctx: "")  # noqa: B010 - as the library calls it


def text(calls: Sequence[tuple[str, str]]) -> str:
    """Return the paragraph of examples, which the library prints with its line ends."""
    width = max((len(call) for call, remark in calls if remark), default=0)
    return "\n".join(("\b", "Examples:", *(f"  {call:{width}}  # {remark}" if remark else f"  {call}" for call, remark in calls)))
