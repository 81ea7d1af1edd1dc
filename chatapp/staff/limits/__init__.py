"""Limits and prices: what administrators set, and what is used of it, by whom."""
