"""The decisions of a reviewer about one conversation.

Each function changes the review, which the caller has locked, and returns the audit log's action
and detail, which the caller records.
"""

from collections.abc import Callable, Iterable

from chatapp.models import Refused, Review, ReviewLabel, User
from chatapp.staff.review.names import Names

Detail = dict[str, object]
ActResult = tuple[str, Detail]
Act = Callable[[Review, User], ActResult]


def claim(review: Review, by: User) -> ActResult:
    review.claim(by, Names.of(review.conversation, by, None).reader)
    return "review.claimed", {}


def release(review: Review, by: User) -> ActResult:
    review.release(by)
    return "review.released", {}


def decide(review: Review, by: User, verdict: str) -> ActResult:
    """Set the verdict; "" removes it."""
    before = review.verdict
    review.decide(verdict, by)
    detail: Detail = {"before": {"verdict": before}, "after": {"verdict": verdict}}
    if review.decided_unopened:
        detail["unopened"] = True
    return "review.decided", detail


def label(review: Review, labels: Iterable[ReviewLabel]) -> ActResult:
    """Replace the review's labels with these."""
    before = [review_label.name for review_label in review.labels.all()]
    review.label(labels)
    after = [review_label.name for review_label in review.labels.all()]
    return "review.labelled", {"before": {"labels": before}, "after": {"labels": after}}


def parse_verdict(sent: str) -> str:
    """Return the verdict. Raises `Refused` if it is unknown."""
    if sent not in Review.Verdict.values:
        raise Refused("That verdict doesn't exist. Choose one of those on the page.")
    return sent
