"""The guide for who connects an upstream: its address and key, what it does, what is whose.

What is set once and seldom stands in the administration, as does an upstream that is connected.
"""
