"""Places the load engine on a far host, under its SHA-256 in a private directory of the far user, and starts its agent there.

A shell looks for the engine, checks its digest and becomes the agent; a second one takes the file where there is none. What a
shell reads from its input ahead of a command is lost for it, so each waits with what follows until the shell has answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import secrets
import shlex
from pathlib import Path

from assay.catalogue import Host
from assay.errors import MissingError, RefusedError
from assay.frozen import dataclass
from assay.hosts.exec_door import ExecDoor
from assay.hosts.far_shell import quoted
from assay.hosts.ssh import LOOP, Door
from assay.hosts.ssh_channel import SshChannel

ANSWER_S = 60.0
"""How long a step may take on a far host: a login shell, a digest, the transfer of the file."""
ALL_S = 400.0
ARCHITECTURES = {62: ("x86_64", "amd64"), 183: ("aarch64", "arm64"), 243: ("riscv64",), 21: ("ppc64le",), 22: ("s390x",)}
"""`e_machine` of elf(5) -> what `uname -m` says of such a machine."""
ELF_MACHINE = slice(18, 20)

FUNCTIONS = r"""
LC_ALL=C; export LC_ALL; umask 077
say() { printf '%s %s\n' "$1" "$2"; }
digest() {
  set -- $(sha256sum <"$1" 2>/dev/null || sha256 -q <"$1" 2>/dev/null || openssl dgst -sha256 -r <"$1" 2>/dev/null)
  printf %s "$1"
}
private() {
  mkdir -p -- "$1" 2>/dev/null
  [ -d "$1" ] && [ ! -h "$1" ] || return 1
  chmod 700 -- "$1" 2>/dev/null
  set -- $(ls -ldn -- "$1") && [ "$3" = "$(id -u)" ] || return 1
  case $1 in drwx------*) return 0;; esac
  return 1
}
executes() {
  : >"$1/.try-$$" && chmod 700 "$1/.try-$$" && [ -x "$1/.try-$$" ]
  set -- "$1" $?; rm -f "$1/.try-$$"; return $2
}
engine() {
  for d in PLACES; do
    e=$d/assay-engine-$1
    [ -n "$d" ] && private "$d" || continue
    if [ -f "$e" ] && [ -x "$e" ]; then say path "$e"; say digest "$(digest "$e")"; return; fi
    executes "$d" && { say path "$e"; say none ''; return; }
  done
  say nowhere ''
}
runs() { for x in /proc/[0-9]*/exe; do [ "$x" -ef "$1" ] && return; done 2>/dev/null; return 1; }
spare() {
  [ / -ef / ] 2>/dev/null || return 0
  for d in PLACES; do
    [ -n "$d" ] && [ -d "$d" ] && private "$d" || continue
    for e in "$d"/assay-engine-*; do
      [ "$e" != "$d/assay-engine-$1" ] && [ -f "$e" ] && [ ! -h "$e" ] || continue
      [ "$(digest "$e")" = "${e##*/assay-engine-}" ] && ! runs "$e" || continue
      [ -z "$2" ] || rm -f -- "$e" && say old "$e"
    done
  done
}
""".replace("PLACES", '"${XDG_CACHE_HOME:+$XDG_CACHE_HOME/assay}" "${HOME:+$HOME/.cache/assay}" "/tmp/assay-$(id -u)"')
"""Only constant text: what differs from host to host is asked there and quoted here."""


@dataclass(frozen=True, kw_only=True)
class PlacedEngine:
    """Where the engine is on a far host, and whether it has come there just now."""

    path: str
    fresh: bool


def start_agent(door: Door | ExecDoor, engine: Path) -> tuple[SshChannel, PlacedEngine]:
    """Return the channel to the agent of a far host, whose first line is the agent's hello, and where the engine is.

    Raises RefusedError where the host is none for this engine or another file has its name, MissingError where there is no
    place for it or no connection.
    """
    return LOOP.wait(_Placing(door, engine).started(), ALL_S)


def place(door: Door | ExecDoor, engine: Path) -> PlacedEngine:
    """Place the engine and start nothing. Raises as `start_agent`."""

    async def placed() -> PlacedEngine:
        shell, found = await _Placing(door, engine).placed()
        await shell.closed()
        return found

    return LOOP.wait(placed(), ALL_S)


def old_engines(host: Host, engine: Path) -> tuple[str, ...]:
    """Return the engines of other laboratories in our private directories on a far host, which nobody runs there."""
    return _spare(host, engine, "")


def remove_old_engines(host: Host, engine: Path) -> tuple[str, ...]:
    """Remove them, and return which. The proof that a file is ours: its digest is its name, in a directory for us alone."""
    return _spare(host, engine, "remove")


def _spare(host: Host, engine: Path, act: str) -> tuple[str, ...]:
    digest = hashlib.sha256(engine.read_bytes()).hexdigest()
    done = host.run(["/bin/sh"], input_text=f"{FUNCTIONS}spare {digest} {quoted(act)}", check=False, timeout_s=ANSWER_S)
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    return tuple(path for word, _, path in lines if word == "old")


class _Placing:
    def __init__(self, door: Door | ExecDoor, engine: Path) -> None:
        if not engine.is_file():
            raise MissingError(f"the load engine {engine} is missing. Build it with `make build`.")
        self._door, self._content = door, engine.read_bytes()
        self._digest = hashlib.sha256(self._content).hexdigest()

    async def started(self) -> tuple[SshChannel, PlacedEngine]:
        shell, found = await self.placed()
        shell.send(f"exec {shlex.quote(found.path)} agent")
        line = await self._line(shell)
        with contextlib.suppress(ValueError, AttributeError):
            if json.loads(line or "").get("type") == "hello":
                shell.give_back(line or "")
                return shell, found
        raise self._refused(f"its agent did not start ({line or shell.complaint() or 'no output'})")

    async def placed(self) -> tuple[SshChannel, PlacedEngine]:
        """A shell on the host, and the engine there."""
        token = secrets.token_hex(8)
        shell = await self._door.opened(f"exec /bin/sh -s {token}")
        fits = "|".join(f'"Linux {kind}"' for kind in self._kinds())
        shell.send(f'{FUNCTIONS}u="$(uname -s) $(uname -m)"; say {token} "$u"; case $u in {fits}) engine {self._digest};; esac')
        self._check_system((await self._answer(shell, token))[1])
        path = await self._path(shell)
        word, digest = await self._answer(shell)
        if word == "none":
            await self._transfer(path)
            shell.send(f"engine {self._digest}")
            await self._path(shell)
            _, digest = await self._answer(shell)
        if digest != self._digest:
            raise self._refused(
                f"{path} has the SHA-256 {digest or 'of no known tool'}; expected {self._digest}."
                " Remove the file, then run assay hosts FILE install"
            )
        return shell, PlacedEngine(path=path, fresh=word == "none")

    async def _path(self, shell: SshChannel) -> str:
        word, path = await self._answer(shell)
        if word == "nowhere":
            raise MissingError(
                f"host {self._door.name}: no private directory for the engine where files may be executed"
                " ($XDG_CACHE_HOME, ~/.cache/assay, /tmp/assay-UID). Make one of mode 700, or set engine = false."
            )
        return path

    async def _transfer(self, path: str) -> None:
        """Send the file; it gets its name only after its digest was found right."""
        shell = await self._door.opened(f"exec /bin/sh -s {secrets.token_hex(8)}")
        name, new = shlex.quote(path), f"{shlex.quote(path)}.$$"
        right = f'[ "$(digest {new})" = {self._digest} ] && chmod 700 {new} && mv -f {new} {name}'
        shell.send(f"{FUNCTIONS}say ready ''; cat >{new}; {right} || rm -f {new}; say placed ''")
        await self._answer(shell, "ready")
        shell.write(self._content)
        shell.write_end()
        await self._answer(shell, "placed")
        await shell.closed()

    def _kinds(self) -> tuple[str, ...]:
        """The machines that the engine is for."""
        return ARCHITECTURES.get(int.from_bytes(self._content[ELF_MACHINE], "little"), ("?",))

    def _check_system(self, system: str) -> None:
        name, _, architecture = system.partition(" ")
        if name != "Linux" or architecture not in self._kinds():
            raise self._refused(
                f"it is {system}; the engine of this laboratory is for Linux {self._kinds()[0]}."
                f" Set engine = false, or install Assay for {system} and run it from there"
            )

    async def _answer(self, shell: SshChannel, word: str = "") -> tuple[str, str]:
        """The next answer; with a word, the next that begins with it: a login shell may print what it likes before."""
        while True:
            line = await self._line(shell)
            if line is None:
                raise self._refused(f"its shell ended ({shell.complaint() or 'no output'})")
            first, _, rest = line.partition(" ")
            if not word or first == word:
                return first, rest

    async def _line(self, shell: SshChannel) -> str | None:
        try:
            return await asyncio.wait_for(shell.line(), ANSWER_S)
        except TimeoutError:
            raise self._refused(f"no answer of its shell within {ANSWER_S:.0f} s") from None

    def _refused(self, reason: str) -> RefusedError:
        return RefusedError(f"host {self._door.name}: {reason}.")
