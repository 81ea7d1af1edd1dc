"""The chat page: its views, and the socket of each of its tabs."""
