"""How accounts come to be, how people sign in, and when they must show again that it is they.

The first account comes by the setup link, all others by an administrator.
"""

from chatapp.accounts.backend import Backend

__all__ = ["Backend"]  # sessions store this path
