"""Replies as HTML: the partials of a page, and the frames that keep it up to date.

A frame is a string of htmx out-of-band swaps. The page and the socket render the same templates,
so a reply looks the same while it streams, after a reload and in the review. Nothing here does I/O.

Imports `rendering.pool`, `rendering.markdown` and what is below `rendering`.
"""

from chatapp.rendering.fragments.environment import warm_up
from chatapp.rendering.fragments.live import LiveReply
from chatapp.rendering.fragments.page import (
    composer_fragment,
    deleted_fragment,
    draft_fragment,
    emptied_fragment,
    ended_fragment,
    limit_note_fragment,
    list_fragment,
    new_policy_fragment,
    onward_fragment,
    policy_fragment,
    problem_fragment,
    restored_fragment,
    row_gone_fragment,
    settings_fragment,
    sidebar_fragment,
    summary_ended_fragment,
    summary_progress_fragment,
    title_fragment,
)
from chatapp.rendering.fragments.replies import (
    ReplyView,
    collect_texts,
    delay_fragment,
    snapshot_fragment,
)
from chatapp.rendering.fragments.rows import conversation_row
from chatapp.rendering.fragments.shared import (
    filter_for_readers,
    name_shown_regions,
    shared_html,
    shared_snapshot,
    shared_thread_fragment,
    shared_title_fragment,
)
from chatapp.rendering.fragments.threads import (
    ThreadParts,
    review_html,
    thread_fragment,
    thread_html,
    turn_fragment,
)
from chatapp.rendering.fragments.words import chosen_model

__all__ = [
    "LiveReply",
    "ReplyView",
    "ThreadParts",
    "chosen_model",
    "collect_texts",
    "composer_fragment",
    "conversation_row",
    "delay_fragment",
    "deleted_fragment",
    "draft_fragment",
    "emptied_fragment",
    "ended_fragment",
    "filter_for_readers",
    "limit_note_fragment",
    "list_fragment",
    "name_shown_regions",
    "new_policy_fragment",
    "onward_fragment",
    "policy_fragment",
    "problem_fragment",
    "restored_fragment",
    "review_html",
    "row_gone_fragment",
    "settings_fragment",
    "shared_html",
    "shared_snapshot",
    "shared_thread_fragment",
    "shared_title_fragment",
    "sidebar_fragment",
    "snapshot_fragment",
    "summary_ended_fragment",
    "summary_progress_fragment",
    "thread_fragment",
    "thread_html",
    "title_fragment",
    "turn_fragment",
    "warm_up",
]
