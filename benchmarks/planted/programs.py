"""Small programs with one limit each, by construction: `python programs.py NAME ARGUMENT...`.

A client gets the address of its server; a server prints its port. Each ends by itself after SECONDS.
"""

import fcntl
import mmap
import os
import queue
import random
import select
import socket
import sys
import threading
import time

SECONDS = float(os.environ.get("PLANTED_S", "2.5"))
MIB = 1 << 20


def until():
    """The times from now to the end, one for each turn."""
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        yield ends


def work(seconds):
    """Compute for so much CPU time of this thread."""
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass


# ------------------------------------------------------------------------------------------------- without a server


def burn():
    for _ in until():
        work(0.01)


def flush(place):
    with open(f"{place}/flushed", "wb", buffering=0) as file:
        for _ in until():
            file.write(b"x" * 4096)
            os.fsync(file)


def faults(path):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        mapped.madvise(mmap.MADV_RANDOM)
        pages = len(mapped) // 4096
        for _ in until():
            mapped[4096 * random.randrange(pages)]


def produce(how):
    """What a reader waits for: blocks that take CPU time, or time."""
    for _ in until():
        work(0.02) if how == "cpu" else time.sleep(0.02)
        os.write(1, bytes(4096))


def sleep():
    for _ in until():
        time.sleep(0.05)


def nothing():
    ours, _theirs = os.pipe()
    select.select([ours], [], [], SECONDS)


def mixed(place):
    """Nothing has half of the time: each of three parts takes as long, whatever the machine does."""
    with open(f"{place}/mixed", "wb", buffering=0) as file:
        for _ in until():
            for part, seconds in (
                (lambda: work(0.002), 0.06),
                (lambda: (file.write(bytes(4096)), os.fsync(file)), 0.1),
                (lambda: time.sleep(0.002), 0.1),
            ):
                ends = time.monotonic() + seconds
                while time.monotonic() < ends:
                    part()


def file_locks(place, apart):
    """Processes that sleep with a lock; `apart`: each has a lock of its own."""
    children = []
    for number in range(4):
        if (pid := os.fork()) == 0:
            file = os.open(f"{place}/lock{number if apart == 'apart' else ''}", os.O_CREAT | os.O_RDWR)
            for _ in until():
                fcntl.flock(file, fcntl.LOCK_EX)
                time.sleep(0.005)
                fcntl.flock(file, fcntl.LOCK_UN)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def names():
    for _ in until():
        try:
            socket.getaddrinfo("planted.example", 80)
        except OSError:
            pass


# -------------------------------------------------------------------------------------------------------- clients


def connected(address, nodelay=True):
    host, _, port = address.rpartition(":")
    made = socket.create_connection((host, int(port)))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(nodelay))
    made.settimeout(None)
    return made


def ask(connection):
    connection.sendall(b"0123456789")
    received(connection, 10)


def received(connection, length):
    while length:
        length -= len(connection.recv(length)) or sys.exit("the server is gone")


def requests(address, count="1", think="0"):
    """Clients that ask again and again, each on its own connection."""
    each_in_thread(int(count), lambda: requests_of_one(address, float(think)))


def requests_of_one(address, think):
    connection = connected(address)
    for _ in until():
        ask(connection)
        if think:
            time.sleep(think)


def small_writes(address, nodelay):
    """Head and body of each request in a write of its own."""
    connection = connected(address, nodelay == "nodelay")
    for _ in until():
        connection.send(b"head.")
        connection.send(b"body.")
        received(connection, 10)


def pool(address, connections, workers):
    """Workers that share connections."""
    free = queue.Queue()
    for _ in range(int(connections)):
        free.put(connected(address))

    def worker():
        for _ in until():
            connection = free.get()
            ask(connection)
            free.put(connection)

    each_in_thread(int(workers), worker)


def send(address):
    connection, block = connected(address), bytes(65536)
    for _ in until():
        connection.sendall(block)
    os._exit(0)  # what is unsent stays unsent


def connect(address):
    """More connections than a server takes that accepts none."""
    held = []
    for ends in until():
        made = socket.socket()
        made.settimeout(None)
        threading.Timer(max(0.0, ends - time.monotonic()), os._exit, (0,)).start()
        host, _, port = address.rpartition(":")
        made.connect((host, int(port)))
        held.append(made)


def each_in_thread(count, what):
    if count == 1:
        what()
        return
    threads = [threading.Thread(target=what) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


# -------------------------------------------------------------------------------------------------------- servers


def listening(port, backlog=64, receive=0):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if receive:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    made.bind(("0.0.0.0", int(port)))
    made.listen(backlog)
    return made


def serve(port, how, place=""):
    """One thread for each connection; each request of ten bytes is answered after `how`."""
    lock, listener = threading.Lock(), listening(port)

    def locked():
        with lock:
            time.sleep(0.005)

    def stored():
        with open(f"{place}/served{threading.get_ident()}", "wb", buffering=0) as file:
            file.write(bytes(4096))
            os.fsync(file)

    does = {
        "at once": lambda: None,
        "cpu": lambda: work(0.01),
        "lock": locked,
        "disk": stored,
        "sleep": lambda: time.sleep(0.01),
    }[how]

    def of_one(connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        left = 10
        while data := connection.recv(left):
            left -= len(data)
            if left == 0:
                does()
                connection.sendall(b"0123456789")
                left = 10

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=of_one, args=(connection,), daemon=True).start()


def take(port, receive, pause):
    """Reads all that comes, with a receive buffer of its own, or slowly."""
    listener = listening(port, receive=int(receive))
    while True:
        connection, _ = listener.accept()
        while len(connection.recv(65536)):
            if float(pause):
                time.sleep(float(pause))


def refuse(port):
    """Accepts nothing."""
    _held = listening(port, backlog=0)
    time.sleep(60)


def silent(port):
    """Takes the questions of clients of a name server and answers none."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", int(port)))
    while True:
        made.recv(512)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
