"""Django's backend of PostgreSQL, whose transactions can end in one message."""
