"""Exports of chats: one, some, a project's, or all of a person's.

`conversations` reads chats in batches, each module of `formats` writes them in one format, and
neither ever holds a long chat, or many of them, in memory.
"""
