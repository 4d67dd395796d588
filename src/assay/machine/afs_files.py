"""Where the kernel's client of AFS (kAFS) tells of itself, and where the lab notes the network namespace of a mount."""

OWN = "/proc/fs/afs"
"""Of kAFS; the client of OpenAFS has the same name in /proc/filesystems, and not this."""
STATS = "net/afs/stats"
"""Below /proc/PID."""
SPACE = "network"
"""In a client's directory: a process of the network namespace that its mount is of."""
