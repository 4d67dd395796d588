"""The files of a tree by age and size: what a second, cheaper tier would hold, and what a workload can imitate."""
