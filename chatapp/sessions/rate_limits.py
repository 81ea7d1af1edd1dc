"""The rate limit of each person in this process, over pages and sockets together."""

from django.conf import settings

from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets

TABS_AT_WORK = 4  # tabs one person may use at full speed at once


def _create_bucket() -> TokenBucket:
    """Create an allowance with a burst for all tabs of a person reconnecting after a restart."""
    return TokenBucket(
        TABS_AT_WORK * settings.CHATAPP_ACTIONS_PER_SECOND, 2 * settings.CHATAPP_TABS_PER_PERSON
    )


allowances = TokenBuckets(_create_bucket)
