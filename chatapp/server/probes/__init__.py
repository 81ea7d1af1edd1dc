"""Answers monitoring: `/healthz`, `/readyz` and `/metrics`.

Imports `realtime` and what is below it.
"""
