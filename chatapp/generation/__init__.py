"""Runs one reply: a `Generation`, in a task of its own.

A generation opens the upstream stream, folds its events, hands frames to its audience, runs the
tools that the model calls, and ends by its stream's end, by `stop`, or because nobody waits for it
any more. It closes the upstream first and saves afterwards; nothing that arrived is lost, whatever
the ending. Which process it runs in, and where its viewers are, it does not know.
"""

from chatapp.generation.generation import Generation
from chatapp.generation.pace import Pace
from chatapp.generation.storing import stored
from chatapp.generation.unsupported import Unsupported

__all__ = ["Generation", "Pace", "Unsupported", "stored"]
