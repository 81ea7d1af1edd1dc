"""Management commands, and what they share: serving, supervising processes, backups.

The top layer: may import every package.
"""
