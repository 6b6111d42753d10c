"""Faults planted in the rules, and the contracts that have to refute each."""
