"""Runs that were kept before clients told of their load, queue and errors are still read, and new ones keep all of it."""

from dataclasses import replace

import notebook_records as made
from assay import plain
from assay.records import Client, EngineError, LoadTotal, QueueTotal

FULL = replace(
    made.client(),
    load=LoadTotal(late=1, unstarted=2, backlog_max_ns=3),
    queue=QueueTotal(depth=32, registered=True, punted=True, punted_threads=4, submissions=5),
    errors=(EngineError(operation="read", code=84, count=6, path="/x", what="verify"),),
)


def test_what_an_older_version_did_not_keep_is_none():
    kept = plain.to_plain(FULL)
    for name in ("load", "queue", "errors"):
        del kept[name]
    read = plain.from_plain(Client, kept)
    assert (read.load, read.queue, read.errors) == (None, None, ())
    assert read == replace(FULL, load=None, queue=None, errors=())


def test_what_is_kept_now_is_read_as_it_was():
    assert plain.from_plain(Client, plain.to_plain(FULL)) == FULL
