"""The room of the review: conversations are found, opened for a reason, read, and decided about."""
