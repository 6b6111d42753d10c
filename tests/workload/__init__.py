"""Request traces: read, made, replayed, counted."""
