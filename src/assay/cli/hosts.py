"""List the hosts of an experiment file, check them, place the engine there, or undo what killed labs left there."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from assay.catalogue import Host
from assay.cli import hosts_check
from assay.errors import AssayError, UsageError, refuse
from assay.experiment.read import read
from assay.frozen import dataclass
from assay.hosts.local import Local
from assay.hosts.several import at_once, each
from assay.laboratory import hosts, throughput
from assay.laboratory.session import by_reason, own_ledger
from assay.machine.engine_file import engine_path
from assay.plain import to_plain
from assay.records import Experiment, HostSpec
from assay.terminal.output import Row, deliver, table
from assay.toml_document import one_of
from assay.undo.entries import Cleaned
from assay.undo.ledger import Ledger
from assay.units import counted


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Where the engine is on a host; `error` says why it is not."""

    host: str
    path: str = ""
    fresh: bool = False
    """Whether it was not there before."""
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """What became of leftovers on a host; `error` says why the host could not be cleaned."""

    host: str
    cleaned: tuple[Cleaned, ...] = ()
    engines: tuple[str, ...] = ()
    """Engines of other versions that were removed."""
    error: str = ""


def verb(
    file: Path,
    action: StrEnum,
    json_to: str | None,
    out: Path | None = None,
    forget: tuple[str, ...] = (),
    *,
    pairs: bool = False,
) -> int:
    """Do it with all hosts of the file. Return 0, or 1 if it failed for one of them.

    `out` is the directory of certificates, `forget` are hosts whose leftovers are struck out where they cannot be undone; with
    `pairs` the throughput between all hosts is measured.
    """
    experiment = read(file)
    specs = experiment.hosts
    if forget and action.value != "clean":
        raise UsageError(f"found --forget with {action.value}; expected it with clean")
    if pairs and action.value != "check":
        raise UsageError(f"found --pairs with {action.value}; expected it with check")
    if action.value == "check":
        return check(experiment, json_to, pairs=pairs)
    if action.value == "certificates":
        return certificates(specs, json_to, out)
    actions: Mapping[str, Callable[[Sequence[HostSpec], str | None], int]] = {
        "list": list_hosts,
        "install": install,
        "clean": lambda specs, json_to: clean(specs, json_to, forget),
    }
    return actions[action.value](specs, json_to)


def certificates(specs: Sequence[HostSpec], json_to: str | None, out: Path | None) -> int:
    """Write certificates for the workers of a scheduler, the scheduler and the controller."""
    from assay.hosts.certificates import for_hosts

    if out is None:
        raise UsageError("found no --out; expected --out DIR, where the certificates are written")
    made = for_hosts(specs, out)
    until = dt.datetime.fromtimestamp(made.until_s).astimezone()

    def text() -> str:
        return (
            f"{out}: certificates of {', '.join(made.files)}, valid until {until:%Y-%m-%d %H:%M}. Nobody can issue more of them."
        )

    _deliver(json_to, "certificates", to_plain(made), text)
    return 0


def list_hosts(specs: Sequence[HostSpec], json_to: str | None) -> int:
    """Print the hosts of the file; nothing is connected."""

    def text() -> str:
        rows = [
            Row(
                cells=(
                    one.name,
                    one.via,
                    one.address or one.cluster or one.scheduler or shlex.join(hosts.command_of(one)),
                    one.control or "",
                    _use(one),
                )
            )
            for one in specs
        ]
        return table(("host", "via", "address", "control", "use"), rows)

    _deliver(json_to, "list", {"hosts": to_plain(specs)}, text)
    return 0


def _use(spec: HostSpec) -> str:
    return "load" if spec.load else "engine" if spec.engine else "evidence" if spec.via != "local" else "this machine"


def check(experiment: Experiment, json_to: str | None, *, pairs: bool) -> int:
    """Open every host, and print what it is, how well its clock is known, which evidence will be missing, and how fast it is.

    A pair that cannot be measured is a failure only where all pairs are asked for: a server may let nobody in at a free port.
    """
    with own_ledger() as ledger, hosts.attempted(experiment.hosts, ledger, engine_path()) as found:
        checked = hosts_check.checked(found)
        reached = {one.spec.name: one.host for one in found if one.host is not None}
        same = hosts.same_machines(reached)
        chosen = throughput.pairs(experiment, reached, every=pairs)
        rates = tuple(throughput.measured(experiment, reached, chosen, ledger))
    values = {"hosts": to_plain(checked), "one_machine": to_plain(same), "pairs": to_plain(rates)}
    _deliver(json_to, "check", values, lambda: hosts_check.text(checked, same, rates))
    errors = [one.error for one in checked] + [one.error for one in rates if pairs]
    return 1 if any(errors) else 0


def install(specs: Sequence[HostSpec], json_to: str | None) -> int:
    """Place the engine on every host that allows it."""
    from assay.hosts.placing import place

    engine = engine_path()
    hosts.check_addresses(specs)

    def one(spec: HostSpec) -> Installed:
        door = hosts.door_to(spec)
        try:
            placed = place(door, engine)
        except (AssayError, OSError) as error:
            return Installed(host=spec.name, error=str(error))
        finally:
            door.close()
        return Installed(host=spec.name, path=placed.path, fresh=placed.fresh)

    wanted = [spec for spec in specs if spec.via in hosts.DOORS and (spec.engine or spec.load)]
    placed = at_once(wanted, one)

    def text() -> str:
        lines = [f"{one.host}: {one.error or one.path}{' (new)' if one.fresh else ''}" for one in placed]
        return "\n".join(lines) or "No host by ssh takes the engine. Set load = true or engine = true in [hosts]."

    _deliver(json_to, "install", {"hosts": to_plain(placed)}, text)
    return 1 if any(one.error for one in placed) else 0


def clean(specs: Sequence[HostSpec], json_to: str | None, forget: Sequence[str] = ()) -> int:
    """Undo on every host what killed labs left there and is still provably theirs, and remove engines that nobody needs.

    What is left then of a host to forget is struck out, and named. Raises UsageError where there is no such far host.
    """
    with own_ledger() as ledger:
        _check_names(forget, specs, ledger)
        with hosts.attempted(specs, ledger, engine_path()) as found:
            reached = {one.spec.name: one.host for one in found if one.host is not None}
            undone = dict(zip(reached, ledger.clean_each(tuple(reached.values())), strict=True))
            by_ssh = {one.spec.name: one.host for one in found if one.spec.via in hosts.DOORS and one.host is not None}
            removed = each(by_ssh, _removed_engines)
            errors = {one.spec.name: one.error for one in found}
            outcome = [_leftovers(name, undone.get(name, error), removed.get(name, ())) for name, error in errors.items()]
            outcome += [Leftovers(host=name) for name in forget if name not in errors]
            outcome = [_forgotten(ledger, one, reached.get(one.host)) if one.host in forget else one for one in outcome]
    _deliver(json_to, "clean", {"hosts": to_plain(outcome)}, lambda: "\n".join(map(_leftover_text, outcome)))
    return 1 if any(one.error or any(cleaned.state == "left" for cleaned in one.cleaned) for one in outcome) else 0


def _check_names(forget: Sequence[str], specs: Sequence[HostSpec], ledger: Ledger) -> None:
    kept = dict.fromkeys(entry.host for orphan in ledger.elsewhere(Local()) for entry in orphan.entries)
    known = tuple(dict.fromkeys((*(spec.name for spec in specs if spec.via != "local"), *kept)))
    refuse([f"found --forget {name}; expected a far host: {one_of(known, name)}" for name in forget if name not in known])


def _removed_engines(host: Host) -> tuple[str, ...]:
    from assay.hosts.placing import remove_old_engines

    return remove_old_engines(host, engine_path())


def _leftovers(name: str, cleaned: tuple[Cleaned, ...] | Exception | None, engines: tuple[str, ...] | Exception) -> Leftovers:
    error = next((str(one) for one in (cleaned, engines) if isinstance(one, Exception)), "")
    return Leftovers(
        host=name,
        cleaned=cleaned if isinstance(cleaned, tuple) else (),
        engines=engines if isinstance(engines, tuple) else (),
        error=error,
    )


def _forgotten(ledger: Ledger, one: Leftovers, host: Host | None) -> Leftovers:
    """What is left of the host is struck out; an error stays where there was nothing to strike out."""
    reasons = {str(cleaned.entry): cleaned.reason for cleaned in one.cleaned if cleaned.state == "left"}
    struck = {str(entry): entry for entry in ledger.forget(one.host, host)}
    forgotten = (Cleaned(entry=entry, state="forgotten", reason=reasons.get(text, one.error)) for text, entry in struck.items())
    kept = (cleaned for cleaned in one.cleaned if cleaned.state != "left")
    return replace(one, cleaned=(*kept, *forgotten), error="" if struck else one.error)


def _leftover_text(found: Leftovers) -> str:
    engines = [f"  removed  {path}" for path in found.engines]
    if found.error:
        return "\n".join((f"{found.host}: {found.error}", *engines))
    count = counted(len(found.cleaned), "leftover") if found.cleaned else "no leftovers"
    lines = [f"{found.host}: {count}{'; what is forgotten stays on that machine' if _forgets(found) else ''}"]
    for state, reason, entries in by_reason(found.cleaned):
        lines += [f"  {state:10}{entry}" for entry in entries]
        lines += [f"  {'':10}{reason}"] if reason else []
    return "\n".join((*lines, *engines))


def _forgets(found: Leftovers) -> bool:
    return any(cleaned.state == "forgotten" for cleaned in found.cleaned)


def _deliver(json_to: str | None, action: str, values: Mapping[str, object], text: Callable[[], str]) -> None:
    deliver(json_to, "hosts", lambda: {"action": action, **values}, text)
