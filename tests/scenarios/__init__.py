"""Scenarios: short stories of requests and blocks that hold on every side of the project."""
