"""Replies as HTML: the partials of a page, and the frames that keep it up to date.

A frame is a string of htmx out-of-band swaps. The page and the socket render the same templates,
so a reply looks the same while it streams, after a reload and in the review. Nothing here does I/O.

Imports `rendering.pool`, `rendering.markdown` and what is below `rendering`.
"""

from chatapp.rendering.fragments.environment import warm_up
from chatapp.rendering.fragments.live import LiveReply
from chatapp.rendering.fragments.page import (
    composer_frame,
    deleted_frame,
    emptied_frame,
    ended_frame,
    limit_note_frame,
    list_frame,
    new_policy_frame,
    onward_frame,
    policy_frame,
    problem_frame,
    restored_frame,
    row_gone_frame,
    sidebar_frame,
    title_frame,
)
from chatapp.rendering.fragments.replies import ReplyView, delay_frame, snapshot_frame, texts_of
from chatapp.rendering.fragments.threads import (
    ThreadParts,
    review_html,
    thread_frame,
    thread_html,
    turn_frame,
)

__all__ = [
    "LiveReply",
    "ReplyView",
    "ThreadParts",
    "composer_frame",
    "delay_frame",
    "deleted_frame",
    "emptied_frame",
    "ended_frame",
    "limit_note_frame",
    "list_frame",
    "new_policy_frame",
    "onward_frame",
    "policy_frame",
    "problem_frame",
    "restored_frame",
    "review_html",
    "row_gone_frame",
    "sidebar_frame",
    "snapshot_frame",
    "texts_of",
    "thread_frame",
    "thread_html",
    "title_frame",
    "turn_frame",
    "warm_up",
]
