"""Additions to Django's database layer: prepared statements, locks, encrypted fields, error texts.

Imports `checks`.
"""
