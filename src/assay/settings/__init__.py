"""Settings of the load engine, computed from the knobs of a workload. Pure functions, one topic a file."""
