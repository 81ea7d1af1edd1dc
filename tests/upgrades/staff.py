"""Actions of administrators and the reviewer in the story, on the pages of the old version."""

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from tests.support.live import PASSWORD
from tests.upgrades.browser import Browser, read_seal
from tests.upgrades.old_version import Installation

FIND_ID = """
import sys, django
django.setup()
from django.apps import apps
name, field, value = sys.argv[1:]
model = apps.get_model("auth" if name == "Group" else "chatapp", name)
print(model.objects.get(**{field: value}).pk)
"""

ADD_TOOLS_AND_SUGGESTIONS = """
import sys, django
django.setup()
from chatapp.models import Suggestion, ToolServer
ToolServer.objects.create(name="test", url=sys.argv[1], unasked_tools="add")
Suggestion.objects.create(text="Plan a week in the garden", position=0)
"""


@dataclass
class Cast:
    """The people of the story at their browsers."""

    olive: Browser  # administers
    rita: Browser  # reviews
    ann: Browser  # a writer
    ben: Browser  # a writer, under a legal hold


def find_id(site: Installation, model: str, field: str, value: str) -> str:
    """Return the primary key of a row, which is also in the addresses of pages."""
    return site.run(FIND_ID, model, field, value).strip()


def set_up(site: Installation, upstream_url: str, tools_url: str) -> Cast:
    """Create the first account, connect a provider and invite everybody else."""
    olive = sign_up(site)
    connect(olive, "Gateway", upstream_url, to="everybody")
    site.run(ADD_TOOLS_AND_SUGGESTIONS, tools_url)
    olive.fill_in("groups", name="Writers")
    group = find_id(site, "Group", "name", "Writers")
    connect(olive, "Spare", upstream_url, to="groups", groups=group)
    rita = _invite(olive, "rita", reviews="on")
    ann, ben = _invite(olive, "ann", group=group), _invite(olive, "ben", group=group)
    return Cast(olive, rita, ann, ben)


def govern(site: Installation, cast: Cast) -> None:
    """Set limits, prices, policies and rules."""
    olive = cast.olive
    upstream = find_id(site, "Upstream", "name", "Gateway")
    group = find_id(site, "Group", "name", "Writers")
    ben = find_id(site, "User", "username", "ben")
    price = {"upstream": upstream, "input": "2.5", "output": "10", "cached": "0.5"}
    olive.fill_in("new-price", **price, model="fable-large", reasoning="12", cache_write="")
    olive.fill_in("new-price", **price, model="fable-small", context_tokens="8000")
    for limit in (
        {"amount": "90000", "measure": "tokens", "period": "month", "whose": "each"},
        {"amount": "12.5", "measure": "money", "period": "month", "whose": "group", "group": group},
        {"amount": "70000", "measure": "tokens", "period": "day", "whose": "group_each"}
        | {"group": group, "whom_to_ask": "Olive, at extension 12"},
        {"amount": "50000", "measure": "tokens", "period": "ever", "whose": "person"}
        | {"person": "ben", "upstream": upstream, "model": "fable-small"},
    ):
        olive.fill_in("new-limit", **limit)
    olive.fill_in("settings", name="Fable House", notice="Be kind.\nSecond line.")
    olive.fill_in("policy", scope="all", hides_names="yes")
    _set_retention(olive, conversation_days="400", audit_detail_days="500")
    olive.press("change-person", {"pk": ben, "what": "hold"}, reason="Matter 7 of 2026")
    olive.fill_in("review-labels", name="Recipe")
    rule = {"name": "Secrets", "kind": "words", "applies_to": "both", "words": "password\nsecret"}
    _add_rule(olive, **rule)
    _add_rule(olive, name="Numbers", kind="pattern", applies_to="user", pattern="[0-9]{5,}")


def review(site: Installation, cast: Cast, title: str) -> None:
    """Read a chat, judge it and leave a note."""
    rita = cast.rita
    chat = {"pk": find_id(site, "Conversation", "title", title)}
    rita.press("open-for-review", chat, reason="A sample")
    rita.fill_in("review-conversation", chat, verdict="minor")
    label = find_id(site, "ReviewLabel", "name", "Recipe")
    rita.fill_in("review-conversation", chat, labels=label)
    rita.fill_in("review-conversation", chat, text="Not quite right.\nAsk again.")
    rita.press("save-review-view", name="Of Ann", person="ann")
    rita.press("draw-review-sample", name="Half", share="50", person="ann")


def sign_up(site: Installation) -> Browser:
    """Create the first account, and sign in."""
    options = ("--noinput", "--username", "olive", "--email", "olive@example.org")
    site.manage("createsuperuser", *options, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    return Browser(site, "olive")


def connect(olive: Browser, name: str, upstream_url: str, **given: str) -> None:
    """Connect a provider and say who may use its models."""
    olive.fill_in("connect", name=name, base_url=upstream_url, new_api_key="sk-test-only")
    upstream = find_id(olive.site, "Upstream", "name", name)
    olive.fill_in("upstream-offer", {"pk": upstream}, **given)


def _invite(olive: Browser, username: str, **role: str) -> Browser:
    page = olive.fill_in("invitations", days="7", uses="1", **role)
    link = re.findall(r"/invitation/[^/\"'<\s]+/", page)[0]
    password = {"password1": PASSWORD, "password2": PASSWORD}
    email = f"{username}@example.org"
    Browser(olive.site).submit(link, username=username, email=email, **password)
    return Browser(olive.site, username)


def _set_retention(olive: Browser, **days: str) -> None:
    """Look at what would be deleted, as the page demands, then set it."""
    path = olive.site.path("retention")
    preview = olive.get(f"{path}?{urlencode(days)}").text
    olive.post(path, days | read_seal(preview))


def _add_rule(olive: Browser, **fields: str) -> None:
    """Try a rule, as the page demands, then save it."""
    fields |= {"reason": "To see what it finds"}
    trial = olive.press("add-review-rule", **fields)
    olive.press("add-review-rule", **fields, **read_seal(trial))
