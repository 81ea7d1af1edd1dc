"""The cuts, which keep earlier messages from being sent, and the summaries that replace these.

A cut belongs to a reply. In branches that go through this reply, everything up to and including it
is left out; of several cuts on a branch, the last one counts. A cut without a message stands at the
beginning of a conversation that goes on from another one, whose summary it holds. Cuts never move
by themselves, so the beginning of a request stays the same from turn to turn. A lifted one leaves
nothing out; it only keeps a summary that was paid for, until the person uses it again.
"""

import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.db import models
from django.utils import timezone

from chatapp.db.statements import fetch_rows
from chatapp.models.conversations.messages import storage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads import branches
from chatapp.models.platform.upstreams import Upstream
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY, History

MAX_SUMMARY = 20_000  # characters
SUMMARISED = "This is a summary of what we wrote before:\n\n{}"
UNDERSTOOD = "Thank you. I will go on from there."
LAST_CUT = """
SELECT cut.id FROM upwards JOIN chatapp_contextcut AS cut ON cut.message_id = upwards.id
WHERE NOT cut.is_lifted ORDER BY depth LIMIT 1
"""


class ContextCut(models.Model):
    """Leaves out the messages up to one of them, with or without a summary in their place."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        "chatapp.Conversation", models.CASCADE, related_name="context_cuts"
    )
    message = models.OneToOneField(Message, models.CASCADE, null=True, related_name="context_cut")
    summary = models.TextField(default="", blank=True)
    # Who wrote the summary.
    upstream = models.ForeignKey(
        Upstream, models.SET_NULL, null=True, db_constraint=False, related_name="+"
    )
    model = models.CharField(max_length=200, default="")
    is_edited = models.BooleanField(default=False)
    is_lifted = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=models.Q(message=None),
                name="one_cut_at_the_beginning",
            )
        ]

    def __str__(self) -> str:
        return f"cut of {self.created_at:%Y-%m-%d}"

    @property
    def history(self) -> History:
        """The messages that are sent in place of those that are left out."""
        if not self.summary.strip():
            return EMPTY_HISTORY
        return History.of(
            [
                {"role": "user", "content": SUMMARISED.format(self.summary)},
                {"role": "assistant", "content": UNDERSTOOD},
            ]
        )

    def is_after(self, message: Message) -> bool:
        """Whether it leaves out this message of the same branch."""
        if self.message is None:
            return False
        return (message.sequence or 0) <= (self.message.sequence or 0)


class Cuts(NamedTuple):
    """The cuts of a conversation by their messages, without lifted ones, and how often they had
    changed."""

    changes: int = 0
    by_message: Mapping[uuid.UUID | None, ContextCut] = {}


NO_CUTS = Cuts()


def copy_cuts(
    fork: models.Model,
    copies: Mapping[uuid.UUID | None, uuid.UUID | None],
    of: uuid.UUID | None = None,
) -> None:
    """Copy the cuts at these messages to their copies in `fork`, a conversation.

    With `of`, another conversation, copy the one at its beginning.
    """
    here = {"conversation": of, "message": None} if of else {"message__in": list(copies)}
    cuts = list(ContextCut.objects.filter(**here))
    for cut in cuts:
        cut.pk, cut.message_id = uuid.uuid4(), copies[cut.message_id]
        cut.conversation = fork  # type: ignore[assignment]
    ContextCut.objects.bulk_create(cuts)


def load_cuts(conversation: uuid.UUID, changes: int) -> Cuts:
    """Return the cuts that count in a conversation; no query if there never were any."""
    if not changes:
        return NO_CUTS
    cuts = ContextCut.objects.filter(conversation=conversation, is_lifted=False)
    return Cuts(changes, {cut.message_id: cut for cut in cuts})


def load_summaries(messages: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the summaries at these messages, by message."""
    cuts = ContextCut.objects.filter(message__in=list(messages)).exclude(summary="")
    return dict(cuts.values_list("message", "summary"))


def load_opening_summaries(conversations: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the summaries with which these conversations begin, by conversation."""
    keys = list(conversations)
    cuts = ContextCut.objects.filter(conversation__in=keys, message=None) if keys else ()
    return {cut.conversation_id: cut.summary for cut in cuts}


def summary_bytes(conversation: uuid.UUID, changes: int) -> dict[uuid.UUID | None, int]:
    """Return the sizes of a conversation's summaries, by message; see `load_cuts`."""
    if not changes:
        return {}
    cuts = ContextCut.objects.filter(conversation=conversation)
    return dict(cuts.values_list("message", storage.OctetLength("summary")))


def last_cut(conversation: uuid.UUID, end: uuid.UUID | None) -> ContextCut | None:
    """Return the cut that counts on the branch that ends with this message."""
    if end and (cut_rows := fetch_rows(branches.WALK + LAST_CUT, (end, None, branches.NO_LIMIT))):
        return _select_cuts().get(pk=branches.to_uuid(cut_rows[0][0]))
    return _select_cuts().filter(conversation=conversation, message=None).first()


def lifted_cuts(conversation: uuid.UUID) -> list[ContextCut]:
    """Return the cuts that only keep their summaries."""
    return list(_select_cuts().filter(conversation=conversation, is_lifted=True))


def _select_cuts() -> "models.QuerySet[ContextCut]":
    cuts = ContextCut.objects.select_related("message", "upstream")
    return cuts.defer("message__logprobs", "upstream__api_key")
