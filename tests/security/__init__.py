"""What may be tried against the app, and does no harm."""
