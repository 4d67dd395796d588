"""What the load engine is told, from the knobs of a workload: one noun a file, all of it pure."""
