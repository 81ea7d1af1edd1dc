"""What is kept: people, upstreams, conversations, their messages and what each reply cost.

Methods say what happens (`conversation.ask(…)`, `message.finish(…)`); what concerns many rows is a
queryset method. All of it is synchronous and short: one transaction a call.
"""

import uuid
from collections.abc import Iterable
from dataclasses import asdict
from typing import Self
from urllib.parse import urlsplit

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import connections, models, transaction
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone
from django.utils.text import Truncator
from encrypted_fields.fields import EncryptedTextField

from chatapp.upstream.errors import ErrorKind, UpstreamError
from chatapp.upstream.events import TokenUsage
from chatapp.upstream.reply import Ending, Reply


class User(AbstractUser):
    """A person. Ours from the first migration, so that it can grow."""


def validate_base_url(value: str) -> None:
    """Django's own URL validator would refuse the host names of a private network."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise ValidationError("This is no base URL, for example https://host/v1.")


class Upstream(models.Model):
    """A server that speaks `POST {base_url}/chat/completions`, and the key it wants."""

    name = models.CharField(max_length=100)
    base_url = models.CharField(
        "base URL",
        max_length=500,
        validators=[validate_base_url],
        help_text="Up to and with /v1, for example https://host/v1.",
    )
    api_key = EncryptedTextField("API key", blank=True, null=True)
    enabled = models.BooleanField(default=True, help_text="Its models are offered in the chat.")
    offered_models = models.TextField(
        "models", blank=True, help_text="One a line. Empty: all that the upstream lists."
    )
    from_environment = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ["-from_environment", "name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def connect_environment(cls, name: str, base_url: str, api_key: str) -> None:
        """Makes the environment's upstream of this name the one that is offered of its kind."""
        mine = cls.objects.filter(from_environment=True)
        mine.exclude(name=name).update(enabled=False)
        mine.update_or_create(
            from_environment=True,
            name=name,
            defaults={"base_url": base_url, "api_key": api_key, "enabled": True},
        )


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def with_usage(self) -> Self:
        """Adds the sums over a conversation's replies that compare what it cost.

        `reply_count`, `total_tokens`, `estimated_tokens` (those of the total that are estimated)
        and `unknown_replies` (how many replies the total leaves out). Subqueries, so that a join
        of a later filter multiplies nothing.
        """
        usage = Usage.objects.filter(message__conversation=models.OuterRef("pk"))
        estimated = usage.filter(provenance=Usage.Provenance.ESTIMATED)
        unknown = usage.filter(provenance=Usage.Provenance.UNKNOWN)
        return self.annotate(
            reply_count=_of_conversation(usage, models.Count("pk")),
            total_tokens=_of_conversation(usage, models.Sum("total_tokens")),
            estimated_tokens=_of_conversation(estimated, models.Sum("total_tokens")),
            unknown_replies=_of_conversation(unknown, models.Count("pk")),
        )


def _of_conversation(usage: "models.QuerySet[Usage]", number: models.Aggregate) -> Coalesce:
    group = usage.order_by().values("message__conversation")
    return Coalesce(models.Subquery(group.annotate(number=number).values("number")), 0)


class Conversation(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = models.Manager.from_queryset(ConversationQuerySet)()

    # Set by `with_usage`.
    reply_count: int
    total_tokens: int
    estimated_tokens: int
    unknown_replies: int

    class Meta:
        ordering = ["-updated_at"]
        indexes = [models.Index(fields=["user", "-updated_at"])]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("conversation", args=[self.pk])

    @staticmethod
    def title_of(prompt: str) -> str:
        return Truncator(" ".join(prompt.split())).chars(80)

    def ask(
        self,
        prompt_id: uuid.UUID,
        text: str,
        parent: "Message | None",
        upstream: Upstream,
        model: str,
    ) -> tuple["Message", "Message"]:
        """Stores a prompt, and the reply that will answer it as streaming; returns both.

        Stores the conversation too where it is new.
        """
        prompt = Message(
            id=prompt_id, conversation=self, parent=parent, role=Message.Role.USER, content=text
        )
        return prompt, self._stored([prompt], self._reply_to(prompt, upstream, model))

    def answer(self, prompt: "Message", upstream: Upstream, model: str) -> "Message":
        """Stores one more reply to `prompt`, streaming from now on, and returns it."""
        return self._stored([], self._reply_to(prompt, upstream, model))

    def _reply_to(self, prompt: "Message", upstream: Upstream, model: str) -> "Message":
        return Message(
            conversation=self,
            parent=prompt,
            role=Message.Role.ASSISTANT,
            ending=Message.STREAMING,
            upstream=upstream,
            model=model,
        )

    def _stored(self, before: list["Message"], reply: "Message") -> "Message":
        """Few statements, since while many prompts come each waits for its turn to run."""
        self.updated_at = timezone.now()
        with transaction.atomic(savepoint=False):
            self.save(update_fields=None if self._state.adding else ["updated_at"])
            Message.objects.bulk_create([*before, reply])
        return reply

    def thread(self, through: "uuid.UUID | None" = None) -> list["Message"]:
        """One branch, oldest message first: the newest that leads through the message named.

        Each message has `siblings`: those that share its parent, oldest first, itself included.
        """
        related = self.messages.select_related("usage", "upstream")
        messages = list(related.defer("upstream__api_key"))  # which takes long to decrypt
        by_id = {message.pk: message for message in messages}
        children: dict[uuid.UUID | None, list[Message]] = {}
        for message in messages:
            message.conversation = self
            children.setdefault(message.parent_id, []).append(message)
        current = by_id.get(through) if through else None
        while current and current.pk in children:
            current = children[current.pk][-1]
        current = current or (messages[-1] if messages else None)
        thread = []
        while current:
            current.siblings = children[current.parent_id]
            thread.append(current)
            current = by_id.get(current.parent_id) if current.parent_id else None
        return thread[::-1]


class MessageQuerySet(models.QuerySet["Message"]):
    def streaming(self) -> Self:
        return self.filter(ending=Message.STREAMING)

    def interrupt(self) -> int:
        """Ends what was streaming when the process that streamed it died; returns how many."""
        return self.streaming().update(ending=Ending.INTERRUPTED)

    def checkpoint(self, replies: Iterable[tuple["Message", Reply]]) -> None:
        """Saves what has arrived of replies that still stream.

        One statement for all of them, made by hand: the ORM takes longer to build an update than
        the database takes to run it.
        """
        connection = connections[self.db]
        meta = self.model._meta
        sql = (
            f"UPDATE {connection.ops.quote_name(meta.db_table)} SET reasoning = %s, content = %s,"  # noqa: S608 - a name and placeholders
            " refusal = %s, time_to_first_token = %s, reasoning_duration = %s"
            " WHERE id = %s AND ending = %s"
        )
        rows = [
            (
                *(reply.reasoning, reply.answer, reply.refusal),
                *(message.time_to_first_token, message.reasoning_duration),
                *(meta.pk.get_db_prep_value(message.pk, connection), Message.STREAMING),
            )
            for message, reply in replies
        ]
        with transaction.atomic(self.db), connection.cursor() as cursor:
            cursor.executemany(sql, rows)


class Message(models.Model):
    """A prompt or a reply. A reply's `parent` is its prompt, a prompt's the reply before it."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    STREAMING = "streaming"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="children")
    role = models.CharField(max_length=9, choices=Role)
    reasoning = models.TextField(blank=True)
    content = models.TextField(blank=True)
    refusal = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    ending = models.CharField(
        max_length=14,
        blank=True,
        choices=[(STREAMING, STREAMING)] + [(ending.value, ending.value) for ending in Ending],
        help_text="Why a reply ended; empty for prompts.",
    )
    finish_reason = models.CharField(max_length=50, blank=True)
    upstream = models.ForeignKey(Upstream, models.SET_NULL, null=True, blank=True)
    model = models.CharField(max_length=200, blank=True)
    response_id = models.CharField(max_length=200, blank=True, help_text="The upstream's own id.")
    error = models.JSONField(null=True, blank=True)
    time_to_first_token = models.FloatField(null=True, help_text="Seconds.")
    reasoning_duration = models.FloatField(null=True, help_text="Seconds.")
    duration = models.FloatField(null=True, help_text="Seconds, from request to ending.")

    objects = models.Manager.from_queryset(MessageQuerySet)()
    siblings: list["Message"]

    class Meta:
        ordering = ["created_at", "id"]
        indexes = [
            models.Index(fields=["conversation", "created_at"]),
            models.Index(
                fields=["ending"], condition=models.Q(ending="streaming"), name="message_streaming"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {Truncator(self.content).chars(60)}"

    @property
    def is_prompt(self) -> bool:
        return self.role == self.Role.USER

    @property
    def is_streaming(self) -> bool:
        return self.ending == self.STREAMING

    @property
    def upstream_error(self) -> UpstreamError | None:
        """What the upstream did wrong, where it did."""
        if not self.error:
            return None
        return UpstreamError(**{**self.error, "kind": ErrorKind(self.error["kind"])})

    def as_chat_message(self) -> dict[str, object]:
        """What an upstream is sent of this message: what was said, not how it was reasoned."""
        return {"role": self.role, "content": self.content}

    @staticmethod
    def text_of(reply: Reply) -> dict[str, str]:
        return {"reasoning": reply.reasoning, "content": reply.answer, "refusal": reply.refusal}

    def finish(self, reply: Reply, ending: Ending, usage: "Usage") -> None:
        """Saves the whole reply with why it ended, how long it took and what it cost."""
        for field, text in self.text_of(reply).items():
            setattr(self, field, text)
        self.ending = ending
        self.finish_reason = (reply.finish_reason or "")[:50]
        self.response_id = (reply.response_id or "")[:200]
        self.error = asdict(reply.error) if reply.error else None
        usage.message = self
        with transaction.atomic():
            self.save(force_update=True)
            usage.save(force_insert=True)


class Usage(models.Model):
    """What a reply cost, in tokens, with the counts that the wire formats know."""

    class Provenance(models.TextChoices):
        REPORTED = "reported"
        ESTIMATED = "estimated"
        UNKNOWN = "unknown"

    message = models.OneToOneField(Message, models.CASCADE, primary_key=True, related_name="usage")
    provenance = models.CharField(max_length=9, choices=Provenance)
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)
    total_tokens = models.PositiveBigIntegerField(null=True)
    cached_tokens = models.PositiveBigIntegerField(null=True)
    cache_write_tokens = models.PositiveBigIntegerField(null=True)
    reasoning_tokens = models.PositiveBigIntegerField(null=True)
    prompt_audio_tokens = models.PositiveBigIntegerField(null=True)
    completion_audio_tokens = models.PositiveBigIntegerField(null=True)
    accepted_prediction_tokens = models.PositiveBigIntegerField(null=True)
    rejected_prediction_tokens = models.PositiveBigIntegerField(null=True)

    class Meta:
        verbose_name_plural = "usage"

    def __str__(self) -> str:
        return f"{self.total_tokens} tokens ({self.provenance})"

    @classmethod
    def counted(cls, provenance: "Usage.Provenance", tokens: TokenUsage | None) -> "Usage":
        return cls(provenance=provenance, **(asdict(tokens) if tokens else {}))
