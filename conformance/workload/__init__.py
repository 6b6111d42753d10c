"""Real request traces through the engine loop: reading and making them, replaying them, what is counted."""
