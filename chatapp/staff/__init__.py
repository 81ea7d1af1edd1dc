"""Pages for administrators and reviewers: people, limits, usage, review, audit and settings.

Imports `chat` and what is below it; nothing but `server` and `management` imports it.
"""
