"""The executable specification of a paged KV cache, and the harness that holds engines to it.

Importing this package alone imports none of its rooms: take `pagedkv.spec`, `pagedkv.reference`,
`pagedkv.invariants` or `pagedkv.conformance`, whichever is needed.
"""

__version__ = "0.1.0"
