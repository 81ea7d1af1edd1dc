"""Presets: their form, which chats have parts of, their files, and their versions in words."""
