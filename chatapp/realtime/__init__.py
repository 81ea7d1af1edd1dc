"""Replies while they stream: the worker of this process, its replies, viewers and other workers.

Imports `rendering`, `tools`, `sessions`, `models` and what is below them.
"""
