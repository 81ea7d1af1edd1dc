"""The branches of a conversation: the one that its owner reads, and its parts that a page shows."""

import uuid
from collections.abc import Sequence
from dataclasses import replace

from django.db import models

from chatapp.models.conversations.messages.messages import Message, load_streaming_replies
from chatapp.models.conversations.threads import branches
from chatapp.models.conversations.threads.branch_history import (
    BranchHistory,
    branch_history,
    branch_history_until,
)
from chatapp.models.conversations.threads.context_cuts import Cuts, last_cut, lifted_cuts, load_cuts
from chatapp.models.conversations.threads.thread_pages import ThreadPage
from chatapp.models.refusals import ChatNotFound
from chatapp.upstream.wire.requests.estimates import BYTES_PER_TOKEN, MIDDLE, PromptSize


class Branched(models.Model):
    """Finds branches of a conversation, and records which one its owner read last."""

    # The last message of the branch that its owner read last. If it no longer exists, the newest
    # branch is shown.
    active_leaf = models.UUIDField(null=True, editable=False)
    # How often its cuts have changed; 0 if it never had any, so most turns need not look for them.
    cut_changes = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        abstract = True

    def history_through(self, through: uuid.UUID | None) -> BranchHistory:
        """Return the branch through this message, as it is sent to an upstream; see `branches`."""
        return branch_history(self.pk, through, self.active_leaf, self._cuts)

    def history_until(self, message: uuid.UUID | None) -> BranchHistory:
        """Return the branch up to and including this message, as it is sent to an upstream."""
        return branch_history_until(self.pk, message, self._cuts)

    def sent_tokens(self, through: uuid.UUID | None) -> int:
        """Return about how many tokens are sent of the branch through this message."""
        history = self.history_through(through).history()
        return PromptSize.of(history).tokens(BYTES_PER_TOKEN, MIDDLE)

    def load_thread_page(self, through: uuid.UUID | None = None) -> ThreadPage:
        """Return the branch of the streaming reply, or else of this message, without messages.

        Only its end is read; see `ThreadPage`.
        """
        streaming = load_streaming_replies(self.pk)
        for reply in streaming[:1]:
            # If several models were asked at once, the person may have chosen one reply by now.
            through = reply.parent_id if reply.parent_id == self.active_leaf else reply.pk
        return self._branch(through, streaming)

    def view(self, through: uuid.UUID | None = None) -> ThreadPage:
        """Return the newest messages of the branch that `load_thread_page` finds."""
        return self.load_thread_page(through).newest()

    def view_around(self, at: uuid.UUID) -> ThreadPage:
        """Return this message and those around it. Raises `ChatNotFound`."""
        return self._find_branch(at, load_streaming_replies(self.pk)).around(at)

    def open_around(self, at: uuid.UUID) -> ThreadPage:
        """Return `view_around(at)`, and make its branch the one that the owner reads.

        Raises `ChatNotFound`.
        """
        return self._activate_page(self.view_around(at))

    def open_at_end(self, of: uuid.UUID) -> ThreadPage:
        """Return the newest messages of its branch, and make that the one that the owner reads.

        Raises `ChatNotFound`.
        """
        return self._activate_page(self._find_branch(of, load_streaming_replies(self.pk)).newest())

    def prompts(self, of: uuid.UUID | None) -> list[uuid.UUID]:
        """Return the ids of the prompts on the branch of this message, oldest first.

        Uses the branch that `load_thread_page` finds if there is no such message.
        """
        try:
            return (self._find_branch(of) if of else self.load_thread_page()).prompts()
        except ChatNotFound:
            return self.load_thread_page().prompts()

    def earlier(self, than: uuid.UUID) -> ThreadPage:
        """Return the messages before this one. Raises `ChatNotFound`."""
        return self._find_branch(than).before(than)

    def later(self, than: uuid.UUID) -> ThreadPage:
        """Return the messages after this one. Raises `ChatNotFound`."""
        return self._find_branch(than).after(than)

    def activate_branch(self, through: uuid.UUID) -> None:
        """Make the branch of this message the one that the owner reads. Raises `ChatNotFound`."""
        self._activate(self._find_branch(through))

    def go_on_from(self, message: uuid.UUID | None) -> None:
        """Make the branch through this message the active one, or the newest if it is None."""
        self._activate(self._branch(message) if message else ThreadPage(self, []))

    @property
    def _cuts(self) -> Cuts:
        return load_cuts(self.pk, self.cut_changes)

    def _activate_page(self, view: ThreadPage) -> ThreadPage:
        # Following a link to one of several replies shown side by side does not choose it.
        is_choice = view.end is not None and view.end.parent_id == self.active_leaf
        if view.leaf != self.active_leaf and not is_choice:
            self._activate(view)
        return view

    def _activate(self, view: ThreadPage) -> None:
        self.active_leaf = view.leaf
        stored = type(self)._default_manager.filter(pk=self.pk)
        stored.update(active_leaf=self.active_leaf)

    def _branch(self, through: uuid.UUID | None, streaming: Sequence[Message] = ()) -> ThreadPage:
        """Return the branch without messages.

        It ends in all replies to its last prompt if none of them was chosen or continued.
        """
        page = self._page(through, streaming)
        if not self.cut_changes:
            return page
        cut = last_cut(self.pk, page.end.pk if page.end else None)
        return replace(page, cut=cut, lifted=lifted_cuts(self.pk))

    def _page(self, through: uuid.UUID | None, streaming: Sequence[Message]) -> ThreadPage:
        end = branches.end(self.pk, through, self.active_leaf)
        # Of replies asked for at once, `end` is the one stored last, so its slot is not 0.
        if end is None or not end.slot or end.pk in (through, self.active_leaf):
            return ThreadPage(self, [], end, streaming)
        together = branches.parallel_replies(end)
        if followed := branches.find_newest_continued(together):
            return ThreadPage(self, [], branches.end(self.pk, followed, None), streaming)
        return ThreadPage(self, [], together[0], streaming, together if len(together) > 1 else ())

    def _find_branch(self, message: uuid.UUID, streaming: Sequence[Message] = ()) -> ThreadPage:
        present = Message.objects.filter(conversation=self.pk, deleted_at=None)
        if not present.filter(pk=message).exists():
            raise ChatNotFound
        return self._branch(message, streaming)
