"""The command line, as users type it."""
