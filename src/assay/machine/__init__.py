"""State of a machine's storage and control groups, and the tools that change it, all through a Host.

Used by targets (which prepare systems), trials (which place processes) and the command line (which checks permissions).
"""
