"""Permissions to change: every action with who may do it, whether it asks for the password again,
and its event in the audit log, in one table.

An action missing from the table fails the tests. Who may view what is in `test_access`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, NamedTuple

import pytest
from django.contrib.auth import SESSION_KEY
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client
from django.urls import get_resolver
from pytest_django import Settings

from chatapp.chat import actions as chat
from chatapp.chat.consumer import TOO_MUCH
from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models import AuditEvent, AuditHead, User
from chatapp.sessions.rate_limits import allowances
from chatapp.staff.people.changes import CHANGES
from tests.conftest import signed_in
from tests.security import posted
from tests.security.house import CAST, House, Rows, everything, routes
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

# Who may do it
ANYBODY = "anybody"
MEMBER = "everybody with an account, of what is their own"
OWNER = "whose it is"
REVIEWER = "reviewers"
ADMINISTRATOR = "administrators"
REVIEWING = "administrators who review"

# Why the audit log has no event of it
HERS = "concerns nobody but its owner"
NOTHING = "changes nothing that is stored"
MAIL = "sends a mail; what its link does is recorded"
CONFIRMED = "is recorded if the password is wrong; else what it was asked for is"
UNRECORDED = (HERS, NOTHING, MAIL, CONFIRMED)

PASSWORD = "is asked for again"
POLICY = "lets reviewers read the conversation, or the action finds none"


class Gates(NamedTuple):
    who: str
    event: str  # one or several events of the audit log, or why there is none
    asks: str = ""

    @property
    def events(self) -> list[str]:
        return [] if self.event in UNRECORDED else self.event.split()


ACTIONS = {
    # The chat
    "c/<uuid:pk>/settings/": Gates(OWNER, HERS),
    "chat-settings/": Gates(MEMBER, NOTHING),  # shows the fields of another model
    "c/<uuid:pk>/rename/": Gates(OWNER, HERS),
    "c/<uuid:pk>/keep/": Gates(OWNER, HERS),
    "conversations/change/": Gates(OWNER, HERS),
    "conversations/export/": Gates(OWNER, "conversations.exported"),
    "exports/<uuid:pk>/cancel/": Gates(OWNER, HERS),
    "exports/<uuid:pk>/delete/": Gates(OWNER, HERS),
    "projects/": Gates(MEMBER, HERS),
    "projects/<uuid:pk>/change/": Gates(OWNER, HERS),
    "projects/<uuid:pk>/delete/": Gates(OWNER, HERS),
    "projects/<uuid:pk>/sharing/": Gates(OWNER, "project.shared"),
    "projects/<uuid:pk>/leave/": Gates(OWNER, "project.left"),  # a member's, of their entry
    "projects/<uuid:pk>/c/<uuid:chat>/copy/": Gates(OWNER, "project.chat_copied"),  # a member's
    "replies/<uuid:pk>/feedback/": Gates(OWNER, HERS),
    # Shared chats
    "c/<uuid:pk>/share/": Gates(OWNER, "chat.shared"),
    "shared-links/<uuid:pk>/renew/": Gates(OWNER, "chat.share_changed"),
    "shared-links/<uuid:pk>/revoke/": Gates(OWNER, "chat.unshared"),
    "s/<str:token>/copy/": Gates(OWNER, "chat.share_copied"),
    # Prompts
    "prompts/new/": Gates(MEMBER, HERS),
    "prompts/import/": Gates(MEMBER, HERS),
    "prompts/forget/": Gates(MEMBER, HERS),
    "prompts/<uuid:pk>/": Gates(OWNER, HERS),
    "prompts/<uuid:pk>/copy/": Gates(OWNER, HERS),
    "prompts/<uuid:pk>/delete/": Gates(OWNER, HERS),
    "prompts/<uuid:pk>/restore/": Gates(OWNER, HERS),
    "prompts/<uuid:pk>/versions/": Gates(OWNER, HERS),
    "prompts/<uuid:pk>/sharing/": Gates(OWNER, "item.shared"),
    "prompts/<uuid:pk>/fill/": Gates(OWNER, HERS),
    # Presets
    "presets/new/": Gates(MEMBER, HERS),
    "presets/import/": Gates(MEMBER, HERS),
    "presets/<uuid:pk>/": Gates(OWNER, HERS),
    "presets/<uuid:pk>/copy/": Gates(OWNER, HERS),
    "presets/<uuid:pk>/delete/": Gates(OWNER, HERS),
    "presets/<uuid:pk>/restore/": Gates(OWNER, HERS),
    "presets/<uuid:pk>/versions/": Gates(OWNER, HERS),
    "presets/<uuid:pk>/sharing/": Gates(OWNER, "item.shared"),
    # Files
    "files/": Gates(MEMBER, HERS),
    "files/<uuid:pk>/retry/": Gates(OWNER, HERS),
    "files/<uuid:pk>/remove/": Gates(OWNER, HERS),
    "files/<uuid:pk>/pages/": Gates(OWNER, HERS),
    "files/<uuid:pk>/describe/": Gates(OWNER, HERS),
    "files/<uuid:pk>/text/": Gates(OWNER, HERS),
    # Imports
    "imports/upload/": Gates(MEMBER, HERS),
    "imports/read/<uuid:batch>/": Gates(OWNER, HERS),
    "imports/<uuid:pk>/start/": Gates(OWNER, "import.started"),
    "imports/<uuid:pk>/cancel/": Gates(OWNER, HERS),
    "imports/<uuid:pk>/discard/": Gates(OWNER, HERS),
    "imports/<uuid:pk>/retry/": Gates(OWNER, HERS),
    "imports/<uuid:pk>/undo/": Gates(OWNER, HERS),  # recorded when it is done
    # Joining and leaving
    "setup/<str:token>/": Gates(ANYBODY, "person.added person.signed_in"),
    "invitation/<str:token>/": Gates(ANYBODY, "person.joined person.signed_in"),
    "accounts/signup/": Gates(ANYBODY, "person.invited"),
    "accounts/login/": Gates(ANYBODY, "person.signed_in"),
    "accounts/login/code/": Gates(ANYBODY, "person.signed_in"),
    "accounts/login/passkey/": Gates(ANYBODY, "person.signed_in"),
    "accounts/logout/": Gates(MEMBER, "person.signed_out"),
    # A person's own account
    "accounts/address/<str:token>/": Gates(ANYBODY, "address.confirmed"),
    "accounts/profile/": Gates(MEMBER, "person.changed"),
    "accounts/profile/picture/": Gates(MEMBER, "person.changed"),
    "accounts/devices/": Gates(MEMBER, "sessions.ended"),  # only revokes
    "accounts/tokens/": Gates(MEMBER, "token.created", PASSWORD),
    "accounts/tokens/<uuid:pk>/revoke/": Gates(OWNER, "token.revoked"),  # only revokes
    "preferences/": Gates(MEMBER, HERS),
    "preferences/memory/": Gates(MEMBER, HERS),
    # its form asks for the old password
    "accounts/password/change/": Gates(MEMBER, "password.changed"),
    "accounts/password/new/<str:named>/<str:token>/": Gates(ANYBODY, "password.changed"),
    "accounts/password/reset/": Gates(ANYBODY, MAIL),
    "accounts/password/set/": Gates(MEMBER, "password.changed", PASSWORD),
    "accounts/reauthenticate/": Gates(MEMBER, CONFIRMED),
    "accounts/reauthenticate/code/": Gates(MEMBER, CONFIRMED),
    "accounts/reauthenticate/key/": Gates(MEMBER, CONFIRMED),
    "accounts/reauthenticate/organisation/": Gates(MEMBER, CONFIRMED),
    "accounts/second-factor/app/": Gates(MEMBER, "factor.added factor.added", PASSWORD),
    "accounts/second-factor/app/end/": Gates(MEMBER, "factor.removed", PASSWORD),
    "accounts/second-factor/codes/new/": Gates(MEMBER, "factor.added", PASSWORD),
    "accounts/second-factor/keys/add/": Gates(MEMBER, "factor.added factor.added", PASSWORD),
    "accounts/second-factor/keys/<int:pk>/name/": Gates(OWNER, HERS, PASSWORD),
    "accounts/second-factor/keys/<int:pk>/end/": Gates(OWNER, "factor.removed", PASSWORD),
    "privacy/archive/": Gates(MEMBER, "archive.made", PASSWORD),
    "privacy/erase/": Gates(MEMBER, "person.deleted person.erased", PASSWORD),
    # People
    "people/invitations/": Gates(ADMINISTRATOR, "person.invited", PASSWORD),
    "people/invitations/<int:pk>/renew/": Gates(ADMINISTRATOR, "invitation.renewed", PASSWORD),
    # only revokes
    "people/invitations/<int:pk>/revoke/": Gates(ADMINISTRATOR, "invitation.revoked"),
    "people/access/": Gates(ADMINISTRATOR, "installation.changed", PASSWORD),
    "people/groups/": Gates(ADMINISTRATOR, "group.added", PASSWORD),
    "people/groups/<int:pk>/": Gates(ADMINISTRATOR, "group.changed", PASSWORD),
    "people/groups/<int:pk>/member/": Gates(ADMINISTRATOR, "group.changed", PASSWORD),
    "people/groups/<int:pk>/delete/": Gates(ADMINISTRATOR, "group.deleted", PASSWORD),
    "people/given/<slug:kind>/<int:pk>/": Gates(ADMINISTRATOR, "access.changed", PASSWORD),
    "people/<int:pk>/delete/": Gates(ADMINISTRATOR, "person.deleted person.erased", PASSWORD),
    "people/<int:pk>/name/": Gates(ADMINISTRATOR, "person.changed", PASSWORD),
    "people/<int:pk>/roles/": Gates(ADMINISTRATOR, "role.changed", PASSWORD),
    "people/<int:pk>/groups/": Gates(ADMINISTRATOR, "person.changed", PASSWORD),
    "people/<int:pk>/sign-out/": Gates(ADMINISTRATOR, "sessions.ended", PASSWORD),
    "people/<int:pk>/revoke-token/": Gates(ADMINISTRATOR, "token.revoked", PASSWORD),
    "people/<int:pk>/reset-link/": Gates(ADMINISTRATOR, "password.link_made", PASSWORD),
    "people/<int:pk>/second-factor/": Gates(ADMINISTRATOR, "factor.removed", PASSWORD),
    "people/<int:pk>/active/": Gates(ADMINISTRATOR, "person.deactivated", PASSWORD),
    "people/<int:pk>/hold/": Gates(ADMINISTRATOR, "hold.set", PASSWORD),
    "people/<int:pk>/end-hold/": Gates(ADMINISTRATOR, "hold.ended", PASSWORD),
    # Settings
    "limits/new/": Gates(ADMINISTRATOR, "limit.added", PASSWORD),
    "limits/<int:pk>/": Gates(ADMINISTRATOR, "limit.changed", PASSWORD),
    "limits/<int:pk>/remove/": Gates(ADMINISTRATOR, "limit.deleted", PASSWORD),
    "limits/prices/new/": Gates(ADMINISTRATOR, "price.changed", PASSWORD),
    "limits/prices/<int:pk>/": Gates(ADMINISTRATOR, "price.changed", PASSWORD),
    "limits/prices/<int:pk>/remove/": Gates(ADMINISTRATOR, "price.changed", PASSWORD),
    "policy/": Gates(ADMINISTRATOR, "policy.changed", PASSWORD),
    "retention/": Gates(ADMINISTRATOR, "retention.changed", PASSWORD),
    "settings/": Gates(ADMINISTRATOR, "installation.changed", PASSWORD),
    "settings/models/order/": Gates(ADMINISTRATOR, "installation.changed", PASSWORD),
    "settings/models/new/": Gates(ADMINISTRATOR, "upstream.added", PASSWORD),
    "settings/models/<int:pk>/address/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/": Gates(ADMINISTRATOR, "access.changed upstream.changed", PASSWORD),
    "settings/models/<int:pk>/requests/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/images/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/parameters/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/parameters/refusals/": Gates(
        ADMINISTRATOR, "upstream.changed", PASSWORD
    ),
    "settings/models/<int:pk>/fallbacks/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/contexts/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/concessions/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/dismiss/": Gates(ADMINISTRATOR, NOTHING),  # but in the session
    "settings/models/<int:pk>/off/": Gates(ADMINISTRATOR, "upstream.changed", PASSWORD),
    "settings/models/<int:pk>/delete/": Gates(ADMINISTRATOR, "upstream.deleted", PASSWORD),
    "settings/models/<int:pk>/test/": Gates(ADMINISTRATOR, "upstream.checked", PASSWORD),
    "settings/shared/projects/stop/": Gates(ADMINISTRATOR, "project.unshared"),  # only revokes
    "settings/shared/stop/": Gates(ADMINISTRATOR, "item.unshared"),  # only revokes
    "settings/shared/<uuid:pk>/revoke/": Gates(ADMINISTRATOR, "chat.unshared"),  # only revokes
    "settings/tools/new/": Gates(ADMINISTRATOR, "toolserver.added", PASSWORD),
    "settings/tools/<int:pk>/": Gates(ADMINISTRATOR, "toolserver.changed", PASSWORD),
    "settings/tools/<int:pk>/tools/": Gates(ADMINISTRATOR, "toolserver.checked", PASSWORD),
    "settings/tools/<int:pk>/delete/": Gates(ADMINISTRATOR, "toolserver.deleted", PASSWORD),
    "audit/check/": Gates(ADMINISTRATOR, NOTHING),
    "audit/export/": Gates(ADMINISTRATOR, "log.exported", PASSWORD),
    # The review. Everyday actions of a reviewer ask for no password.
    "review/search/": Gates(REVIEWER, "conversations.searched"),
    "review/bulk/#claim": Gates(REVIEWER, "review.claimed", POLICY),
    "review/bulk/#release": Gates(REVIEWER, "review.released", POLICY),
    "review/bulk/#verdict": Gates(REVIEWER, "review.decided", POLICY),
    "review/bulk/#label": Gates(REVIEWER, "review.labelled", POLICY),
    "review/<uuid:pk>/open/": Gates(REVIEWER, "conversation.opened", POLICY),
    "review/<uuid:pk>/reveal/": Gates(REVIEWER, "name.revealed", POLICY),
    "review/<uuid:pk>/claim/": Gates(REVIEWER, "review.claimed", POLICY),
    "review/<uuid:pk>/release/": Gates(REVIEWER, "review.released", POLICY),
    "review/<uuid:pk>/verdict/": Gates(REVIEWER, "review.decided", POLICY),
    "review/<uuid:pk>/labels/": Gates(REVIEWER, "review.labelled", POLICY),
    "review/<uuid:pk>/notes/": Gates(REVIEWER, "review.noted", POLICY),
    "review/views/save/": Gates(REVIEWER, "reviewview.saved"),
    "review/views/<int:pk>/delete/": Gates(REVIEWER, "reviewview.deleted"),
    "review/samples/draw/": Gates(REVIEWER, "reviewsample.drawn"),
    "review/samples/<int:pk>/delete/": Gates(REVIEWER, "reviewsample.deleted"),
    "review/rules/add/": Gates(ADMINISTRATOR, "reviewrule.added", PASSWORD),
    "review/rules/add/#try": Gates(REVIEWING, "reviewrule.tried reviewrule.matched", PASSWORD),
    "review/rules/<int:pk>/": Gates(ADMINISTRATOR, "reviewrule.changed", PASSWORD),
    "review/rules/<int:pk>/switch/": Gates(ADMINISTRATOR, "reviewrule.changed", PASSWORD),
    "review/rules/<int:pk>/delete/": Gates(ADMINISTRATOR, "reviewrule.deleted", PASSWORD),
    "review/labels/": Gates(ADMINISTRATOR, "reviewlabel.added", PASSWORD),
    "review/labels/<int:pk>/delete/": Gates(ADMINISTRATOR, "reviewlabel.deleted", PASSWORD),
}

ON_A_SOCKET = {
    # `test_socket_access` tries each with another person's conversation.
    **dict.fromkeys(("prompt", "continue", "retry", "edit"), Gates(OWNER, HERS)),
    **dict.fromkeys(("delete", "restore", "fork"), Gates(OWNER, HERS)),
    "choose": Gates(OWNER, HERS),
    **dict.fromkeys(("leave_out", "send_again", "edit_summary"), Gates(OWNER, HERS)),
    **dict.fromkeys(("summarise", "stop_summary"), Gates(OWNER, HERS)),
    **dict.fromkeys(("stop", "allow", "always_allow", "deny"), Gates(OWNER, HERS)),
    **dict.fromkeys(("step", "watch"), Gates(OWNER, HERS)),
}

TRIED_ELSEWHERE = {
    # These need another session, a browser or another installation.
    "setup/<str:token>/",  # tests/accounts/test_accounts.py
    "accounts/login/code/",  # tests/accounts/test_second_factor.py
    "accounts/login/passkey/",  # tests/browser/test_people.py
    "accounts/password/set/",  # tests/accounts/test_organisation.py
    "accounts/reauthenticate/key/",  # tests/browser/test_people.py
    "accounts/reauthenticate/organisation/",  # tests/accounts/test_confirming_there.py
    "accounts/second-factor/app/",  # tests/accounts/test_second_factor.py
    "accounts/second-factor/keys/add/",  # tests/browser/test_people.py
    "exports/<uuid:pk>/cancel/",  # needs one that is being made: tests/exports/test_views.py
    "presets/import/",  # needs a file: tests/library/presets/test_transfer.py
    "prompts/import/",  # needs a file: tests/library/prompts/test_transfer.py
}

NO_ACTIONS = {
    # A page of allauth that treats a POST like a GET
    "accounts/second-factor/codes/file/",
    # Addresses without a page
    "probe/body",  # only for the doctor
    # Only with a token, see tests/api
    "api/v1/chat/completions",
    "api/v1/<path:rest>",
    "api/v1/",
    "api/v1",
}
WHO = {  # someone who may, and others who may not
    ANYBODY: ("nobody", []),
    MEMBER: ("alice", ["nobody"]),
    OWNER: ("alice", ["bob", "rita", "adam"]),
    REVIEWER: ("rita", ["bob", "adam"]),
    ADMINISTRATOR: ("adam", ["bob", "rita"]),
    REVIEWING: ("olive", ["bob", "rita"]),
}
OF_STAFF = (REVIEWER, ADMINISTRATOR, REVIEWING)


@dataclass
class Attempt:
    """A post for one action, in a house unaffected by other attempts."""

    action: str
    house: House
    fields: dict[str, str]
    rows: Rows  # before the post
    recorded: int

    @property
    def gates(self) -> Gates:
        return ACTIONS[self.action]

    @property
    def events(self) -> list[str]:
        """The audit events since then."""
        since = AuditEvent.objects.filter(sequence__gt=self.recorded).order_by("sequence")
        return list(since.values_list("action", flat=True))

    @property
    def left_no_trace(self) -> bool:
        return not self.events and everything() == self.rows

    def by(self, client: Client, **more: Any) -> Any:
        return client.post(self.house.path(self.action), self.fields, **more)


@pytest.fixture
def home(house: House, settings: Settings) -> House:
    settings.EMAIL_URL = "smtp://mail.example.org"
    posted.furnish(house)
    return house


@contextmanager
def roll_back_changes(home: House) -> Iterator[House]:
    allowances.clear()
    with transaction.atomic():
        yield replace(home, objects=dict(home.objects))
        transaction.set_rollback(True)


def attempts(home: House) -> Iterator[Attempt]:
    untouched = everything()
    for action in ACTIONS:
        with roll_back_changes(home) as house:
            fields = posted.build_fields(action, house)
            rows = everything() if action in posted.NEEDED else untouched
            yield Attempt(action, house, fields, rows, AuditHead.objects.get().sequence)


def browser(clients: Mapping[str, Client], name: str) -> Client:
    """Return a client with a copy of a person's cookies, unaffected by its sign-outs."""
    client = Client(headers={"host": "localhost"})
    client.cookies.update(clients[name].cookies)
    return client


def is_asked_for_password(answer: HttpResponseBase) -> bool:
    return answer.headers.get("location", "").startswith("/accounts/reauthenticate/?next=")


def find_route(action: str) -> str:
    """Return the route of an action; an address with several actions has a row for each."""
    is_change = action.startswith("people/<int:pk>/") and action.split("/")[2] in CHANGES
    return "people/<int:pk>/<slug:what>/" if is_change else action.partition("#")[0]


def test_the_table_covers_every_action(home: House) -> None:
    done = {  # by the next test, which sees what they change or record
        find_route(action)
        for action, gates in ACTIONS.items()
        if action not in TRIED_ELSEWHERE and (gates.events or gates.event == HERS)
    }
    before, takes = everything(), set(done)
    for route in set(routes(get_resolver().url_patterns)) - done:
        with roll_back_changes(home):
            answer = browser(home.clients, "olive").post(home.path(route))
            if answer.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
                takes.add(route)
            assert route not in NO_ACTIONS or everything() == before, route
    assert takes == {find_route(action) for action in ACTIONS} | NO_ACTIONS
    assert {f"people/<int:pk>/{what}/" for what in CHANGES} <= set(ACTIONS)
    assert set(chat.ACTIONS) == set(ON_A_SOCKET)


def test_an_authorised_person_can_do_each_action_and_its_events_are_logged(
    home: House, django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]]
) -> None:
    wrong = {}
    for attempt in attempts(home):
        if attempt.action in TRIED_ELSEWHERE:
            continue
        name, _ = WHO[attempt.gates.who]
        with django_capture_on_commit_callbacks(execute=True):
            answer = attempt.by(browser(home.clients, name))
        is_done = attempt.gates.event != HERS or everything() != attempt.rows
        if not is_done or attempt.events != attempt.gates.events:
            wrong[attempt.action] = answer.status_code, attempt.events
    assert not wrong


def test_nobody_else_can_do_any_of_them(home: House) -> None:
    wrong = {}
    for attempt in attempts(home):
        _, others = WHO[attempt.gates.who]
        answers = [attempt.by(browser(home.clients, name)).status_code for name in others]
        if others and not attempt.left_no_trace:
            wrong[attempt.action] = answers, attempt.events
    assert not wrong


def test_only_sensitive_actions_ask_for_the_password(home: House) -> None:
    late = {name: signed_in(User.objects.get(username=name)) for name in CAST[1:]}
    for client in late.values():
        client.get("/help/")  # the first use of a session is stored
    wrong = {}
    for attempt in attempts(home):
        name, _ = WHO[attempt.gates.who]
        if name == "nobody":
            continue
        answer = attempt.by(browser(late, name))
        is_asked, must_be = is_asked_for_password(answer), attempt.gates.asks == PASSWORD
        if is_asked != must_be or (is_asked and not attempt.left_no_trace):
            wrong[attempt.action] = answer.status_code, attempt.events
    assert not wrong


def test_staff_actions_refuse_requests_made_by_scripts(home: House) -> None:
    wrong = {}
    for attempt in attempts(home):
        name, _ = WHO[attempt.gates.who]
        if attempt.gates.who in OF_STAFF:
            answer = attempt.by(browser(home.clients, name), headers={"HX-Request": "true"})
            if answer.status_code != HTTPStatus.FORBIDDEN or attempt.events:
                wrong[attempt.action] = answer.status_code, attempt.events
    assert not wrong


def test_reviewers_can_do_nothing_with_chats_closed_by_the_policy(home: House) -> None:
    wrong = {}
    for attempt in attempts(home):
        if attempt.gates.asks != POLICY:
            continue
        posted.hold_to(home, "nothing")
        attempt.rows = everything()
        answer = attempt.by(browser(home.clients, "rita"))
        is_found = "<uuid:pk>" in attempt.action and answer.status_code != HTTPStatus.NOT_FOUND
        if is_found or not attempt.left_no_trace:
            wrong[attempt.action] = answer.status_code, attempt.events
    assert not wrong


def test_each_action_counts_against_the_allowance_of_its_person(home: House) -> None:
    wrong = {}
    for attempt in attempts(home):
        name, _ = WHO[attempt.gates.who]
        client = browser(home.clients, "alice" if name == "nobody" else name)
        allowances[int(client.session[SESSION_KEY])] = TokenBucket(0, 0)
        answer = attempt.by(client)
        if answer.status_code != HTTPStatus.TOO_MANY_REQUESTS:
            wrong[attempt.action] = answer.status_code
    assert not wrong


async def test_each_socket_action_except_stop_counts_too(alice: User, tab: Tab) -> None:
    allowances[alice.pk] = TokenBucket(0, 0)
    for action in sorted(ON_A_SOCKET, key="stop".__ne__):
        await tab.send(action=action)
        if action != "stop":
            await tab.until(TOO_MUCH)
    assert sum(TOO_MUCH in frame for frame in tab.frames) == len(ON_A_SOCKET) - 1
