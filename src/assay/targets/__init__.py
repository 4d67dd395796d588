"""Catalogue of targets: one file an entry."""
