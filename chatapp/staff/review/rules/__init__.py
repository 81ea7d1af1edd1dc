"""Rules that flag replies, and labels."""
