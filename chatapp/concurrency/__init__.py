"""Sharing: of the event loop's time between tasks, and of actions per second between people.

Imports nothing of the app.
"""
