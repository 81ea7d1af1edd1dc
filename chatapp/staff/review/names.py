"""The names shown in the review, as the policy in force when a conversation was started has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chatapp.models import Conversation, Opening, ReviewPolicy, User
from chatapp.models.accounts.pseudonyms import IN_EXPORTS, IN_REVIEWS, pseudonym
from chatapp.models.policies.review_policies import find_policy_at

NOBODY_NOW = "Someone whose account was deleted"
UNNAMED = "A reviewer"


@dataclass(frozen=True)
class Names:
    """The names of one conversation. Reviewers always see themselves as the owner of their own."""

    owner: User
    reviewer: User
    hides_owner: bool
    hides_readers: bool  # from the owner, if the policy does not name readers

    @classmethod
    def of(cls, conversation: Conversation, reviewer: User, opening: Opening | None) -> "Names":
        is_revealed = opening is not None and opening.revealed_at is not None
        started = conversation.created_at
        return cls.at(ReviewPolicy.timeline(), started, conversation.user, reviewer, is_revealed)

    @classmethod
    def at(
        cls,
        timeline: Sequence[ReviewPolicy],
        begun: datetime,
        owner: User,
        reviewer: User,
        is_revealed: bool = False,
    ) -> "Names":
        policy, is_own = find_policy_at(timeline, begun), owner == reviewer
        hides_owner = policy.hides_names and not is_own and not is_revealed
        return cls(owner, reviewer, hides_owner, is_own and not policy.names_reader)

    @property
    def whose(self) -> str:
        return pseudonym(self.owner, IN_REVIEWS) if self.hides_owner else self.owner.username

    @property
    def pseudonym(self) -> str:
        """The owner's pseudonym for an export without names."""
        return pseudonym(self.owner, IN_REVIEWS if self.hides_owner else IN_EXPORTS)

    def reader(self, who: User | None) -> str:
        """Return the name of someone who took part in the review."""
        if self.hides_readers and who != self.reviewer:
            return UNNAMED
        return who.username if who else NOBODY_NOW
