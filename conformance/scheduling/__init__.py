"""The scheduler as the engine loop's policy."""
