"""Every staff page on a phone, filled with what an installation has after a while."""

import json

import pytest
from django.urls import get_resolver
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_long_names import expect_to_fit
from tests.browser.test_people import sign_in
from tests.security.house import routes
from tests.security.test_access import REVIEWERS_ROOM, STAFFS_ROOM, TABLE
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Site
from tests.support.reviewer import open_in

pytestmark = pytest.mark.thorough

LONG = "Department of Hydrogeological-Engineering"
FILLED = """
import json
from datetime import timedelta
from decimal import Decimal

from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone

from chatapp.models import (
    AccessRule, Feedback, Invitation, LegalHold, Limit, Price, Review, ReviewLabel, ReviewRule,
    ReviewSample, ReviewView, SavedPrompt, Suggestion, ToolServer, Upstream, Usage, User, audit)
from chatapp.models.audit.actions import ACTIONS
from chatapp.models.library.sharing import Level
from chatapp.models.review.judging import judge_some
from chatapp.models.sharing.shared_chats import Audience, Share
from chatapp.upstream.wire.requests.estimates import Estimate
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from tests.support.stored import begin_turn, end, build_reply, new_conversation

long, now, one = {long!r}, timezone.now(), Upstream.objects.first()
olive = User.objects.get(username="olive")
other = Upstream.objects.create(
    name=long, base_url="http://127.0.0.1:1/v1", api_key="sk", enabled=False,
    offered_models="openai/gpt-6-mini = The quick one\\n" + "local/" + "m" * 60)
groups = [Group.objects.create(name=name) for name in ("Writers", long)]
people = [
    User.objects.create_user(
        f"{{first}}.{{last}}".lower(), f"{{first}}.{{last}}@{{'department' * 4}}.example", None,
        first_name=first, last_name=last, is_active=first != "Mei", is_staff=first == "Ravi",
        reviews=first == "Ravi", last_login=now)
    for first, last in (
        ("Ravi", "Venkataraghavan-Subramanian"), ("Mei", "Lin"), ("Ada", "Abd-al-Rahman"))]
for person in people:
    person.groups.set(groups)
AccessRule.objects.restrict_to(groups, upstream=one)
AccessRule.objects.restrict_to(groups[1:], upstream=one, model="openai/gpt-6-mini")
for number in range(4):
    invitation = Invitation(
        address="" if number else people[0].email, group=groups[1], reviews=True, uses=3,
        used=3 * (number == 1), expires_at=now + timedelta(days=(-1 if number == 2 else 7)),
        revoked_at=now if number == 3 else None, made_by=olive)
    invitation.make_token()
    invitation.save()
of_model = {{"upstream": one, "model": "m" * 60}}
for whom in ({{}}, {{"group": groups[1]}}, {{"user": people[0]}}, of_model):
    for measure in ("tokens", "money", "a_minute"):
        limit = Limit.objects.create(
            measure=measure, cap=10**9, is_each=not whom, whom_to_ask=people[0].email, **whom)
for model in ("openai/gpt-6-mini", "m" * 60):
    Price.objects.create(upstream=one, model=model, input=250_000_000, output=2 * 10**9)
for kind, of in (("words", "both"), ("pattern", "user"), ("cost", "assistant")):
    rule = ReviewRule.objects.create(
        name=f"{{kind}}: {{long}}", kind=kind, applies_to=of, text="why|how", least=10**6,
        is_on=kind != "pattern", begins_at=now - timedelta(days=1))
labels = [ReviewLabel.objects.create(name=name) for name in ("Wrong", long[:30])]

found = []
for number in range(12):
    person = people[number % 3]
    conversation = new_conversation(person, (("Why? " + long) * (1 + number % 2))[:80])
    _, reply = begin_turn(conversation, one, "Why is `x` wrong?\\n\\n" + "w" * (200 * (number % 3)))
    counts = TokenUsage(1234 * number, 5678, 1234 * number + 5678, cached_tokens=99)
    reported = Usage.from_tokens("reported", counts)
    usage = reported if number % 3 else Usage.from_estimate(Estimate(counts, counts))
    answer = "# So\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n```\\n" + "x" * 300 + "\\n```"
    end(reply, build_reply(answer, "Hm."), list(Ending)[number % 4], usage)
    Usage.objects.filter(pk=reply.pk).update(cost=10**7 * number or None)
    if number % 2:
        Feedback.give(reply, "down", "It is wrong. " * 9)
    found.append((conversation, reply))
while judge_some():
    pass
LegalHold.begin(people[0], None, "A matter of " + long, olive)
for number, (conversation, reply) in enumerate(found[:6]):
    with transaction.atomic():
        review = Review.get_for_update(conversation.pk)
        review.claim(people[0] if number % 2 else olive)
        review.label(labels[: 1 + number % 2])
        review.note("Look at this. " * 20, olive, reply.pk)
        if number > 2:
            review.decide(Review.Verdict.values[number % 3], olive)
ReviewView.objects.create(maker=olive, name=long, filters={{"cost": "0.01"}}, is_shared=True)
with transaction.atomic():
    everything = type(found[0][0]).objects.all()
    ReviewSample.draw("March, " + long, Decimal(50), everything, olive, {{"person": "ada"}})
Suggestion.objects.create(text="Explain a word")
shared = SavedPrompt.start(people[0], title=long, command="w" * 40, text=long)
people[0].groups.set(groups)
for group in (*groups, None):
    shared.share(group, Level.EDIT, people[0])
audience = Audience(people=people[1:], groups=groups, is_everyone=True)
for days in (30, None):
    Share(found[0][0].pk, audience, days=days).store(people[0])
with transaction.atomic():
    for action in ACTIONS:
        audit.record(action, actor=olive, about=people[0], detail={{"reason": "Since " + long}})
print(json.dumps({{
    "conversation": str(found[0][0].pk), "person": people[0].pk, "group": groups[1].pk,
    "limit": limit.pk, "rule": rule.pk, "upstream": one.pk, "other": other.pk,
    "server": ToolServer.objects.create(name="company-wiki", url="http://127.0.0.1:1/mcp").pk}}))
"""
# The addresses of each route; none if it answers with a file, a part of a page, or JSON.
PAGES: dict[str, tuple[str, ...]] = {
    "audit/": ("audit/",),
    "audit/actions/": (),
    "limits/": ("limits/",),
    "limits/<int:pk>/": ("limits/{limit}/",),
    "help/administrators/": ("help/administrators/",),
    "limits/new/": ("limits/new/",),
    "limits/preview/": (),
    "limits/prices/new/": ("limits/prices/new/",),
    "pick/chats/<int:pk>/": (),
    "pick/models/": (),
    "pick/people/": (),
    "people/": ("people/",),
    "people/<int:pk>/": ("people/{person}/",),
    "people/<int:pk>/delete/": ("people/{person}/delete/",),
    "people/access/": ("people/access/",),
    "people/given/<slug:kind>/<int:pk>/": ("people/given/upstream/{upstream}/",),
    "people/groups/": ("people/groups/",),
    "people/groups/<int:pk>/": ("people/groups/{group}/",),
    "people/groups/<int:pk>/delete/": ("people/groups/{group}/delete/",),
    "people/invitations/": ("people/invitations/",),
    "policy/": ("policy/",),
    "retention/": ("retention/",),
    "review/": ("review/", "review/?flagged=rule&cost=0.01"),
    "review/<uuid:pk>/": ("review/{conversation}/",),
    "review/people/": (),
    "review/<uuid:pk>/changes/": (),
    "review/<uuid:pk>/messages/<uuid:message>/": (),
    "review/export/": (),
    "review/labels/": ("review/labels/",),
    "review/rules/": ("review/rules/",),
    "review/rules/<int:pk>/": ("review/rules/{rule}/",),
    "review/rules/add/": ("review/rules/add/",),
    "settings/": ("settings/",),
    "settings/models/": ("settings/models/",),
    "settings/models/<int:pk>/": ("settings/models/{upstream}/",),
    "settings/models/<int:pk>/address/": ("settings/models/{other}/address/",),
    "settings/models/<int:pk>/delete/": ("settings/models/{other}/delete/",),
    "settings/models/<int:pk>/fallbacks/": ("settings/models/{upstream}/fallbacks/?model=one",),
    "settings/models/<int:pk>/test/": ("settings/models/{upstream}/test/",),
    "settings/models/<int:pk>/parameters/": (
        "settings/models/{upstream}/parameters/",
        "settings/models/{upstream}/parameters/?model=one",
    ),
    "settings/models/new/": ("settings/models/new/",),
    "settings/shared/": ("settings/shared/",),
    "settings/tools/": ("settings/tools/",),
    "settings/tools/<int:pk>/": ("settings/tools/{server}/",),
    "settings/tools/<int:pk>/delete/": ("settings/tools/{server}/delete/",),
    "settings/tools/new/": ("settings/tools/new/",),
    "usage/": ("usage/?by=person", "usage/?period=year&by=day&measure=answers"),
}


def test_every_staff_page_fits_a_phone_and_is_accessible(
    sit_down: SitDown, site: Site, upstream: FakeUpstream
) -> None:
    rooms = (STAFFS_ROOM, REVIEWERS_ROOM)
    patterns = routes(get_resolver().url_patterns)
    assert {route for route in patterns if TABLE.get(route) in rooms} == PAGES.keys()
    wrong = {}
    with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="sk") as server:
        names = json.loads(server.run(FILLED.format(long=LONG)))
        page = sign_in(sit_down(url=server.url, phone={"width": 390, "height": 844}), server.url)
        open_in(page, server.url, names["conversation"])
        for address in (candidate for pages in PAGES.values() for candidate in pages):
            path = f"/{address.format(**names)}"
            answer = page.goto(server.url + path)
            assert answer is not None
            assert answer.status == 200, path
            assert page.url == server.url + path
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            try:
                expect_to_fit(page)
                expect_accessible(page, ["narrow"])
            except AssertionError as failure:
                wrong[path] = str(failure)
        page.goto("about:blank")
    assert not wrong, "\n".join(f"{path}: {widths}" for path, widths in wrong.items())
