"""The commands of `manage.py`, one per module. Each must be documented in docs/.

May import every package.
"""
