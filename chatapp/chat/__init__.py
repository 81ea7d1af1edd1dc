"""The chat: its pages, and the WebSocket of each tab with the actions that a tab can send.

Imports `accounts`, `realtime`, `rendering` and what is below them.
"""
