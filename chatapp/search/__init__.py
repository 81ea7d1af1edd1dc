"""Searching: what a person wrote and was answered, their conversations, and what the app can do."""
