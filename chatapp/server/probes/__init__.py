"""What machines ask: whether this process lives, works, and what it counts."""
