"""A person's conversation: its title, its branches, and the prompts and replies stored in it."""

import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, models, transaction
from django.db.models.expressions import Exists, RawSQL
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import Truncator

from chatapp.db.statements import Insert, Query, Update, build
from chatapp.models.accounts.users import User
from chatapp.models.conversations import branches, ledger
from chatapp.models.conversations.branch_history import (
    BranchHistory,
    branch_history,
    branch_history_until,
)
from chatapp.models.conversations.conversation_querysets import ConversationQuerySet
from chatapp.models.conversations.folders import INDEXES, IS_KEPT
from chatapp.models.conversations.messages import ONE_STREAMS, STORED, Message
from chatapp.models.conversations.paths import path_of
from chatapp.models.conversations.projects import Project
from chatapp.models.conversations.thread_pages import ThreadPage
from chatapp.models.platform.installation import Installation
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.policies.legal_holds import refuse_held
from chatapp.models.refusals import NotHere, StillStreaming
from chatapp.text.visible import from_first_visible

MAX_TITLE_LENGTH = 80
TEMPORARY = "Temporary chat"  # the title of one, which must not quote its prompt
ERASED_AT_ONCE = 500  # messages
UNINDEXED_TITLE = ~models.Q(indexed_title=models.F("title"))


class Conversation(models.Model):
    class TitledBy(models.TextChoices):
        PROMPT = "prompt"  # its first words
        MODEL = "model"
        PERSON = "person"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=MAX_TITLE_LENGTH)
    # The title in the search index. If `title` differs from it, the title is to be indexed again.
    indexed_title = models.CharField(max_length=MAX_TITLE_LENGTH, null=True, editable=False)  # noqa: DJ001 - none yet is not an empty one
    created_at = models.DateTimeField(auto_now_add=True)
    # Orders a person's conversations: see `_next_updated_at`.
    updated_at = models.DateTimeField(default=timezone.now, db_index=True)
    titled_by = models.CharField(
        max_length=6, choices=TitledBy, default=TitledBy.PROMPT, db_default=TitledBy.PROMPT
    )
    project = models.ForeignKey(
        Project, models.SET_NULL, null=True, blank=True, related_name="conversations"
    )
    # The last message of the branch that its owner read last. If it no longer exists, the newest
    # branch is shown.
    active_leaf = models.UUIDField(null=True, editable=False)
    is_pinned = models.BooleanField(default=False, db_default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    trashed_at = models.DateTimeField(null=True, blank=True)
    is_temporary = models.BooleanField(default=False, db_default=False)
    # The size of the messages copied into it and of the notes on its replies; see `storage`.
    stored_bytes = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    # Set when a reply ends while no tab of its owner shows it; cleared when one does.
    is_unread = models.BooleanField(default=False, db_default=False, editable=False)

    objects = models.Manager.from_queryset(ConversationQuerySet)()

    has_title_model = True  # assumed; only `held` checks whether a model for titles is set

    # Set by `with_usage`.
    reply_count: int
    total_tokens: int
    estimated_tokens: int
    upper_tokens: int
    unknown_replies: int
    total_cost: int
    estimated_cost: int
    has_flagged: bool

    class Meta:
        ordering = ["-updated_at", "-id"]
        indexes = [
            models.Index(fields=["user", "-updated_at", "-id"]),
            models.Index(
                fields=["updated_at"],
                condition=models.Q(is_temporary=True),
                name="temporary_conversations",
            ),
            models.Index(fields=["id"], condition=UNINDEXED_TITLE, name="title_to_be_indexed"),
            *INDEXES,
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return self._url

    @cached_property
    def _url(self) -> str:
        return path_of("conversation", self.pk)

    @staticmethod
    def title_of(prompt: str) -> str:
        words = Truncator(" ".join(from_first_visible(prompt).split())).chars(MAX_TITLE_LENGTH)
        return words[:MAX_TITLE_LENGTH]  # `chars` does not count combining characters

    def rename(self, title: str) -> None:
        """Set the title without moving the conversation in its list.

        Does nothing if it was deleted in the meantime.
        """
        self.title, self.titled_by = title, self.TitledBy.PERSON
        Conversation.objects.filter(pk=self.pk).update(title=title, titled_by=self.titled_by)

    def claim_title(self, first_words: str) -> bool:
        """Reserve the right to have a model write the title; return whether it was granted.

        It is granted once, and only while the title is still the prompt's first words.
        """
        untitled = Conversation.objects.filter(
            pk=self.pk,
            titled_by=self.TitledBy.PROMPT,
            title=first_words,
            is_temporary=False,
            trashed_at=None,
        )
        return bool(untitled.update(titled_by=self.TitledBy.MODEL))

    def give_title(self, title: str, first_words: str) -> bool:
        """Replace the first words by a model's title; return whether they were still the title."""
        claimed = Conversation.objects.filter(
            pk=self.pk, titled_by=self.TitledBy.MODEL, title=first_words
        )
        return bool(claimed.update(title=title))

    def mark_unread(self) -> None:
        """Record that nobody saw how its reply ended.

        Does nothing if the conversation was deleted in the meantime.
        """
        Conversation.objects.filter(pk=self.pk).update(is_unread=True)

    def mark_read(self) -> bool:
        """Clear the unread mark; return whether it was set."""
        if not self.is_unread:
            return False
        self.is_unread = False
        return bool(Conversation.objects.filter(pk=self.pk).update(is_unread=False))

    def erase(self) -> Counter[str]:
        """Delete it with all its messages, newest first; return the number of rows per model.

        Uses short transactions so that nobody waits long for the database. If one fails, a shorter
        thread is left, which can be deleted like any other. Raises `Held`.
        """
        deleted: Counter[str] = Counter()
        while True:
            while ledger.complete():
                pass
            if not (some := self.erase_newest()):
                break
            deleted += some
        with transaction.atomic():
            refuse_held(self.user_id, self.pk)
            # A concurrent save of a reply waits for this lock, and then finds the reply deleted.
            Conversation.objects.select_for_update().filter(pk=self.pk).first()
            return deleted + Counter(self.delete()[1])

    @transaction.atomic
    def erase_newest(self) -> Counter[str]:
        """Delete one batch of messages; return the number of rows per model. Raises `Held`.

        A concurrent `ask` either commits first or runs on what this leaves.
        """
        refuse_held(self.user_id, self.pk)
        Conversation.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
        newest = list(self.messages.reverse().values_list("pk", flat=True)[:ERASED_AT_ONCE])
        return +Counter(Message.objects.filter(pk__in=newest).only("pk").delete()[1])

    def begin(self) -> None:
        """Store this new conversation as the one that its owner used last."""
        self.updated_at = self._next_updated_at()
        self.save(force_insert=True)

    def ask(
        self,
        prompt_id: uuid.UUID,
        text: str,
        parent: uuid.UUID | None,
        upstream: Upstream,
        model: str,
        streamed_by: uuid.UUID,
        *,
        is_continuation: bool = False,
        others: Sequence[tuple[Upstream, str]] = (),
    ) -> list["Message"]:
        """Store a prompt and its reply, which is streaming from now on.

        Return both, followed by one reply for each of the `others`, models that are asked at the
        same time. A continuation has no text. A new conversation is stored too.

        Raises `StillStreaming` if a reply is being written in this conversation, in any process,
        and `NotHere` if the conversation was deleted.
        """
        prompt = build(
            Message,
            id=prompt_id,
            conversation=self,
            parent_id=parent,
            role=Message.Role.USER,
            content=text,
            is_continuation=is_continuation,
        )
        replies = [
            self._reply_to(prompt, *choice, streamed_by, slot)
            for slot, choice in enumerate([(upstream, model), *others])
        ]
        self._store([prompt], replies)
        return [prompt, *replies]

    def answer(
        self, prompt: "Message", upstream: Upstream, model: str, streamed_by: uuid.UUID
    ) -> "Message":
        """Store and return one more reply to `prompt`, streaming from now on.

        Raises the same errors as `ask`.
        """
        reply = self._reply_to(prompt, upstream, model, streamed_by)
        self._store([], [reply])
        return reply

    def _reply_to(
        self,
        prompt: "Message",
        upstream: Upstream,
        model: str,
        streamed_by: uuid.UUID,
        slot: int = 0,
    ) -> "Message":
        return build(
            Message,
            conversation=self,
            parent=prompt,
            role=Message.Role.ASSISTANT,
            ending=Message.STREAMING,
            upstream=upstream,
            model=model,
            streamed_by=streamed_by,
            slot=slot,
        )

    def _store(self, prompts: list["Message"], replies: list["Message"]) -> None:
        """Store the messages in few statements: under load, each one waits for its turn to run."""
        first, *others = replies
        for other in others:
            other.created_at = first.created_at
        with transaction.atomic(savepoint=False):
            self.updated_at = self._next_updated_at()
            self.active_leaf = first.parent_id if others else first.pk
            if self._state.adding:
                _INSERT.run(self)
            elif not _TOUCH.run(self):
                raise NotHere
            elif _STREAMING.first(self.pk):  # in any slot
                raise StillStreaming
            try:
                STORED.run(*prompts, *replies)
            except IntegrityError as error:
                # PostgreSQL's message names the constraint, SQLite's its columns.
                if ONE_STREAMS in str(error) or "chatapp_message.conversation_id" in str(error):
                    raise StillStreaming from error
                raise

    def _next_updated_at(self) -> datetime:
        """Return now, or just after the person's last use if another host's clock was ahead."""
        last = _LAST_USED.first(self.user_id)
        now = timezone.now()
        return max(now, last.updated_at + timedelta(microseconds=1)) if last else now

    @staticmethod
    def model_used_last_by(user: User) -> ModelChoice | None:
        """Return the model of the newest reply in the conversation that this person used last.

        The reply may be in any branch; of several models asked at once, the first counts. None if
        there is no such reply.
        """
        last = _LAST_USED.first(user.pk)
        reply = _NEWEST_REPLY.first(last.pk) if last else None
        return ModelChoice(reply.upstream_id, reply.model) if reply and reply.upstream_id else None

    @property
    def instructions(self) -> str:
        """The project's instructions for the model; empty without a project."""
        return self.project.instructions if self.project else ""

    def said(self, through: "uuid.UUID | None") -> BranchHistory:
        """Return the branch through this message, as it is sent to an upstream; see `branches`."""
        return branch_history(self.pk, through, self.active_leaf)

    def said_until(self, message: "uuid.UUID | None") -> BranchHistory:
        """Return the branch up to and including this message, as it is sent to an upstream."""
        return branch_history_until(self.pk, message)

    def standing(self, through: "uuid.UUID | None" = None) -> ThreadPage:
        """Return the branch of the streaming reply, or else of this message, without messages.

        Only its end is read; see `ThreadPage`.
        """
        streaming = _STREAMING.all(self.pk)
        for one in streaming[:1]:
            # If several models were asked at once, the person may have chosen one reply by now.
            through = one.parent_id if one.parent_id == self.active_leaf else one.pk
        return self._branch(through, streaming)

    def view(self, through: "uuid.UUID | None" = None) -> ThreadPage:
        """Return the newest messages of the branch that `standing` finds."""
        return self.standing(through).newest()

    def view_around(self, at: uuid.UUID) -> ThreadPage:
        """Return this message and those around it. Raises `NotHere`."""
        return self._branch_of(at, _STREAMING.all(self.pk)).around(at)

    def opened_around(self, at: uuid.UUID) -> ThreadPage:
        """Return `view_around(at)`, and make its branch the one that the owner reads.

        Raises `NotHere`.
        """
        return self._opened(self.view_around(at))

    def opened_at_end(self, of: uuid.UUID) -> ThreadPage:
        """Return the newest messages of its branch, and make that the one that the owner reads.

        Raises `NotHere`.
        """
        return self._opened(self._branch_of(of, _STREAMING.all(self.pk)).newest())

    def prompts(self, of: "uuid.UUID | None") -> list[uuid.UUID]:
        """Return the ids of the prompts on the branch of this message, oldest first.

        Uses the branch that `standing` finds if there is no such message.
        """
        try:
            return (self._branch_of(of) if of else self.standing()).prompts()
        except NotHere:
            return self.standing().prompts()

    def earlier(self, than: uuid.UUID) -> ThreadPage:
        """Return the messages before this one. Raises `NotHere`."""
        return self._branch_of(than).before(than)

    def later(self, than: uuid.UUID) -> ThreadPage:
        """Return the messages after this one. Raises `NotHere`."""
        return self._branch_of(than).after(than)

    def read(self, through: uuid.UUID) -> None:
        """Make the branch of this message the one that the owner reads. Raises `NotHere`."""
        self._activate(self._branch_of(through))

    def go_on_from(self, message: "uuid.UUID | None") -> None:
        """Make the branch through this message the active one, or the newest if it is None."""
        self._activate(self._branch(message) if message else ThreadPage(self, []))

    def _opened(self, view: ThreadPage) -> ThreadPage:
        # Following a link to one of several replies shown side by side does not choose it.
        is_choice = view.end is not None and view.end.parent_id == self.active_leaf
        if view.leaf != self.active_leaf and not is_choice:
            self._activate(view)
        return view

    def _activate(self, view: ThreadPage) -> None:
        self.active_leaf = view.leaf
        Conversation.objects.filter(pk=self.pk).update(active_leaf=self.active_leaf)

    def _branch(
        self, through: "uuid.UUID | None", streaming: Sequence["Message"] = ()
    ) -> ThreadPage:
        """Return the branch without messages.

        It ends in all replies to its last prompt if none of them was chosen or continued.
        """
        end = branches.end(self.pk, through, self.active_leaf)
        # Of replies asked for at once, `end` is the one stored last, so its slot is not 0.
        if end is None or not end.slot or end.pk in (through, self.active_leaf):
            return ThreadPage(self, [], end, streaming)
        together = branches.parallel_replies(end)
        if followed := branches.newest_continued(together):
            return ThreadPage(self, [], branches.end(self.pk, followed, None), streaming)
        return ThreadPage(self, [], together[0], streaming, together if len(together) > 1 else ())

    def _branch_of(self, message: uuid.UUID, streaming: Sequence["Message"] = ()) -> ThreadPage:
        if not self.messages.filter(pk=message, deleted_at=None).exists():
            raise NotHere
        return self._branch(message, streaming)

    @classmethod
    def own(cls, user: User, pk: uuid.UUID) -> "Conversation":
        """Return this person's conversation. Raises `NotHere` if there is none or it is trashed."""
        return _or_not_here(_OWN.first(user.pk, pk))

    @classmethod
    def held(cls, user: User, pk: uuid.UUID) -> "Conversation":
        """Return the same as `own`, with its row locked for the rest of the transaction."""
        return _or_not_here(_HELD.first(user.pk, pk))


def _or_not_here(conversation: Conversation | None) -> Conversation:
    if conversation is None:
        raise NotHere
    return conversation


_INSERT = Insert(Conversation)
_TOUCH = Update(Conversation, ["updated_at", "active_leaf"])
_LAST_USED = Query(
    lambda user: Conversation.objects.filter(user=user).only("updated_at")[:1], User._meta.pk
)
_NEWEST_REPLY = Query(
    lambda conversation: (
        Message.objects.filter(
            conversation=conversation,
            role=Message.Role.ASSISTANT,
            upstream__isnull=False,
            slot=0,
            deleted_at=None,
        )
        .order_by(models.F("sequence").desc(nulls_last=True))
        .only("upstream", "model")[:1]
    ),
    Conversation._meta.pk,
)
_STREAMING = Query(
    # Raw SQL, because SQLite uses the partial index only if the condition is written as there.
    lambda conversation: (
        Message.objects.filter(
            RawSQL("chatapp_message.ending = 'streaming'", (), models.BooleanField()),
            conversation=conversation,
            deleted_at=None,
        )
        .only("parent", "streamed_by")
        .order_by("slot")
    ),
    Conversation._meta.pk,
)
_OWN = Query(
    lambda user, pk: Conversation.objects.filter(IS_KEPT, user=user, pk=pk).order_by(),
    User._meta.pk,
    Conversation._meta.pk,
)
_HELD = Query(
    lambda user, pk: (
        Conversation.objects.filter(IS_KEPT, user=user, pk=pk)
        .annotate(has_title_model=Exists(Installation.objects.exclude(title_upstream=None)))
        .select_for_update(no_key=True)
        .order_by()
    ),
    User._meta.pk,
    Conversation._meta.pk,
)
