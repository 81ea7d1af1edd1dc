"""Access control: which sessions are valid and for how long, and which origins are allowed."""
