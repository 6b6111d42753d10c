"""Tests of the vocabulary, the rules and the traces."""
