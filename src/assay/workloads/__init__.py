"""Catalogue of workloads: one file an entry."""
