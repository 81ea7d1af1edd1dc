"""Sessions and access: which sessions are valid and for how long, allowed origins, rate limits.

Imports `models` and what is below it.
"""
