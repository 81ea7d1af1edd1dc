"""Conversations: whose they are, their branches, and what is asked in them."""

import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, models, transaction
from django.db.models.expressions import Exists, RawSQL
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import Truncator

from chatapp.models import branches, ledger
from chatapp.models.conversation_querysets import ConversationQuerySet
from chatapp.models.installation import Installation
from chatapp.models.legal_holds import refuse_held
from chatapp.models.messages import ONE_STREAMS, STORED, Message
from chatapp.models.paths import path_of
from chatapp.models.projects import Project
from chatapp.models.refusals import NotHere, StillStreaming
from chatapp.models.said import Branch, said, said_until
from chatapp.models.shelves import INDEXES, IS_KEPT
from chatapp.models.statements import Insert, Query, Update, new
from chatapp.models.upstreams import ModelChoice, Upstream
from chatapp.models.users import User
from chatapp.models.windows import View
from chatapp.seen import from_first_seen

LONGEST_TITLE = 80
TEMPORARY = "Temporary chat"  # what one is called, whose words are to be kept nowhere
ERASED_AT_ONCE = 500  # messages
UNINDEXED_TITLE = ~models.Q(indexed_title=models.F("title"))


class Conversation(models.Model):
    class TitledBy(models.TextChoices):
        PROMPT = "prompt"  # its first words
        MODEL = "model"
        PERSON = "person"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=LONGEST_TITLE)
    # By which searches find it; one that is another by now is to be indexed.
    indexed_title = models.CharField(max_length=LONGEST_TITLE, null=True, editable=False)  # noqa: DJ001 - none yet is not an empty one
    created_at = models.DateTimeField(auto_now_add=True)
    # Orders a person's conversations: see `_moment_of_use`.
    updated_at = models.DateTimeField(default=timezone.now, db_index=True)
    titled_by = models.CharField(
        max_length=6, choices=TitledBy, default=TitledBy.PROMPT, db_default=TitledBy.PROMPT
    )
    project = models.ForeignKey(
        Project, models.SET_NULL, null=True, blank=True, related_name="conversations"
    )
    # The last message of the branch that its owner read last; one that is gone means the newest.
    active_leaf = models.UUIDField(null=True, editable=False)
    is_pinned = models.BooleanField(default=False, db_default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    trashed_at = models.DateTimeField(null=True, blank=True)
    is_temporary = models.BooleanField(default=False, db_default=False)
    # Of what was copied into it, and of the notes on its replies; see `storage`.
    stored_bytes = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    # A reply ended in it while no tab of its owner showed it; cleared when one does.
    is_unread = models.BooleanField(default=False, db_default=False, editable=False)

    objects = models.Manager.from_queryset(ConversationQuerySet)()

    has_title_model = True  # as far as is known; `held` looks whether one is named at all

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
        words = Truncator(" ".join(from_first_seen(prompt).split())).chars(LONGEST_TITLE)
        return words[:LONGEST_TITLE]  # which counts combining characters, too

    def rename(self, title: str) -> None:
        """It keeps its place among the others; nothing comes of one that was deleted meanwhile."""
        self.title, self.titled_by = title, self.TitledBy.PERSON
        Conversation.objects.filter(pk=self.pk).update(title=title, titled_by=self.titled_by)

    def claim_title(self, first_words: str) -> bool:
        """Whether a model may give it a title: nobody has, nor will anybody else ask for one."""
        still = Conversation.objects.filter(
            pk=self.pk,
            titled_by=self.TitledBy.PROMPT,
            title=first_words,
            is_temporary=False,
            trashed_at=None,
        )
        return bool(still.update(titled_by=self.TitledBy.MODEL))

    def give_title(self, title: str, first_words: str) -> bool:
        """A model's, in place of its first words; whether they still stood there."""
        claimed = Conversation.objects.filter(
            pk=self.pk, titled_by=self.TitledBy.MODEL, title=first_words
        )
        return bool(claimed.update(title=title))

    def mark_unread(self) -> None:
        """Nobody saw how its reply ended. Nothing comes of one that was deleted meanwhile."""
        Conversation.objects.filter(pk=self.pk).update(is_unread=True)

    def mark_read(self) -> bool:
        """Whether there was something that nobody had seen."""
        if not self.is_unread:
            return False
        self.is_unread = False
        return bool(Conversation.objects.filter(pk=self.pk).update(is_unread=False))

    def erase(self) -> Counter[str]:
        """Deletes it with all that it holds, the newest messages first; returns how many rows of
        each model went.

        In short transactions, so that nobody waits long for the database; where one fails, what is
        left is a thread that ends earlier, and can be deleted like any other. Raises `Held`.
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
            # A reply that is saved just now waits, and is then found to have been deleted.
            Conversation.objects.select_for_update().filter(pk=self.pk).first()
            return deleted + Counter(self.delete()[1])

    @transaction.atomic
    def erase_newest(self) -> Counter[str]:
        """Deletes as many messages as may go at once; returns how many rows of each model there
        were. Raises `Held`. Who asks in it just now is done first, or finds it as it is then."""
        refuse_held(self.user_id, self.pk)
        Conversation.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
        newest = list(self.messages.reverse().values_list("pk", flat=True)[:ERASED_AT_ONCE])
        return +Counter(Message.objects.filter(pk__in=newest).only("pk").delete()[1])

    def begin(self) -> None:
        """Stores it, as the one that its owner used last."""
        self.updated_at = self._moment_of_use()
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
        """Stores a prompt, and the reply that will answer it as streaming; returns both, and then
        the replies of the `others`, models that are asked at the same time.

        A continuation has no text. Stores the conversation too where it is new. Raises
        `StillStreaming` where a reply to it is being written, in whatever process.
        """
        prompt = new(
            Message,
            id=prompt_id,
            conversation=self,
            parent_id=parent,
            role=Message.Role.USER,
            content=text,
            is_continuation=is_continuation,
        )
        replies = [
            self._reply_to(prompt, *asked, streamed_by, slot)
            for slot, asked in enumerate([(upstream, model), *others])
        ]
        self._store([prompt], replies)
        return [prompt, *replies]

    def answer(
        self, prompt: "Message", upstream: Upstream, model: str, streamed_by: uuid.UUID
    ) -> "Message":
        """Stores one more reply to `prompt`, streaming from now on, and returns it.

        Raises `StillStreaming` as `ask` does.
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
        return new(
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

    def _store(self, before: list["Message"], replies: list["Message"]) -> None:
        """Few statements, since while many prompts come each waits for its turn to run."""
        first, *others = replies
        for other in others:
            other.created_at = first.created_at
        with transaction.atomic(savepoint=False):
            self.updated_at = self._moment_of_use()
            self.active_leaf = first.parent_id if others else first.pk
            if self._state.adding:
                _BEGUN.run(self)
            elif not _USED.run(self):
                raise NotHere
            elif _STREAMING.first(self.pk):  # in whatever slot
                raise StillStreaming
            try:
                STORED.run(*before, *replies)
            except IntegrityError as error:
                # PostgreSQL names the constraint, SQLite its columns.
                if ONE_STREAMS in str(error) or "chatapp_message.conversation_id" in str(error):
                    raise StillStreaming from error
                raise

    def _moment_of_use(self) -> datetime:
        """Now, or just after the person's last use where a clock of another time told that one."""
        last = _USED_LAST.first(self.user_id)
        now = timezone.now()
        return max(now, last.updated_at + timedelta(microseconds=1)) if last else now

    @staticmethod
    def model_used_last_by(user: User) -> ModelChoice | None:
        """Of the newest reply, in whichever branch, of the conversation that this person used last,
        and of several at once of the first; None where none is left."""
        last = _USED_LAST.first(user.pk)
        reply = _NEWEST_REPLY.first(last.pk) if last else None
        return ModelChoice(reply.upstream_id, reply.model) if reply and reply.upstream_id else None

    @property
    def instructions(self) -> str:
        """What a model is told first, by its project."""
        return self.project.instructions if self.project else ""

    def said(self, through: "uuid.UUID | None") -> Branch:
        """A branch, of which `branches` says, as an upstream is sent it."""
        return said(self.pk, through, self.active_leaf)

    def said_until(self, message: "uuid.UUID | None") -> Branch:
        """What leads to this message, itself included."""
        return said_until(self.pk, message)

    def standing(self, through: "uuid.UUID | None" = None) -> View:
        """Of a branch its end alone: of the reply's that streams, or else of this message's."""
        streaming = _STREAMING.all(self.pk)
        for one in streaming[:1]:
            # Of several that were asked for at once the person may have chosen one by now.
            through = one.parent_id if one.parent_id == self.active_leaf else one.pk
        return self._branch(through, streaming)

    def view(self, through: "uuid.UUID | None" = None) -> View:
        """The newest messages of that branch."""
        return self.standing(through).newest()

    def view_around(self, at: uuid.UUID) -> View:
        """This message with what stands around it; raises `NotHere`."""
        return self._branch_of(at, _STREAMING.all(self.pk)).around(at)

    def opened_around(self, at: uuid.UUID) -> View:
        """The same for its owner, who reads its branch from now on; raises `NotHere`."""
        return self._opened(self.view_around(at))

    def opened_at_end(self, of: uuid.UUID) -> View:
        """The newest messages of this one's branch, likewise."""
        return self._opened(self._branch_of(of, _STREAMING.all(self.pk)).newest())

    def prompts(self, of: "uuid.UUID | None") -> list[uuid.UUID]:
        """What was typed on the branch of this message; on the standing one where it is not here,
        the oldest first."""
        try:
            return (self._branch_of(of) if of else self.standing()).prompts()
        except NotHere:
            return self.standing().prompts()

    def earlier(self, than: uuid.UUID) -> View:
        """The messages before this one; raises `NotHere`."""
        return self._branch_of(than).before(than)

    def later(self, than: uuid.UUID) -> View:
        """The messages after this one; raises `NotHere`."""
        return self._branch_of(than).after(than)

    def read(self, through: uuid.UUID) -> None:
        """Its owner reads the branch of this message from now on; raises `NotHere`."""
        self._read(self._branch_of(through))

    def go_on_from(self, message: "uuid.UUID | None") -> None:
        """Its owner reads the branch through this message now; the newest one without it."""
        self._read(self._branch(message) if message else View(self, []))

    def _opened(self, view: View) -> View:
        # Who was led to one of several replies that stand side by side has not chosen it.
        is_choice = view.end is not None and view.end.parent_id == self.active_leaf
        if view.leaf != self.active_leaf and not is_choice:
            self._read(view)
        return view

    def _read(self, view: View) -> None:
        self.active_leaf = view.leaf
        Conversation.objects.filter(pk=self.pk).update(active_leaf=self.active_leaf)

    def _branch(self, through: "uuid.UUID | None", streaming: Sequence["Message"] = ()) -> View:
        """If none of several replies to its last prompt was chosen or followed, all are its end."""
        end = branches.end(self.pk, through, self.active_leaf)
        # Of several the last one was stored last, and so is found.
        if end is None or not end.slot or end.pk in (through, self.active_leaf):
            return View(self, [], end, streaming)
        together = branches.together(end)
        if followed := branches.newest_followed(together):
            return View(self, [], branches.end(self.pk, followed, None), streaming)
        return View(self, [], together[0], streaming, together if len(together) > 1 else ())

    def _branch_of(self, message: uuid.UUID, streaming: Sequence["Message"] = ()) -> View:
        if not self.messages.filter(pk=message, deleted_at=None).exists():
            raise NotHere
        return self._branch(message, streaming)

    @classmethod
    def own(cls, user: User, pk: uuid.UUID) -> "Conversation":
        """This person's; raises `NotHere` where they keep none of this id."""
        return _there(_OWN.first(user.pk, pk))

    @classmethod
    def held(cls, user: User, pk: uuid.UUID) -> "Conversation":
        """The same for the rest of a transaction, in which nobody else changes what it holds."""
        return _there(_HELD.first(user.pk, pk))


def _there(conversation: Conversation | None) -> Conversation:
    if conversation is None:
        raise NotHere
    return conversation


_BEGUN = Insert(Conversation)
_USED = Update(Conversation, ["updated_at", "active_leaf"])
_USED_LAST = Query(
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
    # Said so that SQLite knows it for what the index of those that stream holds.
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
