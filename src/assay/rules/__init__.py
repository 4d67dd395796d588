"""Catalogue of rules: one file an entry."""
