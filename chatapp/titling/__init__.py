"""Titles of conversations: a short one by the administrator's model, in place of the first words.

`wording` is pure: what the model is asked, and what of its answer is a title. `titles` asks, once
for a conversation, and never while a reply runs in it. What fails is logged and shown nowhere.
"""

from chatapp.titling.titles import Titles

__all__ = ["Titles"]
