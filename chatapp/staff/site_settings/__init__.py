"""What an administrator sets for the whole installation, on one page."""
