"""Messages: prompts and replies, and what becomes of a reply."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, Self

from django.db import connections, models, transaction
from django.utils import timezone
from django.utils.text import Truncator

from chatapp.models.extras import Extras
from chatapp.models.images import ReplyImage
from chatapp.models.processes import Process
from chatapp.models.rounds import Round, ToolRun
from chatapp.models.upstreams import Upstream
from chatapp.models.usage import Usage
from chatapp.upstream.errors import ErrorKind, UpstreamError
from chatapp.upstream.estimates import Asked, estimate
from chatapp.upstream.images import MAX_IMAGES, Image
from chatapp.upstream.logprobs import shown_tokens
from chatapp.upstream.reply import Ending, Reply

ONE_STREAMS = "message_one_streams"  # in a conversation at a time


class MessageQuerySet(models.QuerySet["Message"]):
    def streaming(self) -> Self:
        return self.filter(ending=Message.STREAMING)

    def interrupt_orphans(self) -> int:
        """Ends what no process streams any more, since it died; returns how many."""
        return self.orphans().interrupt()

    def interrupt(self) -> int:
        """Ends what of these streams, each at the cost that is known of it; returns how many."""
        with transaction.atomic(self.db):
            # A process that stands still, or whose host is gone, may hold its rows for long.
            lost = list(self.streaming().select_for_update(skip_locked=True))
            ended = Message.objects.filter(pk__in=[message.pk for message in lost])
            ended.update(ending=Ending.INTERRUPTED, usage_so_far=None)
            Usage.book([message.stored_usage() for message in lost])
        return len(lost)

    def orphans(self) -> Self:
        """Replies that stream in no process that is known."""
        owner = Process.objects.filter(pk=models.OuterRef("streamed_by"))
        return self.streaming().exclude(models.Exists(owner))

    def checkpoint(self, replies: Iterable["Message"]) -> None:
        """Saves what has arrived of replies that still stream.

        One statement for all of them, made by hand: the ORM takes longer to build an update than
        the database takes to run it.
        """
        connection = connections[self.db]
        meta = Message._meta
        fields = [one for one in meta.concrete_fields if one.name in Message.GROWING]
        sql = (
            f"UPDATE {meta.db_table} SET {', '.join(f'{field.column} = %s' for field in fields)}"  # noqa: S608 - our own names
            " WHERE id = %s AND ending = %s"
        )
        rows = [
            (
                *(
                    field.get_db_prep_save(getattr(message, field.attname), connection)
                    for field in fields
                ),
                meta.pk.get_db_prep_value(message.pk, connection),
                Message.STREAMING,
            )
            for message in replies
        ]
        with transaction.atomic(self.db), connection.cursor() as cursor:
            cursor.executemany(sql, rows)


class Message(models.Model):
    """A prompt or a reply. A reply's `parent` is its prompt, a prompt's the reply before it."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    STREAMING = "streaming"
    GROWING = (
        "reasoning",
        "content",
        "refusal",
        "earlier_rounds",
        "tool_runs",
        "extras_record",
        "time_to_first_token",
        "reasoning_duration",
        "usage_so_far",
    )
    OTHER_CHOICES = (  # what is stored of them again, where their reply is saved a second time
        "reasoning",
        "content",
        "refusal",
        "tool_runs",
        "extras_record",
        "ending",
        "finish_reason",
        "response_id",
        "service_tier",
        "system_fingerprint",
        "error",
        "logprobs",
        "moderation",
        "is_flagged",
        "duration",
    )

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        "chatapp.Conversation", models.CASCADE, related_name="messages"
    )
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="children")
    role = models.CharField(max_length=9, choices=Role)
    reasoning = models.TextField(blank=True)
    content = models.TextField(blank=True)
    refusal = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    # The database's, see `chatapp.models.sequence`: it orders messages, and no clock does.
    sequence = models.BigIntegerField(null=True, editable=False)

    ending = models.CharField(
        max_length=14,
        blank=True,
        choices=[(STREAMING, STREAMING)] + [(ending.value, ending.value) for ending in Ending],
        help_text="Why a reply ended; empty for prompts.",
    )
    finish_reason = models.CharField(max_length=50, blank=True)
    streamed_by = models.UUIDField(null=True, editable=False, help_text="The process, by its id.")
    upstream = models.ForeignKey(Upstream, models.SET_NULL, null=True, blank=True)
    model = models.CharField(max_length=200, blank=True)
    response_id = models.CharField(max_length=200, blank=True, help_text="The upstream's own id.")
    error = models.JSONField(null=True, blank=True)
    time_to_first_token = models.FloatField(null=True, help_text="Seconds.")
    reasoning_duration = models.FloatField(null=True, help_text="Seconds.")
    duration = models.FloatField(null=True, help_text="Seconds, from request to ending.")
    choice = models.PositiveSmallIntegerField(
        default=0, help_text="Of several that were asked for."
    )
    earlier_rounds = models.JSONField(
        default=list, blank=True, help_text="What was written before the last tool calls."
    )
    tool_runs = models.JSONField(default=list, blank=True, help_text="The last round's tool calls.")
    usage_so_far = models.JSONField(
        null=True, editable=False, help_text="`Usage.as_record`, while the reply streams."
    )
    extras_record = models.JSONField(
        null=True, blank=True, db_column="extras", help_text="What came besides text; see `extras`."
    )
    logprobs = models.JSONField(null=True, blank=True, help_text="Tokens and their probability.")
    moderation = models.JSONField(null=True, blank=True)
    is_flagged = models.BooleanField(default=False, help_text="By the upstream's moderation.")
    service_tier = models.CharField(max_length=100, blank=True)
    system_fingerprint = models.CharField(max_length=200, blank=True)

    objects = models.Manager.from_queryset(MessageQuerySet)()
    siblings: list["Message"]

    # Of the reply's rounds before the present one, while it is written.
    earlier_extras = Extras()
    earlier_images: tuple[Image, ...] = ()
    new_images: tuple[Image, ...] = ()  # to be saved

    class Meta:
        ordering = [models.F("sequence").asc(nulls_first=True), "created_at", "choice", "id"]
        indexes = [models.Index(fields=["conversation", "sequence"])]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"], condition=models.Q(ending="streaming"), name=ONE_STREAMS
            )
        ]

    def __str__(self) -> str:
        return f"{self.role}: {Truncator(self.content).chars(60)}"

    def save(self, *args: Any, **options: Any) -> None:
        """As usual; `sequence` stays what the database made it."""
        if not self._state.adding and options.get("update_fields") is None:
            names = (field.name for field in self._meta.concrete_fields if not field.primary_key)
            options["update_fields"] = [name for name in names if name != "sequence"]
        super().save(*args, **options)

    @property
    def is_prompt(self) -> bool:
        return self.role == self.Role.USER

    @property
    def is_streaming(self) -> bool:
        return self.ending == self.STREAMING

    @property
    def has_logprobs(self) -> bool:
        if "logprobs" in self.get_deferred_fields():
            return bool(getattr(self, "keeps_logprobs", False))
        return bool(self.logprobs)

    @property
    def upstream_error(self) -> UpstreamError | None:
        """What the upstream did wrong, where it did."""
        if not self.error:
            return None
        kind = self.error["kind"]
        known = ErrorKind(kind) if kind in list(ErrorKind) else ErrorKind.STREAM_ERROR
        return UpstreamError(**{**self.error, "kind": known})

    @property
    def rounds(self) -> list[Round]:
        """The reply's rounds, oldest first; most replies have one."""
        runs = [ToolRun.from_record(run) for run in self.tool_runs]
        last = Round(self.reasoning, self.content, self.refusal, runs)
        return [*map(Round.from_record, self.earlier_rounds), last]

    @property
    def extras(self) -> Extras:
        """What came with the reply besides its text."""
        return Extras.from_record(self.extras_record)

    def as_chat_messages(self, asked: "Message | None" = None) -> list[dict[str, object]]:
        """What an upstream is sent of this message: what was said and called.

        Where tools were called and the reply that is `asked` for is of the same upstream's model,
        it gets what it wants back with the calls, the reasoning of all rounds among it.
        """
        is_same = asked and (asked.upstream_id, asked.model) == (self.upstream_id, self.model)
        reasoning_field = self.extras.reasoning_field if is_same else ""
        *earlier, last = self.rounds
        called = [
            one
            for round in earlier
            for one in round.as_chat_messages(reasoning_field, with_extras=bool(is_same))
        ]
        if not self.content:
            return called
        said: dict[str, object] = {"role": self.role, "content": self.content}
        if called and reasoning_field:
            said[reasoning_field] = last.reasoning
        return [*called, said]

    def keep_round(self, round: Round, reply: Reply) -> None:
        """Makes a round that has ended an earlier one."""
        self.earlier_rounds.append(round.as_record())
        self.earlier_extras = self.earlier_extras.plus(reply)
        self.earlier_images += tuple(reply.images)

    def take(self, reply: Reply, tool_runs: Iterable[ToolRun] = ()) -> None:
        """Makes this message say what its last round has become so far."""
        self.reasoning, self.content, self.refusal = reply.reasoning, reply.answer, reply.refusal
        self.tool_runs = [run.as_record() for run in tool_runs]
        # Images are counted once they are there to be shown.
        extras = replace(self.earlier_extras.plus(reply), image_count=0)
        self.extras_record = extras.as_record()

    def finish(self, reply: Reply, ending: Ending) -> None:
        """Makes this message what the reply is at its end; `save_reply` saves it."""
        self.ending = ending
        self.new_images = (*self.earlier_images, *reply.images)[:MAX_IMAGES]
        extras = replace(self.earlier_extras.plus(reply), image_count=len(self.new_images))
        self.extras_record = extras.as_record()
        self.finish_reason = reply.finish_reason[:50]
        self.response_id = reply.response_id[:200]
        self.service_tier = reply.service_tier[:100]
        self.system_fingerprint = reply.system_fingerprint[:200]
        self.error = asdict(reply.error) if reply.error else None
        self.logprobs = [token.as_record() for token in shown_tokens(reply.logprobs)] or None
        if reply.moderation:
            self.moderation = asdict(reply.moderation)
            self.is_flagged = reply.moderation.is_flagged

    def stored_usage(self) -> Usage:
        """What a reply has cost of which this is all that is known: as its last checkpoint said,
        or else estimated from what is stored."""
        if self.usage_so_far:
            usage = Usage(**self.usage_so_far)
        else:
            thread = self.conversation.thread(self.pk)
            history = [one for message in thread[:-1] for one in message.as_chat_messages()]
            reply = Reply()
            reply.reasoning_parts = [self.reasoning]
            reply.answer_parts, reply.refusal_parts = [self.content], [self.refusal]
            last = Usage.estimated(estimate(Asked.of(history), [reply]))
            earlier = (round["usage"] for round in self.earlier_rounds)
            usage = Usage.of_rounds([*earlier, last.as_record()])
        usage.message = self
        return usage

    def save_reply(self, usage: Usage, others: Sequence["Message"] = ()) -> None:
        """Saves a reply that has ended, what it cost, and the other choices that came with it.

        It may have been ended before, by a process that took its own for dead: this replaces that.
        """
        usage.message = self
        self.usage_so_far = None
        with transaction.atomic():
            self.save(force_update=True)
            Usage.book([usage])
            Message.objects.bulk_create(
                others,
                update_conflicts=True,
                unique_fields=["id"],
                update_fields=self.OTHER_CHOICES,
            )
            images = [image for one in (self, *others) for image in one._image_rows()]
            ReplyImage.objects.bulk_create(images, ignore_conflicts=True)

    def _image_rows(self) -> list[ReplyImage]:
        return [
            ReplyImage(message=self, position=place, media_type=one.media_type, data=one.data)
            for place, one in enumerate(self.new_images)
        ]

    def other_choice(self, reply: Reply, ending: Ending) -> "Message":
        """A sibling of this message: another choice of the same response."""
        other = Message(
            id=uuid.uuid5(self.pk, f"choice {reply.choice}"),  # the same, should it be saved twice
            conversation=self.conversation,
            parent_id=self.parent_id,
            role=self.role,
            upstream=self.upstream,
            model=self.model,
            choice=reply.choice,
            duration=self.duration,
        )
        other.take(reply, map(ToolRun.of, reply.tool_calls))
        other.finish(reply, ending)
        return other
