"""Conversations: projects, branches, messages and turns, and what came with replies.

Imports `policies`, `billing` and what is below them.
"""
