"""The conditions of queries for what reviewers may read: by policy, by flag, and by opening."""

from collections.abc import Callable, Collection, Iterator
from uuid import UUID

from django.db import models

from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation, ConversationQuerySet
from chatapp.models.conversations.messages.images import ReplyImage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.files.attachments import Attachment
from chatapp.models.library.file_sets import PresetFile
from chatapp.models.policies.review_policies import ReviewPolicy
from chatapp.models.review.conversation_facets import ConversationFacet, format_flag_facet
from chatapp.models.review.flags import ANY, flagged_by
from chatapp.models.review.reviews import Opening
from chatapp.models.review.rules import RuleFinding


def is_reviewable(
    conversation: str = "", *, likely: bool = False, among: Collection[UUID] | None = None
) -> models.Q:
    """Return a condition for conversations that reviewers may read under their policy.

    `conversation` is the path to the conversation in the query; "" if it queries conversations.
    The trash and temporary chats are never included.

    If `likely`, flags are read from the conversation facets, which is quick but also includes
    conversations that are no longer flagged. `among` restricts the exact test to some keys.
    """
    path = f"{conversation}__" if conversation else ""
    condition = models.Q(pk__in=[])
    for policy, has_policy in _conditions_by_policy(path):
        if policy.scope == policy.Scope.FLAGGED:
            has_policy &= (
                _was_flagged(f"{path}pk") if likely else flagged_by(ANY, f"{path}pk", among)
            )
        if policy.scope != policy.Scope.NOTHING:
            condition |= has_policy
    return condition & _is_visible(path)


def _is_visible(path: str) -> models.Q:
    return models.Q((f"{path}trashed_at", None), (f"{path}is_temporary", False))


def reviewable() -> ConversationQuerySet:
    """Return the conversations that reviewers may read."""
    return Conversation.objects.filter(is_reviewable())


def readable_findings() -> dict[int, int]:
    """Return the number of messages that each rule flagged in readable conversations."""
    readable = RuleFinding.objects.filter(is_reviewable("conversation"))
    counted = readable.order_by().values("rule").annotate(count=models.Count("pk"))
    return dict(counted.values_list("rule", "count"))


def may_be_flagged(conversation: str = "") -> models.Q:
    """Return a condition for conversations that reviewers may read, or could if flagged.

    `conversation` is the path to the conversation in the query.
    """
    path = f"{conversation}__" if conversation else ""
    condition = models.Q(pk__in=[])
    for policy, has_policy in _conditions_by_policy(path):
        if policy.scope != policy.Scope.NOTHING:
            condition |= has_policy
    return condition & _is_visible(path)


def asks_for_flags() -> bool:
    """Whether any policy lets reviewers read flagged conversations only."""
    return any(policy.scope == policy.Scope.FLAGGED for policy in ReviewPolicy.timeline())


def hides_names() -> models.Q:
    """Return a condition for conversations whose policy shows reviewers pseudonyms."""
    return _has_matching_policy(lambda policy: policy.hides_names)


def tells_names() -> models.Q:
    """Return the opposite of `hides_names`, in a form that the database can rule out early."""
    return _has_matching_policy(lambda policy: not policy.hides_names)


def _has_matching_policy(matches: Callable[[ReviewPolicy], bool]) -> models.Q:
    condition = models.Q(pk__in=[])
    for policy, has_policy in _conditions_by_policy(""):
        if matches(policy):
            condition |= has_policy
    return condition


def _conditions_by_policy(path: str) -> Iterator[tuple[ReviewPolicy, models.Q]]:
    """Yield each policy that a conversation can have, with the condition for having it."""
    until = None
    for policy in ReviewPolicy.timeline():
        has_policy = models.Q((f"{path}created_at__gte", policy.begins_at))
        if until:
            has_policy &= models.Q((f"{path}created_at__lt", until))
        if not until or policy.begins_at < until:
            yield policy, has_policy
        until = policy.begins_at


def _was_flagged(conversation: str) -> models.Q:
    flagged = ConversationFacet.objects.filter(fact=format_flag_facet())
    return models.Q(models.Exists(flagged.filter(conversation=models.OuterRef(conversation))))


def readable_images(user: User) -> "models.QuerySet[ReplyImage]":
    """Return images in the user's own conversations; for a reviewer, also in those opened.

    Images of deleted messages and of trashed conversations are left out.
    """
    present = ReplyImage.objects.filter(
        message__deleted_at=None, message__conversation__trashed_at=None
    )
    return present.filter(models.Q(message__conversation__user=user) | _is_opened_by(user))


def readable_files(user: User) -> "models.QuerySet[Attachment]":
    """Return the user's own attachments; for a reviewer, also those in chats they have opened.

    Those in drafts are their owner's only.
    """
    present = models.Q(message__deleted_at=None, message__conversation__trashed_at=None)
    drafted = models.Q(message=None, conversation__trashed_at=None)
    own = models.Q(drafted | present, user=user)
    read = models.Q(present, _is_opened_by(user), message__isnull=False)
    return Attachment.objects.filter(own | read)


def find_reviewed_conversation(user: User, file: PresetFile) -> Conversation | None:
    """Return the conversation that a reviewer has open and that was sent a file of its preset: the
    one opened last. None if there is none."""
    sent = Message.objects.filter(
        _is_opened_by(user, "conversation"),
        deleted_at=None,
        request_settings__preset_version__file_set=file.file_set_id,
    )
    openings = Opening.objects.living().filter(
        reviewer=user, conversation__in=sent.order_by().values("conversation")
    )
    newest = openings.select_related("conversation").order_by("-pk").first()
    return newest.conversation if newest else None


def _is_opened_by(user: User, conversation: str = "message__conversation") -> models.Q:
    """Return a condition for what belongs to a conversation that a reviewer reads at the moment."""
    if not user.reviews:
        return models.Q(pk__in=[])
    opened = Opening.objects.living().filter(
        reviewer=user, conversation=models.OuterRef(conversation)
    )
    return models.Q(is_reviewable(conversation), models.Exists(opened))
