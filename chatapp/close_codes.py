"""The codes with which the app closes a tab's socket.

The page gets them by name in `data-close-codes`, because its scripts react differently to each.
Codes below 4000 have their meaning from the IANA registry of WebSocket close codes.
"""

from enum import IntEnum


class CloseCode(IntEnum):
    FLOOD = 1008  # the client sent too many messages
    TOO_LARGE = 1009  # the client sent a message over the size limit
    RESTARTING = 1012  # this process is stopping: reconnect, perhaps to another one
    TRY_AGAIN_LATER = 1013
    NOT_SHARED = 4410  # the shared chat is no longer open to its reader
    SIGNED_OUT = 4401  # the session is no longer signed in
    DEACTIVATED = 4403  # the account was deactivated or deleted
    TOO_MANY_TABS = 4429
