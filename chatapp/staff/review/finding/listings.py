"""Recording which filters a reviewer has listed: each once in a session, and again after a day.

The results of a filter reveal something about what people wrote, so the event is stored before they
are shown. Reloading a list, or turning its pages, reveals nothing that is not recorded.
"""

import json
import time
from hashlib import sha256

from django.db import transaction
from django.http import HttpRequest

from chatapp.models import User, audit
from chatapp.staff.review.finding.filters import FilterForm

SECONDS = 24 * 3600  # after which a filter has to be listed, and so recorded, again
KEY = "review_listed"  # in the session: when each filter was recorded, by its digest
MAX_KEPT = 100  # filters


def record_listing(request: HttpRequest, form: FilterForm) -> None:
    assert isinstance(request.user, User)
    filters = form.audit_filters or {"show": form.selected_list}
    digest = sha256(json.dumps(filters, sort_keys=True).encode()).hexdigest()
    now = int(time.time())
    listed: dict[str, int] = {
        recorded_digest: at
        for recorded_digest, at in request.session.get(KEY, {}).items()
        if now - at < SECONDS
    }
    if digest in listed:
        return
    with transaction.atomic():
        audit.record("conversations.listed", actor=request.user, detail={"asked": filters})
    newest = [*listed.items(), (digest, now)][-MAX_KEPT:]
    request.session[KEY] = dict(newest)
