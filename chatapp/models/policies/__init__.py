"""The rules about reading and keeping conversations: review policies and legal holds.

Imports `accounts` and what is below it.
"""
