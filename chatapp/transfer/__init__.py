"""Reads chats from the exports of other apps, and from our own. Pure: no Django, no models.

`detect` tells which app wrote an export, `read_chats` yields its chats as neutral records one at a
time, so that no file is ever in memory as a whole, and `read_chunks` reads a file of a message.
Nothing is unpacked to a path. All of it is untrusted: a damaged chat is yielded as `Skipped`.

`elements` splits a stream into chats, `formats` has a module for each app, and `tree` turns its
nodes into messages.
"""

from .reading import detect, is_database, read_chats, read_chunks, read_people
from .records import (
    Damaged,
    DamagedMessage,
    Format,
    Skipped,
    SourceChat,
    SourceFeedback,
    SourceFile,
    SourceMessage,
    SourcePerson,
    SourceRound,
    SourceToolRun,
    Unreadable,
)

__all__ = [
    "Damaged",
    "DamagedMessage",
    "Format",
    "Skipped",
    "SourceChat",
    "SourceFeedback",
    "SourceFile",
    "SourceMessage",
    "SourcePerson",
    "SourceRound",
    "SourceToolRun",
    "Unreadable",
    "detect",
    "is_database",
    "read_chats",
    "read_chunks",
    "read_people",
]
