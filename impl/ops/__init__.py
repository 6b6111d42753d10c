"""What is done with the arrays of ``layout``.

Functions here know tensors, not requests. Those in ``fixed`` have shapes that follow from the shapes of
their arguments and the numbers given, and never read a value back: a device runs them without the host.
"""
