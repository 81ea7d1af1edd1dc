"""Three servers, and a person whose right to their sockets ends: on whichever server, by whatever
program."""

import asyncio
import statistics
import time
from contextlib import AsyncExitStack

import httpx
import pytest

from tests.deployment.replies import WORDS, half_a_reply, until_saved
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream, Stall, delta, done, finish, role
from tests.support.live import PASSWORD, Person, Site, run
from tests.support.page import parse
from tests.support.profile import sampled
from tests.support.viewer import DEACTIVATED, SIGNED_OUT, Viewer

HALF = "".join(WORDS[:20])
SOON = 20.0  # seconds: by the news of it, and not by the look that a server takes every minute
PROMISED = 1.0  # seconds
TIMES = 7
PROGRAM = """
import django
django.setup()
from datetime import timedelta
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone
from chatapp.models import User
import time
alice = User.objects.get(username={name!r})
{event}
print(time.time())
"""
DEACTIVATING = """
import django
django.setup()
from chatapp.models import User
import time
for name in {names}:
    person = User.objects.get(username=name)
    print(time.time())
    person.is_active = False
    person.save()
"""
EVENTS = {
    "a new password": ('alice.set_password("another"); alice.save()', SIGNED_OUT),
    "deactivated": ("alice.is_active = False; alice.save()", DEACTIVATED),
    "deleted": ("alice.delete()", DEACTIVATED),
    "no session": ("Session.objects.filter(pk={session!r}).delete()", SIGNED_OUT),
    "clearsessions": (
        "Session.objects.filter(pk={session!r}).update(expire_date=timezone.now() - "
        'timedelta(days=1)); call_command("clearsessions")',
        SIGNED_OUT,
    ),
}


@pytest.mark.parametrize("event", sampled(EVENTS, 2))
async def test_a_program_beside_the_servers_ends_the_sockets_on_all_of_them(
    stack: Stack, team_upstream: FakeUpstream, team: Site, alice: Person, event: str
) -> None:
    statement, code = EVENTS[event]
    async with AsyncExitStack() as tabs:
        viewers = [
            await tabs.enter_async_context(Viewer.opened(server, alice)) for server in stack.servers
        ]
        bobs = await tabs.enter_async_context(Viewer.opened(stack.servers[1], team.person()))
        changed_at = await happens(stack, alice, statement)
        for viewer in viewers:
            await viewer.until_closed(code)
        assert time.time() - changed_at < SOON
        team_upstream.script(role(), delta("Hello"), finish(), done())
        await bobs.ask("Still here?")
        assert await bobs.until_ended() == "complete"
        assert bobs.closes == []


async def test_the_reply_of_who_is_deactivated_ends_wherever_it_is_written(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(stack, team_upstream, alice, Stall()) as (viewers, request):
        path = viewers[0].path
        changed_at = await happens(stack, alice, EVENTS["deactivated"][0])
        assert (await request.until_closed()).was_streaming
        assert time.time() - changed_at < SOON
        for viewer in viewers:
            await viewer.until_closed(DEACTIVATED)
        await happens(stack, alice, "alice.is_active = True; alice.save()")
        await until_saved(stack.servers[1], alice, path, HALF, "abandoned")


async def test_a_reply_whose_tabs_were_lost_ends_with_the_session_that_asked_for_it(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    """Also where one of another server's was the last to be lost; they would be waited for."""
    async with half_a_reply(stack, team_upstream, alice, Stall()) as (viewers, request):
        for viewer in viewers:
            await viewer.close()
        assert request.closed is None
        await happens(stack, alice, EVENTS["no session"][0])
        assert (await request.until_closed()).was_streaming


async def test_the_sockets_of_who_may_not_go_on_are_closed_within_a_second(
    stack: Stack, team: Site
) -> None:
    """The best of a few shows it, whatever else a slow machine does meanwhile."""
    people = [team.person() for _ in range(TIMES)]
    async with AsyncExitStack() as tabs:
        viewers = [
            [await tabs.enter_async_context(Viewer.opened(server, person)) for person in people]
            for server in stack.servers
        ]
        closings = [asyncio.create_task(closed_at(*one)) for one in zip(*viewers, strict=True)]
        program = DEACTIVATING.format(names=[person.username for person in people])
        done = await asyncio.to_thread(run, stack.servers[0].environment, "-c", program)
        changed = [float(line) for line in done.stdout.split()]
        closed = await asyncio.gather(*closings)
    took = [one - other for one, other in zip(closed, changed, strict=True)]
    print(f"closed on {len(stack.servers)} servers, {TIMES} times:", end=" ")
    print(f"median {statistics.median(took):.3f} s, worst {max(took):.3f} s")
    assert min(took) < PROMISED


async def closed_at(*viewers: Viewer) -> float:
    """When all of them were, by the clock."""
    for viewer in viewers:
        await viewer.until_closed(DEACTIVATED)
    return time.time()


@pytest.mark.parametrize(("what", "code"), [("active", DEACTIVATED), ("sign-out", SIGNED_OUT)])
async def test_an_administrators_page_ends_what_runs_on_all_servers(
    stack: Stack, team_upstream: FakeUpstream, alice: Person, what: str, code: int
) -> None:
    async with half_a_reply(stack, team_upstream, alice, Stall()) as (viewers, request):
        with stack.nginx.visit() as client:
            changed_at = await asyncio.to_thread(press, client, stack.nginx.url, alice, what)
        for viewer in viewers:
            await viewer.until_closed(code)
        assert (await request.until_closed()).was_streaming
        assert time.time() - changed_at < SOON


def press(client: httpx.Client, url: str, person: Person, what: str) -> float:
    """As the operator, on the person's page; returns when it was done, by the clock."""
    post(client, url, "/accounts/login/", {"login": "olive", "password": PASSWORD})
    links = parse(client.get(f"/people/?q={person.username}").text).find_all("tbody th a")
    [page] = [str(one.attributes["href"]) for one in links if one.text == person.username]
    post(client, url, page, {}, to=f"{page}{what}/")
    return time.time()


async def test_a_new_password_ends_the_other_sessions_on_all_servers(
    stack: Stack, alice: Person
) -> None:
    async with AsyncExitStack() as tabs:
        viewers = [
            await tabs.enter_async_context(Viewer.opened(server, alice)) for server in stack.servers
        ]
        with stack.nginx.visit() as client:
            await asyncio.to_thread(change_password, client, stack.nginx.url, alice)
            for viewer in viewers:
                await viewer.until_closed(SIGNED_OUT)
            again = Person(alice.username, client.cookies["__Host-sessionid"])
        async with Viewer.opened(stack.servers[2], again) as viewer:
            assert viewer.is_connected


def change_password(client: httpx.Client, url: str, person: Person) -> None:
    """Signs in, in a browser of its own, and chooses another one."""
    new = "quite another battery"
    forms = [
        ("/accounts/login/", {"login": person.username, "password": PASSWORD}),
        (
            "/accounts/password/change/",
            {"oldpassword": PASSWORD, "password1": new, "password2": new},
        ),
    ]
    for path, fields in forms:
        post(client, url, path, fields)


def post(
    client: httpx.Client, url: str, path: str, fields: dict[str, str], to: str | None = None
) -> None:
    """Sends a form of the page at this path."""
    page = parse(client.get(path).text)
    token = page.find_all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    data = fields | {"csrfmiddlewaretoken": token}
    answer = client.post(to or path, data=data, headers={"Origin": url})
    assert answer.status_code == 302, answer.text


async def happens(stack: Stack, person: Person, statement: str) -> float:
    """Runs it in a program of its own; returns when it was done, by the clock."""
    event = statement.format(session=person.session)
    script = PROGRAM.format(name=person.username, event=event)
    done = await asyncio.to_thread(run, stack.servers[0].environment, "-c", script)
    return float(done.stdout)
