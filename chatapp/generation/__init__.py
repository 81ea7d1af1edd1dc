"""Runs replies: one `Generation` a reply, in a task of its own, and `Generations` for the process.

A generation opens the upstream stream, folds its events, hands frames to the tabs that show its
conversation, runs the tools that the model calls, and ends by its stream's end, by `stop`, or
because nobody waits for it any more. It closes the upstream first and saves afterwards; nothing
that arrived is lost, whatever the ending.

A reply's tabs may be anywhere: `exchange` carries its frames to other processes and their tabs'
wishes back, `presence` tells the database that this process lives.
"""

from chatapp.generation.audience import Tab
from chatapp.generation.generation import Generation
from chatapp.generation.presence import Presence
from chatapp.generation.process import (
    Generations,
    begin_as,
    generations,
    look_again_at,
    shut_down,
)
from chatapp.generation.remote import RemoteReply
from chatapp.generation.storing import stored

__all__ = [
    "Generation",
    "Generations",
    "Presence",
    "RemoteReply",
    "Tab",
    "begin_as",
    "generations",
    "look_again_at",
    "shut_down",
    "stored",
]
