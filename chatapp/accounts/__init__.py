"""Accounts: creating and erasing them, signing in, and confirming a password before risky changes.

The first account comes from the setup link, others from administrators, invitations and single
sign-on. Imports `realtime`, `sessions`, `models` and what is below them.
"""

from chatapp.accounts.backend import Backend

__all__ = ["Backend"]  # sessions store this path
