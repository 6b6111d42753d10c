"""Proofs about the specification itself, before any manager runs."""
