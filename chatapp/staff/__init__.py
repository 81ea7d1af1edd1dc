"""Pages for administrators and reviewers: people, limits, usage, review, audit and settings.

Imports `chat` and what is below it; only the URLconf (`chatapp.urls`) uses it.
"""
