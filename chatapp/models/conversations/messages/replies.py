"""The fields of a message that hold a reply: text, usage, how it arrived and how it ended."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

import msgspec
from django.core.exceptions import ObjectDoesNotExist
from django.db import models

from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.upstream.wire.decoding.logprobs import build_display_tokens
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.images import MAX_IMAGES, Image
from chatapp.upstream.wire.reply import Ending, Reply

# Endings after which a reply can't be continued.
NOT_CONTINUABLE = frozenset(
    {
        "",
        "streaming",
        Ending.COMPLETE,
        Ending.REFUSED,
        Ending.CONTENT_FILTER,
        Ending.NO_ANSWER,
    }
)


class _Encoder(json.JSONEncoder):
    """Encode with msgspec: the standard library's encoder holds the GIL, and so delays every
    stream, for five times as long."""

    def encode(self, o: Any) -> str:
        return msgspec.json.encode(o).decode()


class LargeJSONField(models.JSONField):
    """A JSON field for hundreds of thousands of values. Migrations see Django's `JSONField`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"encoder": _Encoder, **options})

    def deconstruct(self) -> Any:
        name, _, arguments, options = super().deconstruct()
        del options["encoder"]
        return name, "django.db.models.JSONField", arguments, options


class StoredReply(models.Model):
    """The reply part of a message, which grows and then ends.

    The methods change only this object; the caller saves it.
    """

    STREAMING = "streaming"
    GROWING_FIELDS = (  # what a checkpoint saves
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
    INITIAL_FIELDS = (  # set when the reply begins; only a fallback changes them (see `takeovers`)
        "streamed_by",
        "upstream",
        "model",
        "choice",
        "slot",
        "failed_models_record",
    )

    reasoning = models.TextField(blank=True)
    content = models.TextField(blank=True)
    refusal = models.TextField(blank=True)

    ending = models.CharField(
        max_length=14,
        blank=True,
        choices=[(STREAMING, STREAMING)] + [(ending.value, ending.value) for ending in Ending],
        help_text="Why a reply ended; empty for prompts.",
    )
    finish_reason = models.CharField(max_length=50, blank=True)
    streamed_by = models.UUIDField(null=True, editable=False, help_text="The id of the process.")
    upstream = models.ForeignKey(Upstream, models.SET_NULL, null=True, blank=True)
    model = models.CharField(max_length=200, blank=True)
    response_id = models.CharField(max_length=200, blank=True, help_text="The upstream's own id.")
    error = models.JSONField(null=True, blank=True)
    time_to_first_token = models.FloatField(null=True, help_text="Seconds.")
    reasoning_duration = models.FloatField(null=True, help_text="Seconds.")
    duration = models.FloatField(null=True, help_text="Seconds, from request to ending.")
    choice = models.PositiveSmallIntegerField(default=0, help_text="Index among several choices.")
    slot = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Index among several models asked at once."
    )
    earlier_rounds = models.JSONField(
        default=list, blank=True, help_text="The rounds before the last tool calls."
    )
    tool_runs = models.JSONField(default=list, blank=True, help_text="The last round's tool calls.")
    usage_so_far = models.JSONField(
        null=True, editable=False, help_text="`Usage.as_record`, while the reply streams."
    )
    extras_record = models.JSONField(
        null=True,
        blank=True,
        db_column="extras",
        help_text="What came with the text; see `extras`.",
    )
    failed_models_record = models.JSONField(
        null=True,
        editable=False,
        help_text="The models that failed before this one was asked; see `failed_models`.",
    )
    logprobs = LargeJSONField(null=True, blank=True, help_text="Tokens and their probability.")
    moderation = models.JSONField(null=True, blank=True)
    is_flagged = models.BooleanField(
        default=False, help_text="Flagged by the upstream's moderation."
    )
    service_tier = models.CharField(max_length=100, blank=True)
    system_fingerprint = models.CharField(max_length=200, blank=True)
    # What a reply was asked with besides messages. Both are deleted with the conversation.
    request_settings = models.ForeignKey(
        "chatapp.RequestSettings",
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_constraint=False,
        db_index=False,
        editable=False,
    )

    # Collected from the reply's earlier rounds while it is written.
    earlier_extras = Extras()
    earlier_images: tuple[Image, ...] = ()
    new_images: tuple[Image, ...] = ()  # to be saved

    class Meta:
        abstract = True

    @property
    def preset(self) -> UUID | None:
        """The key of the preset that this reply was asked with."""
        try:
            version = self.request_settings and self.request_settings.preset_version
        except ObjectDoesNotExist:  # deleted with the conversation meanwhile
            return None
        return version.target_id if version else None

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
        """The upstream's error, or None."""
        if not self.error:
            return None
        kind = self.error["kind"]
        error_kind = ErrorKind(kind) if kind in list(ErrorKind) else ErrorKind.STREAM_ERROR
        return UpstreamError(**{**self.error, "kind": error_kind})

    @property
    def failed_models(self) -> tuple[FailedModel, ...]:
        """The models that failed before this one was asked; the first is the person's choice."""
        return FailedModel.from_records(self.failed_models_record)

    @property
    def chosen_model(self) -> ModelChoice | None:
        """The model that the person chose, whichever answered; None if its upstream is deleted."""
        for first in self.failed_models:
            return ModelChoice(first.upstream, first.model) if first.upstream else None
        return ModelChoice(self.upstream_id, self.model) if self.upstream_id else None

    @property
    def rounds(self) -> list[Round]:
        """The reply's rounds, oldest first; most replies have one."""
        last = Round(self.reasoning, self.content, self.refusal, self._last_runs())
        earlier = [Round.from_record(record) for record in self.earlier_rounds]
        if asides := self.extras.asides:
            for number, earlier_round in enumerate(earlier):
                _add_asides(asides, number, earlier_round.tool_runs)
        return [*earlier, last]

    def _last_runs(self) -> list[ToolRun]:
        runs = [ToolRun.from_record(run) for run in self.tool_runs]
        if runs:
            _add_asides(self.extras.asides, len(self.earlier_rounds), runs)
        return runs

    @property
    def can_be_continued(self) -> bool:
        """Whether the reply is incomplete and has text to continue from."""
        return self.ending not in NOT_CONTINUABLE and bool(self.content or self.earlier_rounds)

    @property
    def answer_text(self) -> str:
        """The answer text of all rounds, as the model wrote it."""
        texts = (text for round in self.rounds for text in (round.content, round.refusal))
        return "\n\n".join(filter(None, texts))

    @property
    def extras(self) -> Extras:
        """The content of the reply besides its text."""
        return Extras.from_record(self.extras_record)

    def keep_round(self, round: Round, reply: Reply) -> None:
        """Append a round that has ended to the earlier ones."""
        extras = self.earlier_extras.plus(reply)
        self.earlier_extras = _with_asides(extras, len(self.earlier_rounds), round.tool_runs)
        self.earlier_rounds.append(round.as_record())
        self.earlier_images += tuple(reply.images)

    def copy_progress(self, reply: Reply, tool_runs: Iterable[ToolRun] = ()) -> None:
        """Copy the text and tool calls that the last round has so far."""
        self.reasoning, self.content, self.refusal = reply.reasoning, reply.answer, reply.refusal
        runs = list(tool_runs)
        self.tool_runs = [run.as_record() for run in runs]
        # Images are counted once they are there to be shown.
        extras = replace(self.earlier_extras.plus(reply), image_count=0)
        extras = _with_asides(extras, len(self.earlier_rounds), runs)
        self.extras_record = extras.as_record()

    def finish(self, reply: Reply, ending: Ending) -> None:
        """Copy the reply's final state; `save_reply` saves it."""
        self.ending = ending
        self.new_images = (*self.earlier_images, *reply.images)[:MAX_IMAGES]
        extras = replace(self.earlier_extras.plus(reply), image_count=len(self.new_images))
        extras = _with_asides(extras, len(self.earlier_rounds), self._last_runs())
        self.extras_record = extras.as_record()
        self.finish_reason = reply.finish_reason[:50]
        self.response_id = reply.response_id[:200]
        self.service_tier = reply.service_tier[:100]
        self.system_fingerprint = reply.system_fingerprint[:200]
        self.error = asdict(reply.error) if reply.error else None
        self.logprobs = [
            token.as_record() for token in build_display_tokens(reply.logprobs)
        ] or None
        if reply.moderation:
            self.moderation = asdict(reply.moderation)
            self.is_flagged = reply.moderation.is_flagged


def _add_asides(
    asides: Mapping[str, Mapping[str, Any]], number: int, runs: Sequence[ToolRun]
) -> None:
    """Give the tool calls of a round what is kept aside of them."""
    for index, run in enumerate(runs):
        if aside := asides.get(f"{number}.{index}"):
            run.restore_aside(aside)


def _with_asides(extras: Extras, number: int, runs: Sequence[ToolRun]) -> Extras:
    """Return the extras of rounds with those of the tool calls of one more round."""
    asides = {f"{number}.{i}": aside for i, run in enumerate(runs) if (aside := run.aside_record())}
    if not asides:
        return extras
    count = extras.tool_image_count + sum(len(run.images) for run in runs)
    return replace(extras, tool_image_count=count, asides={**extras.asides, **asides})
