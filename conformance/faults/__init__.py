"""Planted faults: changes in one place that the checks have to find."""
