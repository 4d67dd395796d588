"""Assay: benchmarks that say what their numbers really are."""
