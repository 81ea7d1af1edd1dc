"""Django's middleware: what every page passes through."""
