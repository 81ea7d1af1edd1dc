"""Warnings of upstreams that failed within the last hour, until they answer.

A warning can be dismissed for an hour, in one's own session.
"""

import time
from collections.abc import Mapping

from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from chatapp.models import Conversation, Message, UpstreamFailure
from chatapp.models.platform.upstream_failures import FAILING_FOR
from chatapp.upstream.wire.reply import Ending

DISMISSED = "dismissed_failures"  # in the session: when each was dismissed, by the upstream's key
ANSWERED = (Ending.COMPLETE, Ending.LENGTH, Ending.REFUSED, Ending.CONTENT_FILTER)


def failing_upstreams(request: HttpRequest) -> list[UpstreamFailure]:
    """Return the latest failure of each upstream to warn of."""
    dismissals = _read_dismissals(request)
    return [
        failure
        for failure in UpstreamFailure.objects.find_current()
        if str(failure.upstream_id) not in dismissals and not _has_answered_since(failure)
    ]


def dismiss(request: HttpRequest, upstream: int) -> None:
    """Don't warn of this upstream for an hour."""
    request.session[DISMISSED] = {**_read_dismissals(request), str(upstream): time.time()}


def _read_dismissals(request: HttpRequest) -> Mapping[str, float]:
    since = time.time() - FAILING_FOR.total_seconds()
    dismissals: Mapping[str, float] = request.session.get(DISMISSED, {})
    return {upstream: at for upstream, at in dismissals.items() if at > since}


def _has_answered_since(failure: UpstreamFailure) -> bool:
    """Whether a chat was answered by the upstream after its failure.

    Messages are found by the chats used since then, for which there is an index.
    """
    answers = Message.objects.filter(
        conversation=OuterRef("pk"),
        role=Message.Role.ASSISTANT,
        deleted_at=None,
        upstream=failure.upstream_id,
        ending__in=ANSWERED,
        created_at__gt=failure.last_at,
    )
    recent = Conversation.objects.filter(updated_at__gt=failure.last_at)
    return recent.filter(Exists(answers)).exists()
