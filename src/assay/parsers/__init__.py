"""Catalogue of parsers: one file an entry."""
