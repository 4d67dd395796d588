"""What the kernel says of a machine's storage and groups, and the tools that change it, all through a Host.

Targets (which prepare systems), fleet (which places processes) and the command line (which tells what is allowed) stand on it.
"""
