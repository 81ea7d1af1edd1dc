"""Summaries of the oldest part of a chat, written by the model that a person chose.

`wording` is pure: it writes the requests and finds the summary in the answer. `summaries` sends
them, one after the other if the part is too long for the model, and can be cancelled. `reports`
shows their progress in all tabs of the conversation, in every process.

Imports `realtime.cluster`, `realtime.generation` and what is below these.
"""

from chatapp.realtime.summarising.summaries import RunningSummary, Summaries

__all__ = ["RunningSummary", "Summaries"]
