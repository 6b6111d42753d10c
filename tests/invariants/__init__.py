"""Each law on states that keep it and on states that break it."""
