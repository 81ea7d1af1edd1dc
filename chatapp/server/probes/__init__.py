"""Endpoints for machines: liveness, readiness and metrics.

Imports `realtime` and what is below it.
"""
