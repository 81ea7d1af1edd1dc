"""What people set once and use again: parameters of requests."""
