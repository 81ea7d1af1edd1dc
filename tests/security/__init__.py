"""What foreign text, other people and floods must not be able to do to the app."""
