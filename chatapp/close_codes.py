"""The codes with which the app closes a tab's socket.

The page has them by their names, in `data-close-codes`, since its scripts do something else after
each. Those below 4000 have the meaning of the IANA registry of WebSocket close codes.
"""

from enum import IntEnum


class CloseCode(IntEnum):
    FLOOD = 1008  # the socket sent more than anybody needs
    TOO_LARGE = 1009  # it sent a message that is larger than any that is taken
    RESTARTING = 1012  # this process stops: come back, to another one perhaps
    TRY_AGAIN_LATER = 1013
    SIGNED_OUT = 4401  # nobody is signed in on its session any more
    DEACTIVATED = 4403  # the account was deactivated or deleted
    TOO_MANY_TABS = 4429
