"""Permissions to view: every address requested by everybody, in one table.

An address missing from the table fails the tests. So does a word of Alice's in a response to
someone who may not read it, a key in any response, and a row changed by viewing or by a refused
post.
"""

from contextlib import suppress
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.http import HttpResponseBase
from django.urls import get_resolver

from chatapp.models import AuditEvent, AuditHead, User
from chatapp.sessions.rate_limits import allowances
from tests.security.house import (
    CAST,
    FORMER,
    KEYS,
    PRIVATE,
    House,
    everything,
    read_body,
    routes,
    verdict,
)
from tests.support.profile import sample_params

pytestmark = pytest.mark.django_db

READERS = {"alice", "rita", "olive"}
READINGS = (
    *("conversation.opened", "conversations.listed", "conversations.exported"),
    *("conversations.searched", "image.opened", "file.opened", "reviewrule.tried"),
)
"""Audit events that record reading what others wrote."""
# What each of the cast gets, in that order: a status, or "in" for a redirect to sign-in.
ANYBODY = "200 200 200 200 200 200 200"
MEMBERS = "in  200 200 200 200 200 200"
OWNER = "  in  200 404 404 404 404 404"
REVIEWERS = "in in in 403 200 200 403"
READABLE = "in 200 404 404 200 200 404"  # by reviewers who have opened the chat
STAFFS_ROOM = "in 403 403 403 403 200 200"
REVIEWERS_ROOM = "in 403 403 403 200 200 403"
NO_FACTOR = "in 302 302 302 302 302 302"  # so they are asked for their password
NO_KEY = "in 404 404 404 404 404 404"
NO_WAY = "403 403 403 403 403 403 403"
OVER = "410 410 410 410 410 410 410"
NO_TOKEN = "401 401 401 401 401 401 401"  # a session is no use there
NOT_THERE = "404 404 404 404 404 404 404"
READER = " in  200 404 404 404 404 404"  # the house's link is for nobody but its owner
UNDER_LINK = "404 200 404 404 404 404 404"
POSTED = " 405 405 405 405 405 405 405"
REVIEWS = ("open", "reveal", "claim", "release", "verdict", "labels", "notes")
ELSEWHERE = "302 302 302 302 302 302 302"
NEWCOMERS = "200 302 302 302 302 302 302"

PROJECT_CHAT = (  # what members read; one's own chats are not among them
    *("", "earlier/<uuid:message>/", "files/<uuid:file>/", "files/<uuid:file>/image/"),
    *("files/<uuid:file>/thumbnail/", "images/<uuid:message>/<int:position>/"),
)

TABLE = {
    "": MEMBERS,
    "c/<uuid:pk>/": OWNER,
    "c/<uuid:pk>/earlier/": OWNER,
    "c/<uuid:pk>/markdown/": OWNER,
    "c/<uuid:pk>/print/": OWNER,
    "c/<uuid:pk>/later/": OWNER,
    "c/<uuid:pk>/outline/": OWNER,
    "c/<uuid:pk>/request/": OWNER,
    "c/<uuid:pk>/settings/": OWNER,
    "chat-settings/": MEMBERS,
    "c/<uuid:pk>/rename/": POSTED,
    "c/<uuid:pk>/keep/": POSTED,
    "c/<uuid:pk>/usage/": OWNER,
    "c/<uuid:pk>/share/": OWNER,
    "shared-links/": MEMBERS,
    **{f"shared-links/<uuid:pk>/{act}/": POSTED for act in ("revoke", "renew")},
    **{f"s/<str:token>/{page}": READER for page in ("", "copy/")},
    "s/<str:token>/earlier/<uuid:message>/": UNDER_LINK,
    **{
        f"s/<str:token>/files/<uuid:pk>/{what}": UNDER_LINK for what in ("", "image/", "thumbnail/")
    },
    "s/<str:token>/images/<uuid:reply>/<int:position>/": UNDER_LINK,
    "s/<str:token>/<path:rest>": NOT_THERE,
    "chat-tools/": MEMBERS,
    "models/": MEMBERS,
    "branding/accent.css": ANYBODY,
    "branding/logo": ANYBODY,
    "conversations/": MEMBERS,
    "conversations/change/": POSTED,
    "conversations/export/": POSTED,
    "conversations/export/new/": MEMBERS,
    "exports/": MEMBERS,
    **{f"exports/<uuid:pk>/{page}/": OWNER for page in ("download", "progress")},
    **{f"exports/<uuid:pk>/{act}/": POSTED for act in ("cancel", "delete")},
    "projects/": POSTED,
    "projects/<uuid:pk>/": OWNER,
    "projects/<uuid:pk>/change/": POSTED,
    "projects/<uuid:pk>/delete/": POSTED,
    "projects/<uuid:pk>/sharing/": OWNER,
    "projects/<uuid:pk>/others/": OWNER,
    "projects/<uuid:pk>/leave/": POSTED,
    **{f"projects/<uuid:pk>/c/<uuid:chat>/{page}": NO_KEY for page in PROJECT_CHAT},
    "projects/<uuid:pk>/c/<uuid:chat>/copy/": POSTED,
    "prompts/<uuid:pk>/text/": OWNER,
    **{f"prompts/{page}": MEMBERS for page in ("", "new/", "index/", "commands/")},
    **{f"prompts/{page}/": MEMBERS for page in ("export", "import")},
    "prompts/forget/": POSTED,
    **{f"prompts/<uuid:pk>/{page}": OWNER for page in ("", "use/", "versions/", "sharing/")},
    **{f"prompts/<uuid:pk>/{act}/": POSTED for act in ("copy", "delete", "restore", "fill")},
    **{f"presets/{page}": MEMBERS for page in ("", "new/", "export/", "import/")},
    **{f"presets/<uuid:pk>/{page}": OWNER for page in ("", "export/", "versions/", "sharing/")},
    "presets/<uuid:pk>/versions/<int:number>/": OWNER,
    **{f"presets/<uuid:pk>/{act}/": POSTED for act in ("copy", "delete", "restore")},
    "files/": POSTED,
    "files/draft/": MEMBERS,
    "files/viewer/": MEMBERS,
    **{f"files/<uuid:pk>/{what}": READABLE for what in ("", "image/", "thumbnail/", "text/")},
    "files/<uuid:pk>/page/<int:position>/": READABLE,
    "files/<uuid:pk>/drawn/<int:number>/": "in 404 404 404 404 404 404",  # her document is no PDF
    **{f"files/<uuid:pk>/{act}/": POSTED for act in ("part", "retry", "remove", "pages")},
    "files/<uuid:pk>/describe/": POSTED,
    "replies/<uuid:pk>/confidence/": OWNER,
    "replies/<uuid:pk>/feedback/": POSTED,
    "replies/<uuid:pk>/markdown/": OWNER,
    "replies/<uuid:pk>/request/": OWNER,
    "replies/<uuid:pk>/images/<int:position>/": READABLE,
    "imports/": MEMBERS,
    "imports/upload/": POSTED,
    "imports/files/<uuid:pk>/part/": POSTED,
    "imports/read/<uuid:batch>/": POSTED,
    **{f"imports/<uuid:pk>/{page}": OWNER for page in ("", "progress/")},
    **{f"imports/<uuid:pk>/{act}/": POSTED for act in ("start", "cancel", "discard", "retry")},
    "imports/<uuid:pk>/undo/": POSTED,
    "help/": MEMBERS,
    "help/administrators/": STAFFS_ROOM,
    "privacy/": MEMBERS,
    "privacy/archive/": POSTED,
    "privacy/erase/": MEMBERS,
    "search/": MEMBERS,
    "shortcuts/": MEMBERS,
    "limits/": STAFFS_ROOM,
    "limits/me/": MEMBERS,
    "limits/new/": STAFFS_ROOM,
    "limits/preview/": STAFFS_ROOM,
    "limits/<int:pk>/": STAFFS_ROOM,
    "limits/<int:pk>/remove/": POSTED,
    "limits/prices/new/": STAFFS_ROOM,
    "limits/prices/<int:pk>/": "in 403 403 403 403 404 404",
    "limits/prices/<int:pk>/remove/": POSTED,
    "usage/": STAFFS_ROOM,
    "policy/": STAFFS_ROOM,
    "settings/": STAFFS_ROOM,
    "retention/": STAFFS_ROOM,
    "usage/me/": MEMBERS,
    "upstreams/": ELSEWHERE,
    "upstreams/<path:rest>": ELSEWHERE,
    "settings/models/": STAFFS_ROOM,
    "settings/models/order/": POSTED,
    "settings/models/new/": STAFFS_ROOM,
    "settings/models/<int:pk>/": STAFFS_ROOM,
    "settings/models/<int:pk>/address/": STAFFS_ROOM,
    "settings/models/<int:pk>/requests/": POSTED,
    "settings/models/<int:pk>/images/": POSTED,
    "settings/models/<int:pk>/parameters/": STAFFS_ROOM,
    "settings/models/<int:pk>/parameters/refusals/": POSTED,
    "settings/models/<int:pk>/fallbacks/": STAFFS_ROOM,
    "settings/models/<int:pk>/contexts/": POSTED,
    "settings/models/<int:pk>/concessions/": POSTED,
    "settings/models/<int:pk>/dismiss/": POSTED,
    "settings/models/<int:pk>/off/": POSTED,
    "settings/models/<int:pk>/delete/": STAFFS_ROOM,
    "settings/models/<int:pk>/test/": STAFFS_ROOM,
    "settings/shared/": STAFFS_ROOM,
    "settings/shared/stop/": POSTED,
    "settings/shared/<uuid:pk>/revoke/": POSTED,
    "settings/shared/projects/stop/": POSTED,
    "settings/tools/": STAFFS_ROOM,
    "settings/tools/new/": STAFFS_ROOM,
    "settings/tools/<int:pk>/": STAFFS_ROOM,
    "settings/tools/<int:pk>/tools/": POSTED,
    "settings/tools/<int:pk>/delete/": STAFFS_ROOM,
    "setup/<str:token>/": ELSEWHERE,  # an account exists
    "accounts/login/": NEWCOMERS,
    "accounts/logout/": MEMBERS,
    "accounts/signed-out/": ANYBODY,
    "accounts/signup/": NEWCOMERS,
    "accounts/inactive/": ANYBODY,
    "accounts/password/change/": MEMBERS,
    "accounts/password/set/": "in 302 302 302 302 302 302",  # everybody has a password
    "accounts/password/reset/": ANYBODY,
    "accounts/password/new/<str:named>/<str:token>/": OVER,
    "accounts/address/<str:token>/": OVER,
    "accounts/reauthenticate/": MEMBERS,
    "accounts/by/<str:provider_id>/": NOT_THERE,  # no provider is set up
    "accounts/by/<str:provider_id>/back/": NOT_THERE,
    "accounts/by/": NO_WAY,
    "accounts/by/ended/": NO_WAY,
    "accounts/by/failed/": NO_WAY,
    "accounts/by/joined/": NO_WAY,
    "accounts/profile/": MEMBERS,
    "accounts/profile/picture/": POSTED,
    "accounts/pictures/<slug:version>/": MEMBERS,  # who knows its hash was shown it
    "accounts/devices/": MEMBERS,
    "accounts/tokens/": MEMBERS,
    "accounts/tokens/<uuid:pk>/revoke/": POSTED,
    "api/v1/models": NO_TOKEN,
    "api/v1/models/<path:name>": NO_TOKEN,
    "api/v1/chat/completions": POSTED,
    "api/v1/<path:rest>": NOT_THERE,
    "api/v1/": NOT_THERE,
    "api/v1": NOT_THERE,
    "preferences/": MEMBERS,
    "preferences/memory/": POSTED,
    "accounts/reauthenticate/code/": NO_FACTOR,
    "accounts/reauthenticate/key/": NO_FACTOR,
    "accounts/reauthenticate/organisation/": NO_FACTOR,  # nobody here signed in that way
    "accounts/login/code/": "in 302 302 302 302 302 302",  # nobody is halfway through signing in
    "accounts/login/passkey/": "in 302 302 302 302 302 302",
    "accounts/second-factor/": MEMBERS,
    "accounts/second-factor/app/": MEMBERS,
    "accounts/second-factor/app/end/": NO_KEY,
    "accounts/second-factor/codes/": NO_KEY,
    "accounts/second-factor/codes/new/": MEMBERS,
    "accounts/second-factor/codes/file/": NO_KEY,
    "accounts/second-factor/keys/": MEMBERS,
    "accounts/second-factor/keys/add/": MEMBERS,
    "accounts/second-factor/keys/<int:pk>/name/": NO_KEY,
    "accounts/second-factor/keys/<int:pk>/end/": NO_KEY,
    "invitation/<str:token>/": "410 200 200 200 200 200 200",  # signed-in people get a message
    "pick/chats/<int:pk>/": STAFFS_ROOM,
    "pick/models/": STAFFS_ROOM,
    "pick/people/": STAFFS_ROOM,
    "people/": STAFFS_ROOM,
    "people/invitations/": STAFFS_ROOM,
    "people/invitations/<int:pk>/renew/": POSTED,
    "people/invitations/<int:pk>/revoke/": POSTED,
    "people/access/": STAFFS_ROOM,
    "people/groups/": STAFFS_ROOM,
    "people/groups/<int:pk>/": STAFFS_ROOM,
    "people/groups/<int:pk>/member/": POSTED,
    "people/groups/<int:pk>/delete/": STAFFS_ROOM,
    "people/given/": "in 403 403 403 403 302 302",
    "people/given/<slug:kind>/<int:pk>/": STAFFS_ROOM,
    "people/<int:pk>/": STAFFS_ROOM,
    "people/<int:pk>/delete/": STAFFS_ROOM,
    "people/<int:pk>/<slug:what>/": POSTED,
    "probe/seen": NOT_THERE,
    "probe/trickle": NOT_THERE,
    "probe/body": POSTED,
    "healthz": ANYBODY,
    "readyz": ANYBODY,
    "metrics": NOT_THERE,
}
TABLE |= {
    "review/": REVIEWERS_ROOM,
    "review/export/": REVIEWERS_ROOM,
    "review/people/": REVIEWERS_ROOM,
    "review/<uuid:pk>/": REVIEWERS_ROOM,
    "review/<uuid:pk>/changes/": REVIEWERS_ROOM,
    "review/<uuid:pk>/messages/<uuid:message>/": REVIEWERS_ROOM,
    **{f"review/<uuid:pk>/{act}/": POSTED for act in REVIEWS},
    "review/search/": POSTED,
    "review/bulk/": POSTED,
    "review/views/save/": POSTED,
    "review/views/<int:pk>/delete/": POSTED,
    "review/samples/draw/": POSTED,
    "review/samples/<int:pk>/delete/": POSTED,
    "review/rules/": STAFFS_ROOM,
    "review/rules/add/": STAFFS_ROOM,
    "review/rules/<int:pk>/": STAFFS_ROOM,
    "review/rules/<int:pk>/switch/": POSTED,
    "review/rules/<int:pk>/delete/": POSTED,
    "review/labels/": STAFFS_ROOM,
    "review/labels/<int:pk>/delete/": POSTED,
}
TABLE |= {"audit/": STAFFS_ROOM, "audit/actions/": STAFFS_ROOM}
TABLE |= {"audit/check/": POSTED, "audit/export/": POSTED}
OWN = (
    "accounts/logout/",
    "accounts/profile/",
    "accounts/profile/picture/",
    "accounts/devices/",
    "preferences/",
    "preferences/memory/",
    "privacy/archive/",
    "privacy/erase/",
)  # everybody may end their own sessions and export or erase their own data
HERS = (
    "c/<uuid:pk>/rename/",
    "c/<uuid:pk>/settings/",
    "c/<uuid:pk>/keep/",
    "projects/<uuid:pk>/change/",
    "projects/<uuid:pk>/delete/",
    "projects/<uuid:pk>/sharing/",
    "projects/<uuid:pk>/leave/",
    "replies/<uuid:pk>/feedback/",
    "s/<str:token>/copy/",
    *(f"shared-links/<uuid:pk>/{act}/" for act in ("revoke", "renew")),
    "accounts/tokens/<uuid:pk>/revoke/",
    *(f"exports/<uuid:pk>/{act}/" for act in ("cancel", "delete")),
    "imports/read/<uuid:batch>/",
    *(f"imports/<uuid:pk>/{act}/" for act in ("start", "cancel", "discard", "retry", "undo")),
    *(f"prompts/<uuid:pk>/{act}/" for act in ("copy", "delete", "fill")),
    *(f"presets/<uuid:pk>/{act}/" for act in ("copy", "delete")),
    *(f"files/<uuid:pk>/{act}/" for act in ("retry", "remove", "pages", "describe")),
)
"""What Alice may post, as covered by test_chat_settings, test_feedback, test_keeping,
test_projects, test_shared_projects and test_temporary in tests/chat, in tests/accounts,
tests/exports, tests/files, tests/imports, tests/library and tests/sharing."""


def get_last_sequence() -> int:
    """Return the number of the audit log's last event."""
    return AuditHead.objects.get().sequence


def is_recorded(name: str, house: House, path: str, since: int) -> bool:
    """Return whether the audit log says that this person read what others wrote: by an event after
    number `since`, or by an earlier opening of the conversation shown, which lasts."""
    reader = User.objects.get(username=name)
    readings = AuditEvent.objects.filter(actor=reader.pk, action__in=READINGS)
    if readings.filter(sequence__gt=since).exists():
        return True
    opened = readings.filter(action="conversation.opened", target=str(house.conversation.pk))
    return f"/review/{house.conversation.pk}/" in path and opened.exists()


def read_response(answer: HttpResponseBase) -> str:
    """Return the whole response as text, with its headers."""
    return f"{answer.headers}{read_body(answer).decode(errors='replace')}"


def test_the_table_covers_every_address() -> None:
    assert set(routes(get_resolver().url_patterns)) == set(TABLE)


@pytest.mark.parametrize("name", sample_params([*CAST, *FORMER], len(CAST) + 1))
def test_everybody_gets_what_they_may_see_and_nothing_else(house: House, name: str) -> None:
    column = CAST.index(name) if name in CAST else CAST.index("nobody")
    expected = {route: row.split()[column] for route, row in TABLE.items()}
    if name == "deactivated":
        expected["conversations/"] = "403"  # so that a page can tell this from a sign-out
    before = everything()
    got, read_by_others = {}, []
    for route in TABLE:
        allowances.clear()
        since = get_last_sequence()
        answer = house.clients[name].get(house.path(route))
        got[route] = verdict(answer)
        page = read_response(answer)
        assert not [key for key in KEYS if key in page], route
        if [word for word in PRIVATE if word in page] and name != "alice":
            assert name in READERS, route
            read_by_others.append((route, is_recorded(name, house, house.path(route), since)))
    assert got == expected
    assert not [route for route, reads in read_by_others if not reads]
    assert bool(read_by_others) == (name in READERS - {"alice"})
    assert everything() == before


@pytest.mark.parametrize("name", ["alice", "rita", "olive"])
def test_an_image_is_never_cached_and_runs_no_scripts(house: House, name: str) -> None:
    """The next person at the browser would find it in the cache."""
    image = house.path("replies/<uuid:pk>/images/<int:position>/")
    answer = house.clients[name].get(image, headers={"Range": "bytes=0-2"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/gif")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    for position in ("1", "-1", "99999999999999999999", "0.svg"):
        other = house.clients[name].get(image.replace("/0/", f"/{position}/"))
        assert other.status_code in (400, 404)


@pytest.mark.parametrize(
    "authorization",
    sample_params(
        ["", "Bearer", "Bearer ", "bearer tok", "Basic tok", "Bearer töken", "Bearer tokentoken"], 2
    ),
)
@pytest.mark.parametrize("name", ["nobody", "alice", "olive"])
def test_metrics_require_the_token(
    house: House, monkeypatch: pytest.MonkeyPatch, name: str, authorization: str
) -> None:
    """Being signed in does not help, even as an administrator."""
    monkeypatch.setattr(settings, "CHATAPP_METRICS_TOKEN", "token")
    client = house.clients[name]
    answer = client.get("/metrics", headers={"Authorization": authorization})
    assert (answer.status_code, answer.content) == (401, b"")
    answer = client.get("/metrics", headers={"Authorization": "Bearer token"})
    assert answer.status_code == 200
    assert not [word for word in (*PRIVATE, *KEYS, "alice") if word in answer.content.decode()]


@pytest.mark.thorough
def test_diagnostic_commands_print_no_secrets(house: House) -> None:
    """The doctor and the check of an unreachable upstream; people send their output to others."""
    for words in (["doctor"], ["check_upstream", "Fake"]):
        read_by_others = StringIO()
        with suppress(SystemExit, CommandError):
            call_command(*words, stdout=read_by_others, stderr=read_by_others)
        assert read_by_others.getvalue()
        secrets = (*KEYS, *PRIVATE, settings.SECRET_KEY)
        assert not [secret for secret in secrets if secret in read_by_others.getvalue()], words


@pytest.mark.parametrize(
    "name", sample_params(["nobody", "alice", "bob", "stan", "rita", *FORMER], 6)
)
def test_a_person_who_may_not_view_may_not_post(house: House, name: str) -> None:
    """Nor may anyone with read-only access change anything, or anyone but Alice what is Alice's."""
    column = CAST.index(name) if name in CAST else CAST.index("nobody")
    before = everything()
    for route, row in TABLE.items():
        if route in OWN or (name == "alice" and route in HERS):
            continue
        allowances.clear()
        viewed = row.split()[column]
        posted = verdict(house.clients[name].post(house.path(route), {"post": "yes"}))
        assert posted != "200" or viewed in ("200", "302"), route
        assert route not in HERS or posted == ("in" if CAST[column] == "nobody" else "404")
    assert everything() == before
