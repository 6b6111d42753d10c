"""The laws that hold in every state, for any manager."""
