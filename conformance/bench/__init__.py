"""What managers cost: the same operations on several of them in turn, their answers held equal."""
