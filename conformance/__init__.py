"""The harness that holds a manager to the clauses."""
