"""Code of the subprocess that reads one file, and the limits on what it may do."""
