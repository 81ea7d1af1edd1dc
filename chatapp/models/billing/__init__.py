"""Usage and its cost: the ledger, sums per day, prices, limits, and reservations.

Imports `platform` and what is below it, but not `policies`.
"""
