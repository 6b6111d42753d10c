"""Pure functions on numbers and booleans: the arithmetic of the specification.

Every token count is in tokens, every position of a table in blocks. The functions are total on the
domain their docstrings give and change nothing. Their contracts are in ``conformance/proofs``.
"""
