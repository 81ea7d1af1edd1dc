"""Runs one reply: a `Generation`, in a task of its own.

A generation opens the upstream stream, folds its events, sends fragments to its audience and runs
the tools that the model calls. It ends with its stream, by `stop`, or when nobody is watching any
more. It closes the upstream first and saves afterwards, so no ending loses text that arrived. It
does not know which process it runs in or where its viewers are.

Imports `realtime.journal`, `realtime.viewers` and what is below `realtime`.
"""

from chatapp.realtime.generation.flush_rate import FlushRate
from chatapp.realtime.generation.generation import Generation
from chatapp.realtime.generation.options import build_request_preview
from chatapp.realtime.generation.storing import run_in_write_thread

__all__ = ["FlushRate", "Generation", "build_request_preview", "run_in_write_thread"]
