"""Tests of every room, and of the house they stand in."""
