"""Saved prompts: their blanks, their files, and the list that a slash opens in the composer."""
