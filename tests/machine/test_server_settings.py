"""Settings that a running server was given: by its command line, its files and what it preloads."""

import subprocess
import sys
from dataclasses import replace

from assay.evidence import guarantees
from assay.hosts.local import Local
from assay.machine import server_settings
from assay.records import Fact, FactClass, Observations, Server, ServerNode, When
from stage.rows import each


def fact(key, value):
    return Fact(host="s", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE)


MONGOD = "storage:\n  dbPath: /x\n  journal:\n    enabled: {}\nnet:\n  port: 27017\n"


@each(
    "argv files environment denied",
    ("-c synchronous_commit=off", {}, {}, "synchronous_commit = off"),
    ("--sync-binlog=0", {}, {}, "sync-binlog = 0"),
    ("--sync-binlog=1 --innodb_flush_log_at_trx_commit 1", {}, {}, None),
    ("--appendfsync everysec", {}, {}, "appendfsync = everysec"),
    ("--unsafe-no-fsync", {}, {}, "unsafe-no-fsync = on"),
    ("{room}/redis", {"redis": "appendonly yes\nappendfsync everysec # default\n"}, {}, "appendfsync = everysec"),
    ("{room}/redis --appendfsync always", {"redis": "appendfsync everysec\n"}, {}, None),
    ("-F {room}", {"cn=config/olcDatabase={1}mdb.ldif": "olcDbNoSync: TRUE\n"}, {}, "olcDbNoSync = true"),
    ("-f {room}/slapd.conf", {"slapd.conf": "database mdb\ndbnosync\n"}, {}, "dbnosync = on"),
    ("-D {room}", {"dse.ldif": "nsslapd-db-durable-transaction: off\n"}, {}, "nsslapd-db-durable-transaction = off"),
    ("-D {room}", {"postgresql.conf": "#fsync = off\nsynchronous_commit = 'on' # default\n"}, {}, None),
    ("--configfile={room}/smb.conf", {"smb.conf": "[global]\n  strict sync = no\n"}, {}, "strict sync = no"),
    ("--cache unsafe --sync=no", {}, {}, None),
    ("-D {room}", {"postgresql.conf": "fsync = on\n", "postgresql.auto.conf": "fsync = 'off'\n"}, {}, "fsync = off"),
    ("-Dzookeeper.forceSync=no -cp x Main", {}, {}, "forceSync = no"),
    ("--config {room}/mongod.conf", {"mongod.conf": MONGOD.format("false")}, {}, "storage_journal_enabled = false"),
    ("--config {room}/mongod.conf", {"mongod.conf": MONGOD.format("true")}, {}, None),
    ("{room}/zoo.cfg", {"zoo.cfg": "dataDir=/x\nforceSync=no\n"}, {}, "forceSync = no"),
    ("config/server.properties", {"config/server.properties": "log.dirs=/x\ndurability=async\n"}, {}, "durability = async"),
    ("-Epath.conf={room}", {"elasticsearch.yml": "index:\n  translog:\n    durability: async\n"}, {}, "durability = async"),
    ("-Epath.conf={room}", {"elasticsearch.yml": "index.translog.durability: request\n"}, {}, None),
    ("", {}, {"LD_PRELOAD": "libeatmydata.so"}, "LD_PRELOAD = libeatmydata.so"),
    ("--blockdev driver=file,node-name=a,cache.direct=off,cache.no-flush=on", {}, {}, "no-flush = on"),
    ("--blockdev driver=file,node-name=a,cache.direct=on,cache.no-flush=off", {}, {}, None),
    ('-blockdev {"driver":"file","cache":{"direct":true,"no-flush":true}}', {}, {}, "no-flush = true"),
    ('-blockdev {"driver":"file","cache":{"direct":true,"no-flush":false}} -x {"a', {}, {}, None),
)
def test_a_setting_that_denies_durability_is_read_from_what_runs(tmp_path, argv, files, environment, denied):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
    pid_file = tmp_path / "pid"
    words = argv.format(room=tmp_path).split() if "{room}" in argv else argv.split()
    with subprocess.Popen(
        [*command, *words], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        try:
            server.stdout.readline()
            pid_file.write_text(str(server.pid))
            found = server_settings.facts(Local(), Server(nodes=(ServerNode(host="local", pid_file=str(pid_file)),)))
        finally:
            server.kill()
    told = guarantees.denied_at_answers(Observations(facts=tuple(fact(f"target.{key}", value) for key, value in found)))
    assert (told or "").partition(":")[0] == (denied or "")


@each(
    "title files environment denied",
    (
        "mysqld --port=3307",
        {"etc/my.cnf": "[mysqld]\ninnodb_flush_log_at_trx_commit = 2\n"},
        {},
        "innodb_flush_log_at_trx_commit = 2",
    ),
    ("mysqld", {"etc/mysql/conf.d/x.cnf": "[mysqld]\nsync_binlog=0\n"}, {}, "sync_binlog = 0"),
    ("mysqld --no-defaults", {"etc/my.cnf": "[mysqld]\nsync_binlog=0\n"}, {}, None),
    ("mysqld --sync-binlog=1", {"etc/my.cnf": "[mysqld]\nsync-binlog=0\n"}, {}, None),
    (
        "redis-server 127.0.0.1:6400",
        {"etc/redis/a.conf": "port 6400\nappendonly yes\nappendfsync everysec\n"},
        {},
        "appendfsync = everysec",
    ),
    ("redis-server 127.0.0.1:6400", {"etc/redis/a.conf": "port 6400\nappendonly yes\nappendfsync always\n"}, {}, None),
    ("redis-server 127.0.0.1:6400", {"etc/redis/a.conf": "port 6400\n"}, {}, "appendonly = no"),
    ("redis-server 127.0.0.1:6400", {"etc/redis/a.conf": "port 6379\nappendonly no\n"}, {}, None),
    ("etcd", {}, {"ETCD_UNSAFE_NO_FSYNC": "true"}, "UNSAFE_NO_FSYNC = true"),
    ("qemu-system-x86_64 -drive file=a.img,if=virtio,cache=unsafe", {}, {}, "cache = unsafe"),
    ("qemu-nbd --cache=unsafe a.img", {}, {}, "cache = unsafe"),
    ("qemu-nbd --cache=writeback a.img", {}, {}, None),
    ("slapd -h ldap:///", {"etc/ldap/slapd.conf": "database mdb\ndbnosync\n"}, {}, "dbnosync = on"),
    ("slapd -f /other.conf", {"etc/ldap/slapd.conf": "dbnosync\n"}, {}, None),
)
def test_the_usual_places_count_where_a_command_line_names_none(tmp_path, title, files, environment, denied):
    texts = {
        "pid": "9",
        "proc/9/cmdline": title.replace(" ", "\0") if "redis" not in title else title,
        "proc/9/environ": "\0".join(f"{name}={value}" for name, value in environment.items()),
        **{f"proc/9/root/{path}": text for path, text in files.items()},
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    class Recorded(Local):
        """Paths in commands are below its root, too."""

        def run(self, argv, **more):
            done = Local().run([f"{tmp_path}{one}" if one.startswith("/proc") else one for one in argv], **more)
            return replace(done, stdout=done.stdout.replace(str(tmp_path), ""))

    host = Recorded(name="local", root=tmp_path)
    found = server_settings.facts(host, Server(nodes=(ServerNode(host="local", pid_file="/pid"),)))
    told = guarantees.denied_at_answers(Observations(facts=tuple(fact(f"target.{key}", value) for key, value in found)))
    assert (told or "").partition(":")[0] == (denied or "")


@each(
    "key value denied",
    ("on.disk.sync", "disabled", True),
    ("sync", "standard", False),
    ("/srv *(rw,async,anonuid", "65534)", True),
    ("/srv *(rw,sync,anonuid", "65534)", False),
    ("exports", "rw,async", True),
    ("exports", "rw,sync", False),
    ("mount.options", "rw,relatime,barrier=0", True),
    ("mount.options", "rw,relatime", False),
    ("setting.environment flags", "nosync nordahead", True),
    ("setting.environment flags", "nordahead", False),
    ("innodb_flush_log_at_trx_commit", "2", True),
    ("durability", "async", True),
    ("setting.sync_always", "no", False),
)
def test_a_fact_of_the_target_denies_durability_whoever_read_it(key, value, denied):
    seen = Observations(facts=(fact(f"target.{key}", value),))
    assert (guarantees.denied_at_answers(seen) is not None) == denied
