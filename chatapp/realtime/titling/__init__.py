"""Titles of conversations, written by the model that an administrator chose.

They replace the first words of the prompt. `wording` is pure: it writes the request and finds the
title in the answer. `titles` sends it, once per conversation and never while a reply runs in it.
Failures are logged and not shown to anybody.

Imports `realtime.generation` and what is below `realtime`.
"""

from chatapp.realtime.titling.titles import Titles

__all__ = ["Titles"]
