"""Which version of the specification this is."""

VERSION = "0.1"
"""Clauses name the version that first had them, traces the one under which they were written."""
