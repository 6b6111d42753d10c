"""What a check found, as text and as a file that other programs read."""
