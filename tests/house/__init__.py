"""Tests of the house: rooms, imports, package, build."""
