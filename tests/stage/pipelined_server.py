"""A directory server that finds nothing but the base of a search, at the least cost: for loads that a real one cannot carry.

`python pipelined_server.py` prints its port and serves until its standard input ends.
"""

import contextlib
import selectors
import socket
import sys

DONE = b"\x0a\x01\x00\x04\x00\x04\x00"
SEARCH = 0x63
ANSWER_TO = {0x60: 0x61, SEARCH: 0x65}


def base_of(search, ident):
    """The entry of a search of the base alone, without attributes; nothing of another scope."""
    dn = 2 if search[1] < 0x80 else 2 + (search[1] & 0x7F)
    end = dn + 2 + search[dn + 1]
    if search[end + 2]:
        return b""
    entry = search[dn:end] + b"\x30\x00"
    return bytes((0x30, len(ident) + len(entry) + 2)) + ident + bytes((0x64, len(entry))) + entry


def answers(held):
    """The answers to all whole messages, and how many bytes they took; messages are shorter than 128 bytes, or of four more."""
    made, at = [], 0
    while len(held) - at > 2:
        head, size = (2, held[at + 1]) if held[at + 1] < 0x80 else (2 + (held[at + 1] & 0x7F), 0)
        if head > 2:
            size = int.from_bytes(held[at + 2 : at + head], "big")
        if len(held) - at < head + size:
            break
        ident = held[at + head : at + head + 2 + held[at + head + 1]]
        tag = ANSWER_TO.get(held[at + head + len(ident)])
        if tag == ANSWER_TO[SEARCH]:
            made.append(base_of(held[at + head + len(ident) : at + head + size], ident))
        if tag is not None:
            made.append(bytes((0x30, len(ident) + 9)) + ident + bytes((tag, 7)) + DONE)
        at += head + size
    return b"".join(made), at


def serve(listener):
    """Answer on every connection until standard input ends."""
    ready, held = selectors.DefaultSelector(), {}
    ready.register(listener, selectors.EVENT_READ)
    ready.register(sys.stdin, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ready.register(connection, selectors.EVENT_READ)
                held[connection] = b""
                continue
            with contextlib.suppress(OSError):
                if received := key.fileobj.recv(1 << 18):
                    found, used = answers(held[key.fileobj] + received)
                    held[key.fileobj] = (held[key.fileobj] + received)[used:]
                    key.fileobj.sendall(found)
                    continue
            ready.unregister(key.fileobj)
            del held[key.fileobj]
            key.fileobj.close()


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as server:
        sys.stdout.write(f"{server.getsockname()[1]}\n")
        sys.stdout.flush()
        serve(server)
