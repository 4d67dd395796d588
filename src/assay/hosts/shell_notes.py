"""What must be undone on a host without the engine: held by its shell, and written down there where a directory is writable.

The shell runs the ways back when its input ends, and kills what the lab started there. A sleeper beside it does both where the
lease runs out: the sleeper is a copy of the shell, so each change of what is to be undone starts a new one. Its start is over
only when it has closed its output, which it does when it can be ended: a signal before that would be lost. The file of notes is
that of the engine's agent (docs/engine-protocol.md), locked as long as the shell lives.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping

from assay.catalogue import Note
from assay.hosts.far_shell import ANSWER_S, FarShell, quoted
from assay.hosts.local import BOOT_ID, HOST_KEY, HOST_KEYS, NAMES_OF_A_MACHINE, machine_told

LEASE_S = 30
RENEW_S = 10.0

FUNCTIONS = r"""
A_K=; A_N=; A_T=; A_F=; A_W=
assay_directory() {
  u=$(id -u); d=/tmp/assay-$u
  if [ "$u" = 0 ] && [ -w /run ]; then d=/run/assay
  elif [ -n "${XDG_RUNTIME_DIR-}" ] && [ -w "$XDG_RUNTIME_DIR" ]; then d=$XDG_RUNTIME_DIR/assay; fi
  (umask 077; mkdir "$d") 2>/dev/null
  [ -d "$d" ] && [ ! -h "$d" ] && [ -r "$d" ] || return 1
  set -- $(ls -ldn "$d") && [ "$3" = "$u" ] || return 1
  case $1 in d????-??-*) printf %s "$d"; return 0;; esac
  return 1
}
assay_open() {
  command -v flock >/dev/null && d=$(assay_directory) || return 1
  exec 8<"$d"; flock 8; f=$d/$$-$1.notes
  if (umask 077; set -C; : >"$f") 2>/dev/null; then
    exec 9>>"$f"; flock -n 9; A_F=$f; assay_keep "$2"
  fi
  exec 8<&-
}
assay_keep() { [ -z "$A_F" ] || { printf '%s\n' "$1" >&9 && sync -f "$A_F"; } 2>/dev/null; }
assay_without() { n=$1; shift; for m; do [ "$m" = "$n" ] || printf '%s ' "$m"; done; }
assay_strike() {
  A_N=$(assay_without "$1" $A_N); A_T=$(assay_without "$1" $A_T); unset "A_B_$1"
  assay_keep "{\"struck\":$1}"
}
assay_ours() {
  case $(tr '\0' ' ' </proc/$1/cmdline 2>/dev/null || ps -o args= -p "$1" 2>/dev/null) in *"$A_TOKEN"*) return 0;; esac
  return 1
}
assay_kill() { ! assay_ours "$1" || kill -s KILL -- "-$1"; }
assay_members() {
  g=$1
  if [ -r /proc/self/stat ]; then
    for f in /proc/[0-9]*/stat; do
      { read -r s <"$f"; } 2>/dev/null || continue
      p=${s%% *}; set -- ${s##*) }
      [ "$3" != "$g" ] || [ "$p" = "$g" ] || printf '%s ' "$p"
    done
  else
    ps -A -o pid= -o pgid= | while read -r p q; do [ "$q" != "$g" ] || [ "$p" = "$g" ] || printf '%s ' "$p"; done
  fi
}
assay_end() {
  trap '' HUP INT TERM PIPE; trap - EXIT
  assay_unwatch
  for p in $A_K; do assay_kill "$p"; done 2>/dev/null
  for round in 1 2 3; do
    for n in $A_T $A_N; do
      eval "b=\$A_B_$n"
      if /bin/sh -c "$b" </dev/null >/dev/null 2>&1; then assay_strike "$n"; fi
    done
    [ -n "$A_T$A_N" ] || break
    [ "$round" = 3 ] || sleep 1
  done
  [ -z "$A_F" ] || [ -n "$A_T$A_N" ] || rm -f "$A_F"
}
assay_unwatch() { [ -z "$A_W" ] || kill -s TERM "$A_W" 2>/dev/null; A_W=; }
assay_watch() {
  assay_unwatch
  A_W=$(
    (
      trap - EXIT HUP TERM PIPE
      exec 2>/dev/null </dev/null
      sleep "$1" >/dev/null &
      echo $!
      exec >/dev/null
      wait $! || exit 0
      trap '' HUP INT TERM PIPE
      kill -s KILL $$; assay_end
    ) &
  )
}
assay_left() {
  command -v flock >/dev/null && d=$(assay_directory) || return 0
  exec 8<"$d"; flock 8
  for f in "$d"/*.notes; do
    [ -f "$f" ] && (exec 7>>"$f"; flock -n 7) || continue
    printf '%s\n' "${f##*/}"; cat "$f"; printf '\n\n'
  done
  exec 8<&-
}
assay_strike_in() {
  d=$(assay_directory) && f=$d/$1 && [ -f "$f" ] || return 0
  exec 8<"$d"; flock 8
  if (exec 7>>"$f"; flock -n 7); then
    printf '\n{"struck":%s}\n' "$2" >>"$f"; sync -f "$f" 2>/dev/null
    [ -z "$3" ] || rm -f "$f"
  fi
  exec 8<&-
}
trap assay_end EXIT; trap 'exit 129' HUP; trap 'exit 143' TERM; trap 'exit 141' PIPE
"""


class ShellNotes:
    """Notes and the lease of one host, kept by its first shell; `lost` is called where that does not answer any more."""

    def __init__(self, shell: FarShell, lost: Callable[[], None]) -> None:
        self._shell, self._lost = shell, lost
        self._over = threading.Event()
        self._mutex = threading.Lock()
        self._renewing: threading.Thread | None = None
        self._owner: str | None = None
        self._file = ""

    def note(self, n: int, kind: str, details: Mapping[str, str], back: str) -> str:
        """Have the shell keep one thing to undo; return the name of the file of notes, empty without one. Raises OSError."""
        note = {"n": n, "kind": kind, "details": dict(details), "back": back}
        kept = "A_T" if kind == "throttle" else "A_N"
        self._open()
        self._changed(f'A_B_{n:d}={quoted(back)}; {kept}="{n:d} ${kept}"; assay_keep {quoted(json.dumps(note))}')
        return self._file

    def strike(self, n: int) -> None:
        """Have it forget what was undone. Raises OSError."""
        self._changed(f"assay_strike {n:d}")

    def strike_in(self, file: str, n: int) -> None:
        """Strike out a note of an owner that is gone, and remove its file with the last one. Raises OSError."""
        others = [note for note in self.left() if note.file == file and note.n != n]
        self._shell.ask(f"assay_strike_in {quoted(file)} {n:d} {'' if others else 'last'}")

    def left(self) -> tuple[Note, ...]:
        """Return what owners that are gone left there. Raises OSError."""
        text = self._shell.ask("assay_left").text
        return tuple(note for part in text.split("\n\n\n") if part.strip() for note in _notes(part.strip("\n")))

    def keep_group(self, pid: int) -> None:
        """Let the shell kill a process group with itself, if its leader is then still a shell of ours. Raises OSError."""
        self._changed(f'A_K="$A_K {pid:d}"')

    def drop_group(self, pid: int) -> None:
        """Let it forget a group. Raises OSError."""
        self._shell.ask(f"A_K=$(assay_without {pid:d} $A_K)")

    def kill_group(self, pid: int) -> None:
        """Kill a group, and forget it. Raises OSError."""
        self._shell.ask(f"assay_kill {pid:d} 2>/dev/null; A_K=$(assay_without {pid:d} $A_K)")

    def kill_inside(self, pid: int) -> None:
        """Kill the members of a group other than its leader. Raises OSError."""
        self._shell.ask(f'! assay_ours {pid:d} || {{ p=$(assay_members {pid:d}); [ -z "$p" ] || kill -s KILL $p; }} 2>/dev/null')

    def close(self) -> None:
        """Renew the lease no more."""
        self._over.set()

    def _open(self) -> None:
        """Make the file of notes before the first of them; where there is no place for it, the shell alone knows them."""
        with self._mutex:
            if self._owner is not None:
                return
            paths = (*NAMES_OF_A_MACHINE, *HOST_KEYS)
            text = self._shell.ask(
                f"for f in {' '.join(paths)}; do m=$(head -n 1 $f 2>/dev/null); printf '%s\\n' \"$m\"; done;"
                f" cat {BOOT_ID} /proc/$$/stat 2>/dev/null"
            ).text
            *told, boot, stat = (*text.split("\n"), *("",) * (len(paths) + 2))[: len(paths) + 2]
            of_machine = {path.rpartition("/")[2]: name.strip() for path, name in zip(NAMES_OF_A_MACHINE, told, strict=False)}
            key = next((one.strip() for one in told[len(NAMES_OF_A_MACHINE) :] if one.strip()), "")
            fields = stat.rpartition(")")[2].split()
            pid = stat.partition(" ")[0]
            owner = {
                "machine": next(filter(None, of_machine.values()), ""),
                "names": {name: text for name, text in (*of_machine.items(), (HOST_KEY, key)) if text},
                "boot": boot.strip(),
                "pid": int(pid) if pid.isdecimal() else 0,
                "start_ticks": int(fields[19]) if len(fields) > 19 else 0,
            }
            self._owner = json.dumps(owner)
            made = f'assay_open {time.monotonic_ns()} {quoted(self._owner)}; printf %s "${{A_F##*/}}"'
            self._file = self._shell.ask(made).text.strip()

    def _changed(self, script: str) -> None:
        self._shell.ask(f"{script}; assay_watch {LEASE_S}")
        with self._mutex:
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._renew, name="lease of a far shell", daemon=True)
                self._renewing.start()

    def _renew(self) -> None:
        while not self._over.wait(RENEW_S):
            try:
                self._shell.ask(f"assay_watch {LEASE_S}", ANSWER_S)
            except OSError:
                self._lost()
                return


def _notes(text: str) -> list[Note]:
    """The notes of one file that are not struck out; a torn line is left out, for what it announced never began."""
    file, _, rest = text.partition("\n")
    first, _, lines = rest.partition("\n")
    found: dict[int, Note] = {}
    owner: dict[str, object] = {}
    with contextlib.suppress(ValueError):
        owner = json.loads(first)
    machine = machine_told(str(owner.get("machine", "")), owner.get("names"), str(owner.get("boot", "")))
    for line in lines.split("\n"):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            fields = json.loads(line)
            if "struck" in fields:
                found.pop(fields["struck"], None)
            else:
                found[fields["n"]] = Note(
                    file=file, n=fields["n"], kind=fields["kind"], details=fields["details"], machine=machine
                )
    return list(found.values())
