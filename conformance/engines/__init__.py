"""Adapters to real engines. Each imports its engine only when a subject is made of it."""
