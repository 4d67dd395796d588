"""A bucket of an S3 server and its client rclone: configuration without a secret in it, programs for files, marked prefixes.

The keys are in a file of the form of ~/.aws/credentials, which its owner alone may read. The configuration of rclone names that
file, so no secret is in an argument, a record or a report.
"""

from __future__ import annotations

import json
import posixpath
import re
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Undo
from assay.errors import RefusedError, TrialError
from assay.frozen import dataclass
from assay.machine import external_commands
from assay.records import Endpoint, EndpointKind, Value

PROGRAM, REMOTE = "rclone", "server"
TOOLS = (PROGRAM,)
CONFIG = "rclone.conf"
MARKER = ".assay-marker"
REGION = "us-east-1"
NOTHING_THERE = (3, 4)
"""Exit statuses of rclone: directory not found, file not found."""
ENVIRONMENT = ("AWS_ACCESS_KEY_ID=", "AWS_ACCESS_KEY=", "AWS_SESSION_TOKEN=", "AWS_PROFILE=default", "AWS_CA_BUNDLE=")
"""Keys of the user's environment would go before those of the file; with a bundle of authorities rclone does not start."""
COMMON = ("--retries", "1", "--low-level-retries", "1", "--s3-no-check-bucket", "--expect-continue-timeout", "0")
"""A request that fails is not repeated unseen; a part is sent without waiting for leave (1 s at some servers)."""
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "put": ("copyto", "{source}", REMOTE + ":{bucket}/{prefix}{name}"),
    "get": ("copyto", REMOTE + ":{bucket}/{prefix}{name}", "{destination}"),
}
PATIENCE_S, REMOVAL_S = 60.0, 3600.0
REMOVE = """found=$({look} 2> /dev/null); status=$?
case $status in 0) ;; {nothing}) exit 0 ;; *) exit 1 ;; esac
[ "$found" = {word} ] || exit 0
{empty} && {last}"""
"""The marker is removed last, so that a removal that was interrupted is taken up again."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket as one host reaches it."""

    url: str
    name: str
    config: str
    key_file: str
    region: str = REGION
    namespace: str | None = None
    """The file of the network namespace of its clients; None: the lab's."""

    def command(self, *words: str) -> tuple[str, ...]:
        """Return the words of a command of rclone, in the clients' namespace."""
        inside = () if self.namespace is None else ("nsenter", f"--net={self.namespace}", "--")
        return (*inside, "env", *ENVIRONMENT, PROGRAM, "--config", self.config, *COMMON, *words)

    def place(self, key: str = "") -> str:
        """Return an object, or what begins with a key, as rclone names it."""
        return f"{REMOTE}:{self.name}/{key}"


def configure(host: Host, bucket: Bucket) -> None:
    """Write the configuration of rclone: the way to the server, and the file with the keys."""
    lines = {
        "type": "s3",
        "provider": "Other",
        "env_auth": "true",
        "shared_credentials_file": bucket.key_file,
        "endpoint": bucket.url,
        "region": bucket.region,
        "force_path_style": "true",
    }
    host.write(bucket.config, "\n".join((f"[{REMOTE}]", *(f"{name} = {value}" for name, value in lines.items()), "")))


def write_keys(host: Host, path: str) -> tuple[str, str]:
    """Make keys and write them into a file that its owner alone may read; return both."""
    access, secret = secrets.token_hex(8), secrets.token_hex(20)
    host.run(["install", "-m", "600", "/dev/null", path])
    host.write(path, f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n")
    return access, secret


def key_mistakes(host: Host, path: str) -> tuple[str, ...]:
    """Return what is wrong with a file of keys: it is there, its owner alone may read it, and it has both."""
    kind, _, mode = host.run(["stat", "-L", "-c", "%F|%a", "--", path], check=False).stdout.strip().partition("|")
    if not kind.startswith("regular"):
        return (f"{path}: no such file. Correct key_file.",)
    found = []
    if int(mode[-2:], 8):
        found.append(f"{path}: other users may read it (mode {mode}). Run `chmod 600 {path}`.")
    names = {line.partition("=")[0].strip() for line in host.read(path).splitlines() if "=" in line}
    found += [
        f"{path}: no {name}. Write it below [default], as in ~/.aws/credentials."
        for name in ("aws_access_key_id", "aws_secret_access_key")
        if name not in names
    ]
    return tuple(found)


def endpoint(bucket: Bucket, prefix: str, details: Mapping[str, Value]) -> Endpoint:
    """Return what a client is given: the URL, and rclone as its program where the target names none."""
    words = {name: (PROGRAM, "--config", "{config}", *COMMON, *argv) for name, argv in PROGRAMS.items()}
    own: dict[str, Value] = {
        "bucket": bucket.name,
        "prefix": prefix,
        "config": bucket.config,
        "key_file": bucket.key_file,
        "env": ENVIRONMENT,
    }
    return Endpoint(kind=EndpointKind.BUCKET, address=bucket.url, details={**words, **own, **details})


def prove(host: Host, bucket: Bucket, prefix: str, data: str) -> None:
    """Write an object and find it in the server's data, then remove it. Raises TrialError."""
    key, word = f"{prefix}assay-{secrets.token_hex(6)}", secrets.token_hex(512)
    host.run([*bucket.command("rcat", bucket.place(key))], input_text=word, timeout_s=PATIENCE_S)
    path = posixpath.join(data, key)
    try:
        found = host.read(path)
    except OSError:
        found = ""
    host.run([*bucket.command("deletefile", bucket.place(key))], timeout_s=PATIENCE_S)
    if found != word:
        raise TrialError(f"{bucket.url} does not keep its objects in {data}: what was written is not there")
    if host.exists(path):
        raise TrialError(f"{bucket.url} does not keep its objects in {data}: what was removed is still there")


def answers(host: Host, bucket: Bucket, prefix: str) -> tuple[str, ...]:
    """Return why the server does not let these keys look below a prefix; a configuration is not needed."""
    options = {
        "provider": "Other",
        "env_auth": "true",
        "shared_credentials_file": bucket.key_file,
        "endpoint": bucket.url,
        "region": bucket.region,
        "force_path_style": "true",
    }
    remote = ",".join((":s3", *(f'{name}="{value}"' for name, value in options.items())))
    plain = replace(bucket, config="/dev/null")
    nowhere = f"{prefix}assay-{secrets.token_hex(6)}"
    done = host.run([*plain.command("lsf", f"{remote}:{bucket.name}/{nowhere}")], check=False, timeout_s=PATIENCE_S)
    if done.status in (0, *NOTHING_THERE):
        return ()
    return (f"{bucket.url}: {words_of(done.stderr)}. Correct url, bucket or key_file.",)


def mark(host: Host, undo: Undo, bucket: Bucket, prefix: str) -> str:
    """Mark a prefix as ours after its ledger entry, and see the mark; return the arguments that remove it.

    Raises RefusedError where no object may be written, or another one is read.
    """
    word = secrets.token_hex(8)
    key = f"{prefix}{MARKER}"
    script = REMOVE.format(
        look=shlex.join(bucket.command("cat", bucket.place(key))),
        nothing="|".join(map(str, NOTHING_THERE)),
        word=word,
        empty=shlex.join(bucket.command("delete", "--exclude", f"/{MARKER}", bucket.place(prefix))),
        last=shlex.join(bucket.command("deletefile", bucket.place(key))),
    )
    back = json.dumps(["/bin/sh", "-c", script])
    undo.add("command", argv=back)
    done = host.run([*bucket.command("rcat", bucket.place(key))], input_text=word, check=False, timeout_s=PATIENCE_S)
    seen = host.run([*bucket.command("cat", bucket.place(key))], check=False, timeout_s=PATIENCE_S)
    if done.status != 0 or seen.stdout != word:
        undo.undo("command", argv=back)
        raise RefusedError(f"{bucket.url}: no object may be written below {bucket.name}/{prefix}: {words_of(done.stderr)}")
    return back


def unmark(host: Host, undo: Undo, back: str) -> None:
    """Remove everything below a prefix of ours, however long that takes, then its mark."""
    host.run([str(word) for word in json.loads(back)], timeout_s=REMOVAL_S, check=False)
    undo.undo("command", argv=back)


def words_of(text: str) -> str:
    """Return rclone's last dated complaint without its date."""
    found = re.findall(r"^\d{4}/\d\d/\d\d [\d:]+ (?:ERROR : : |ERROR : |Failed to )?(.*)$", text, re.MULTILINE)
    return found[-1] if found else text.strip() or "no reason given"


def version(host: Host) -> str:
    """Return the name and version of the client."""
    return host.run([PROGRAM, "version"], check=False).stdout.partition("\n")[0] or PROGRAM


def missing(host: Host) -> tuple[str, ...]:
    """Return what the client lacks."""
    return external_commands.missing(host, TOOLS)
