"""Results of checks of the environment, and why a folder can't be written.

Imports nothing of the app.
"""
