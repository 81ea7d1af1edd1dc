"""Who is called what on a reviewer's pages, by the policy that a conversation was begun under."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chatapp.models import Conversation, Opening, ReviewPolicy, User
from chatapp.models.pseudonyms import IN_EXPORTS, IN_REVIEWS, pseudonym
from chatapp.models.review_policies import held_at

NOBODY_NOW = "Somebody who has no account any more"
UNNAMED = "A reviewer"


@dataclass(frozen=True)
class Names:
    """Of one conversation; everybody knows whose their own is."""

    owner: User
    reviewer: User
    hides_owner: bool
    hides_readers: bool  # from the owner, where the policy does not name who reads

    @classmethod
    def of(cls, conversation: Conversation, reviewer: User, opening: Opening | None) -> "Names":
        is_revealed = opening is not None and opening.revealed_at is not None
        begun = conversation.created_at
        return cls.at(ReviewPolicy.timeline(), begun, conversation.user, reviewer, is_revealed)

    @classmethod
    def at(
        cls,
        timeline: Sequence[ReviewPolicy],
        begun: datetime,
        owner: User,
        reviewer: User,
        is_revealed: bool = False,
    ) -> "Names":
        policy, is_own = held_at(timeline, begun), owner == reviewer
        hides_owner = policy.hides_names and not is_own and not is_revealed
        return cls(owner, reviewer, hides_owner, is_own and not policy.names_reader)

    @property
    def whose(self) -> str:
        return pseudonym(self.owner, IN_REVIEWS) if self.hides_owner else self.owner.username

    @property
    def pseudonym(self) -> str:
        """In an export that names nobody."""
        return pseudonym(self.owner, IN_REVIEWS if self.hides_owner else IN_EXPORTS)

    def reader(self, who: User | None) -> str:
        """Somebody who did something about it."""
        if self.hides_readers and who != self.reviewer:
            return UNNAMED
        return who.username if who else NOBODY_NOW
