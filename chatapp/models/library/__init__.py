"""The library: what people write once and use again, share with others, and change in versions.

Imports `policies`, `platform`, `audit`, `accounts` and `refusals`.
"""
