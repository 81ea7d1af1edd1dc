"""The pages of limits and prices, and a person's page of their own limits.

Imports `accounts`, `models` and what is below them.
"""
