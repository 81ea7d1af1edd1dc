"""The API for people's scripts: the part of OpenAI's that lists models and completes chats.

A request is authenticated by a personal access token, never by a cookie, and goes through the same
access rules, limits and prices as a prompt on the page. Responses are OpenAI's, errors included.

Imports `accounts`, `realtime` and what is below them.
"""
