"""One conversation under review, and decisions about it."""
