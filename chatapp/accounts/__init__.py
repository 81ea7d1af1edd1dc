"""Creating accounts, signing in, and confirming identity before sensitive changes.

The setup link creates the first account. Others come from an administrator, an invitation, sign-up
by email domain, or the organisation's OpenID Connect provider.

Imports `realtime`, `sessions`, `models` and what is below them.
"""

from chatapp.accounts.backend import Backend

__all__ = ["Backend"]  # sessions store this path
