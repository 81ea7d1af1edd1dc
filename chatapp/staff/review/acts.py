"""What a reviewer does about one conversation: each returns its action in the audit log, and the
detail. Whoever calls holds the review, and records what was done with it."""

from collections.abc import Callable, Iterable

from chatapp.models import Refused, Review, ReviewLabel, User
from chatapp.staff.review.names import Names

Detail = dict[str, object]
Done = tuple[str, Detail]
Act = Callable[[Review, User], Done]


def claim(review: Review, by: User) -> Done:
    review.claim(by, Names.of(review.conversation, by, None).reader)
    return "review.claimed", {}


def release(review: Review, by: User) -> Done:
    review.release(by)
    return "review.released", {}


def decide(review: Review, by: User, verdict: str) -> Done:
    """ "" takes the present one back."""
    before = review.verdict
    review.decide(verdict, by)
    return "review.decided", {"before": {"verdict": before}, "after": {"verdict": verdict}}


def label(review: Review, labels: Iterable[ReviewLabel]) -> Done:
    """These and no others."""
    before = [one.name for one in review.labels.all()]
    review.label(labels)
    after = [one.name for one in review.labels.all()]
    return "review.labelled", {"before": {"labels": before}, "after": {"labels": after}}


def verdict_of(sent: str) -> str:
    """Raises `Refused`."""
    if sent not in Review.Verdict.values:
        raise Refused("There is no such verdict. Choose one of those on the page.")
    return sent
