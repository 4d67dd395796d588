"""Catalogue of observers: one file an entry."""
