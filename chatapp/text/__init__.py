"""Text from people: form fields for it, and how it is cut and folded for search.

Imports nothing of the app.
"""
