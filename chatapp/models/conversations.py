"""Conversations: whose they are, their branches, and what is asked in them."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from django.db import IntegrityError, models, transaction
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import Truncator

from chatapp.models import branches
from chatapp.models.messages import ONE_STREAMS, STORED, Message
from chatapp.models.refusals import NotHere, StillStreaming
from chatapp.models.statements import Insert, Query, Update
from chatapp.models.trees import Tree
from chatapp.models.upstreams import ModelChoice, Upstream
from chatapp.models.usage import AT_MOST, Usage
from chatapp.models.users import User

LONGEST_TITLE = 80
ERASED_AT_ONCE = 500  # messages


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def named(self, pk: uuid.UUID) -> "Conversation":
        """The one of this id; raises `NotHere` where it is not among these."""
        conversation = self.filter(pk=pk).first()
        if conversation is None:
            raise NotHere
        return conversation

    def after(self, used: datetime, pk: uuid.UUID | None) -> Self:
        """Those that follow this one in the order of their last use; without `pk`, that moment."""
        rest = self.filter(updated_at__lte=used)
        # Said so that the index answers it: an OR of the two would be a filter of all rows.
        return rest.exclude(updated_at=used, pk__gte=pk) if pk else rest.exclude(updated_at=used)

    def with_usage(self) -> Self:
        """Adds the sums over a conversation's replies that compare what it cost.

        `reply_count`, `total_tokens`, `estimated_tokens` (those of the total that are estimated),
        `upper_tokens` (what those are at most)
        and `unknown_replies` (how many replies the total leaves out); and `has_flagged`, whether
        an upstream's moderation flagged one. Subqueries, so that a join of a later filter
        multiplies nothing.
        """
        usage = Usage.objects.filter(message__conversation=models.OuterRef("pk"))
        estimated = usage.filter(provenance=Usage.Provenance.ESTIMATED)
        unknown = usage.filter(provenance=Usage.Provenance.UNKNOWN)
        return self.annotate(
            reply_count=_of_conversation(usage, models.Count("pk")),
            total_tokens=_of_conversation(usage, models.Sum("total_tokens")),
            estimated_tokens=_of_conversation(estimated, models.Sum("total_tokens")),
            upper_tokens=_of_conversation(estimated, models.Sum(AT_MOST)),
            unknown_replies=_of_conversation(unknown, models.Count("pk")),
            has_flagged=models.Exists(
                Message.objects.filter(conversation=models.OuterRef("pk"), is_flagged=True)
            ),
        )


def _of_conversation(usage: "models.QuerySet[Usage]", number: models.Aggregate) -> Coalesce:
    group = usage.order_by().values("message__conversation")
    return Coalesce(models.Subquery(group.annotate(number=number).values("number")), 0)


class Conversation(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=LONGEST_TITLE)
    created_at = models.DateTimeField(auto_now_add=True)
    # Orders a person's conversations: see `_moment_of_use`.
    updated_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = models.Manager.from_queryset(ConversationQuerySet)()

    # Set by `with_usage`.
    reply_count: int
    total_tokens: int
    estimated_tokens: int
    upper_tokens: int
    unknown_replies: int
    has_flagged: bool

    class Meta:
        ordering = ["-updated_at", "-id"]
        indexes = [models.Index(fields=["user", "-updated_at", "-id"])]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return self._url

    @cached_property
    def _url(self) -> str:
        return reverse("conversation", args=[self.pk])  # which takes longer than a row to draw

    @staticmethod
    def title_of(prompt: str) -> str:
        return Truncator(" ".join(prompt.split())).chars(LONGEST_TITLE)

    def rename(self, title: str) -> None:
        """It keeps its place among the others; nothing comes of one that was deleted meanwhile."""
        self.title = title
        Conversation.objects.filter(pk=self.pk).update(title=title)

    def erase(self) -> None:
        """Deletes it with all that it holds, the newest messages first.

        In short transactions, so that nobody waits long for the database; where one fails, what is
        left is a thread that ends earlier, and can be deleted like any other.
        """
        while self.erase_newest():
            pass
        with transaction.atomic():
            # A reply that is saved just now waits, and is then found to have been deleted.
            Conversation.objects.select_for_update().filter(pk=self.pk).first()
            self.delete()

    @transaction.atomic
    def erase_newest(self) -> int:
        """Deletes as many messages as may go at once; returns how many there were."""
        newest = list(self.messages.reverse().values_list("pk", flat=True)[:ERASED_AT_ONCE])
        Message.objects.filter(pk__in=newest).only("pk").delete()
        return len(newest)

    def ask(
        self,
        prompt_id: uuid.UUID,
        text: str,
        parent: "Message | None",
        upstream: Upstream,
        model: str,
        streamed_by: uuid.UUID,
        *,
        is_continuation: bool = False,
    ) -> tuple["Message", "Message"]:
        """Stores a prompt, and the reply that will answer it as streaming; returns both.

        A continuation has no text. Stores the conversation too where it is new. Raises
        `StillStreaming` where a reply to it is being written, in whatever process.
        """
        prompt = Message(
            id=prompt_id,
            conversation=self,
            parent=parent,
            role=Message.Role.USER,
            content=text,
            is_continuation=is_continuation,
        )
        return prompt, self._stored([prompt], self._reply_to(prompt, upstream, model, streamed_by))

    def answer(
        self, prompt: "Message", upstream: Upstream, model: str, streamed_by: uuid.UUID
    ) -> "Message":
        """Stores one more reply to `prompt`, streaming from now on, and returns it.

        Raises `StillStreaming` as `ask` does.
        """
        return self._stored([], self._reply_to(prompt, upstream, model, streamed_by))

    def _reply_to(
        self, prompt: "Message", upstream: Upstream, model: str, streamed_by: uuid.UUID
    ) -> "Message":
        return Message(
            conversation=self,
            parent=prompt,
            role=Message.Role.ASSISTANT,
            ending=Message.STREAMING,
            upstream=upstream,
            model=model,
            streamed_by=streamed_by,
        )

    def _stored(self, before: list["Message"], reply: "Message") -> "Message":
        """Few statements, since while many prompts come each waits for its turn to run."""
        with transaction.atomic(savepoint=False):
            self.updated_at = self._moment_of_use()
            if self._state.adding:
                _BEGUN.run(self)
            elif not _USED.run(self):
                raise NotHere
            try:
                STORED.run(*before, reply)
            except IntegrityError as error:
                # PostgreSQL names the constraint, SQLite its columns.
                if ONE_STREAMS in str(error) or "chatapp_message.conversation_id" in str(error):
                    raise StillStreaming from error
                raise
        return reply

    def _moment_of_use(self) -> datetime:
        """Now, or just after the person's last use where a clock of another time told that one."""
        last = _USED_LAST.first(self.user_id)
        now = timezone.now()
        return max(now, last.updated_at + timedelta(microseconds=1)) if last else now

    @property
    def model_used_last(self) -> ModelChoice | None:
        """Of its newest reply, in whichever branch; None where none is left."""
        replies = self.messages.filter(role=Message.Role.ASSISTANT, upstream__isnull=False)
        newest = replies.order_by(models.F("sequence").desc(nulls_last=True))
        used = newest.values_list("upstream", "model").first()
        return ModelChoice(*used) if used else None

    def thread(self, through: "uuid.UUID | None" = None) -> list["Message"]:
        """One branch, oldest message first: the newest that leads through the message named."""
        return self._tree().branch(through)

    def said(self, through: "uuid.UUID | None") -> list["Message"]:
        """The same branch with no more of each message than an upstream is sent."""
        return branches.said(self.pk, through)

    def view(self, head: "uuid.UUID | None" = None) -> "View":
        """The branch through `head`, or through the reply that streams where one does."""
        tree = self._tree()
        streaming = tree.streaming
        return View(self, tree.branch(streaming.pk if streaming else head), streaming)

    def _tree(self) -> Tree:
        related = self.messages.select_related("usage", "upstream").annotate(
            keeps_logprobs=models.Q(logprobs__isnull=False)
        )
        # One takes long to decrypt, the other to read, in which nobody else has a turn.
        messages = list(related.defer("upstream__api_key", "logprobs"))
        for message in messages:
            message.conversation = self
        return Tree(messages)

    @classmethod
    def own(cls, user: User, pk: uuid.UUID) -> "Conversation":
        """This person's; raises `NotHere` where they have none of this id."""
        conversation = _OWN.first(user.pk, pk)
        if conversation is None:
            raise NotHere
        return conversation


_BEGUN = Insert(Conversation)
_USED = Update(Conversation, ["updated_at"])
_USED_LAST = Query(
    lambda user: Conversation.objects.filter(user=user).only("updated_at")[:1], User._meta.pk
)
_OWN = Query(
    lambda user, pk: Conversation.objects.filter(user=user, pk=pk).order_by(),
    User._meta.pk,
    Conversation._meta.pk,
)


@dataclass(frozen=True)
class View:
    """A conversation as it is shown."""

    conversation: Conversation
    thread: list["Message"]
    streaming: "Message | None"  # in whatever process

    @property
    def head(self) -> "Message | None":
        return self.thread[-1] if self.thread else None
