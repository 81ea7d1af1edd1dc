"""Branches of messages, and what pages and models are shown of one.

Imports `messages`.
"""
