"""Settings of a running server that decide whether it stores data before it answers: from its command line and configuration.

Files and directories that its command line names are read, also those below its working directory, and what it preloads. Of
programs that read a file without being told so, the usual places are read: Redis takes the path out of its command line, so its
file counts if it has the port that the command line shows. What was changed while it ran is not seen.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import re
from collections.abc import Container, Iterator, Mapping, Sequence

from assay.catalogue import Host
from assay.errors import AssayError
from assay.evidence import guarantees
from assay.machine.server import pids
from assay.records import Server

NAMES = "conf|cnf|cfg|ini|ldif|ya?ml|toml|config|properties"
RELATIVE = re.compile(rf"[\w.-][\w./-]*[.]({NAMES})")
"""A word that names a file below the working directory of a server."""
MOST_FILES, LARGEST, DEEPEST, PATIENCE_S = 64, "-256k", "2", 5.0
"""Of a directory of configuration; a file that is larger is data."""
LINE = re.compile(r"^\s*(?:-{1,2}|SET\s+)?(?:([A-Za-z][\w .-]*?)\s*[:=]\s*|([A-Za-z][\w.-]*)(?:\s+|$))(.*?);?\s*$")
"""`name = value`, also of several words, or `name value`."""
NESTED = re.compile(r"^(\s*)([A-Za-z][\w.-]*):(?:\s+(.*))?$")
"""`name:` or `name: value` of YAML."""
OF_ANYTHING = frozenset({"cache", "flush", "options", "sync"})
"""Names that a program may use for something else: they count as facts of a target alone."""
DISKS, OF_DISKS = "qemu", OF_ANYTHING - {"cache"}
"""How programs begin whose `cache` is that of a disk (`-drive cache=unsafe`, `qemu-nbd --cache=unsafe`)."""
PRELOAD = "LD_PRELOAD"
REDIS_LIKE = ("redis-server", "valkey-server", "keydb-server")
MY_SQL = ("/etc/my.cnf", "/etc/my.cnf.d", "/etc/mysql")
REDIS = ("/etc/redis", "/etc/redis.conf", "/etc/valkey", "/usr/local/etc/redis.conf", "./redis.conf")
USUAL: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(REDIS_LIKE, REDIS),
    **dict.fromkeys(("mysqld", "mariadbd"), MY_SQL),
    "postgres": ("./postgresql.conf", "./postgresql.auto.conf"),
    "slapd": ("/etc/ldap/slapd.d", "/etc/ldap/slapd.conf", "/etc/openldap/slapd.d", "/etc/openldap/slapd.conf"),
    "smbd": ("/etc/samba/smb.conf",),
}
"""Program -> files and directories that it reads where its command line names none; `./` is its working directory."""
TOLD = re.compile(r"--(no-defaults|defaults-file)|-[fFsD]$|--configfile|config_file")
"""Words of a command line after which the usual places do not count."""
TITLE = re.compile(rf"(?P<program>{'|'.join(REDIS_LIKE)}) \S*:(?P<port>\d+)")
"""What these programs make of their command line."""
UNSET: Mapping[str, Mapping[str, str]] = {name: {"appendonly": "no"} for name in REDIS_LIKE}
"""Program -> what counts where its file does not say it."""


def facts(host: Host, server: Server | None) -> tuple[tuple[str, str], ...]:
    """Return the known settings of the server's processes on this host: of its files, then of its command line, which counts."""
    found: dict[str, str] = {}
    commands = {_text(host, f"/proc/{pid}/cmdline"): pid for pid in pids(host, server.on(host.name))} if server else {}
    for command, pid in commands.items():
        argv = [word for word in command.split("\0") if word]
        program = posixpath.basename((argv or [""])[0].partition(" ")[0])
        for path in _files(host, pid, _named(argv[1:])) or _usual(host, pid, program, argv):
            found |= {**UNSET.get(program, {}), **dict(_known(_lines(host, path)))}
        found |= dict(_known(_options(argv[1:]), OF_DISKS if program.startswith(DISKS) else OF_ANYTHING))
        found |= dict(_known(_environment(host, pid, program)))
    return tuple((f"configured.{name}", value) for name, value in sorted(found.items()))


def _named(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that a command line names: absolute ones, and files of configuration below the working directory."""
    words = [word.rpartition("=")[2] for word in argv]
    return tuple(word if word.startswith("/") else f"./{word}" for word in words if word[:1] == "/" or RELATIVE.fullmatch(word))


def _usual(host: Host, pid: int, program: str, argv: Sequence[str]) -> Sequence[str]:
    """Return the files that a program reads without being told so; of one that shows its port those with that port."""
    if any(TOLD.search(word) for word in argv[1:]):
        return ()
    title = TITLE.match(" ".join(argv))
    found = _files(host, pid, USUAL.get(program, ()))
    if title is None:
        return () if program in REDIS_LIKE else found
    port = re.compile(rf"^\s*port\s+{title['port']}\s*$", re.MULTILINE)
    return [path for path in found if port.search(_text(host, path))][:1]


def _environment(host: Host, pid: int, program: str) -> Iterator[str]:
    """Yield what a server preloads, and settings in variables that begin with its name (`ETCD_UNSAFE_NO_FSYNC=true`)."""
    mine = f"{program.upper().replace('-', '_')}_"
    for line in _text(host, f"/proc/{pid}/environ").split("\0"):
        if line.startswith(PRELOAD):
            yield line
        elif line.startswith(mine):
            yield line.removeprefix(mine)


def _lines(host: Host, path: str) -> Iterator[str]:
    """Yield the lines of a file; of values below others also with all names (`storage.journal.enabled: false`)."""
    above: list[tuple[int, str]] = []
    for line in _text(host, path).splitlines():
        yield line
        match = NESTED.match(line)
        if match is None:
            continue
        depth, name, value = len(match[1]), match[2], (match[3] or "").strip()
        above = [one for one in above if one[0] < depth]
        if value and above:
            yield f"{'.'.join((*(name for _, name in above), name))}: {value}"
        elif not value:
            above.append((depth, name))


def _options(argv: Sequence[str]) -> Iterator[str]:
    """Yield each option as a line of a configuration: `--name=value`, `--name value`, `-c name=value`, `-Dname=value`.

    Of a word with several settings each one: `driver=file,cache.no-flush=on`, or the same as JSON.
    """
    for at, word in enumerate(argv):
        value = argv[at + 1] if at + 1 < len(argv) and not argv[at + 1].startswith("-") else ""
        plain = word[2:] if word.startswith("-D") and "=" in word else word
        yield plain if "=" in plain or not plain.startswith("-") else f"{plain} {value}"
        if plain.startswith("{"):
            with contextlib.suppress(ValueError):
                yield from _leaves(json.loads(plain))
        elif plain.count("=") > 1:
            yield from plain.split(",")


def _leaves(tree: object, name: str = "") -> Iterator[str]:
    """Yield each value of a JSON object as `name.name=value`."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif name:
        yield f"{name}={json.dumps(tree)}"


def _known(lines: Iterator[str] | Sequence[str], unsure: Container[str] = OF_ANYTHING) -> Iterator[tuple[str, str]]:
    """Yield the settings of these lines that decide it; names that are `unsure` are not taken."""
    for line in lines:
        match = LINE.match(line)
        name = (match[1] or match[2]) if match else ""
        every = (guarantees.plain(one) for one in (name, name.rpartition(".")[2]))
        if match and any(one in guarantees.AT_ANSWERS and one not in unsure for one in every):
            yield shortest(name), re.sub(r"\s+[#;].*", "", match[3]).strip("\"'")


def shortest(name: str) -> str:
    """Return the last part of a name with dots that is known, else the whole name."""
    last = name.rpartition(".")[2]
    return last if guarantees.plain(last) in guarantees.AT_ANSWERS else name.replace(".", "_")


def _files(host: Host, pid: int, named: Sequence[str]) -> Sequence[str]:
    """Return the files of these paths, and those of configuration in their directories; `./` is the working directory.

    The server may see another file system than the lab (a container, a mount namespace).
    """
    paths = [
        f"/proc/{pid}/cwd{path[1:]}" if path.startswith("./") else f"/proc/{pid}/root{path}" for path in dict.fromkeys(named)
    ]
    small = ("-type", "f", "-size", LARGEST)
    within = ("-mindepth", "1", "-maxdepth", DEEPEST, "-regextype", "posix-extended", "-regex", f".*[.]({NAMES})")
    found: list[str] = []
    for chosen in (("-maxdepth", "0"), within) if paths else ():
        with contextlib.suppress(AssayError, OSError):
            found += host.run(["find", "-L", *paths, *chosen, *small], check=False, timeout_s=PATIENCE_S).stdout.splitlines()
    return sorted(found, key=lambda path: (".auto." in path, path))[:MOST_FILES]  # what PostgreSQL set itself counts last


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""
