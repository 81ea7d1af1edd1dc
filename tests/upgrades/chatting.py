"""Actions of Ann and Ben in chats, through the sockets of their tabs."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from time import sleep
from uuid import uuid4

from tests.support.live import Person
from tests.support.visitor import Visitor, visit
from tests.upgrades.browser import Browser
from tests.upgrades.old_version import Installation
from tests.upgrades.staff import Cast, find_id

# One chat each: its title and its prompt. `answering` says how the reply ends.
SINGLE_PROMPTS = {
    "Cut": "Tell it to the end",
    "Filtered": "Say what you may not",
    "Broken": "Break off",
    "Failed": "Fail at once",
    "Rose": "Draw a rose",
    "Time": "What time is it?",
    "Sums": "Add two and three",
    "Uncounted": "Answer without usage",
    "Old": "What is in the archive?",
    "Waste": "What is in the trash?",
    "Found": "My password is 12345678",
}
LIST_MESSAGES = """
import json, sys, django
django.setup()
from chatapp.models import Conversation
chat = Conversation.objects.get(title=sys.argv[1])
print(json.dumps([[str(one.pk), one.role] for one in chat.messages.order_by("sequence")]))
"""
COUNT_CHATS = """
import sys, django
django.setup()
from chatapp.models import Conversation
print(Conversation.objects.filter(title__startswith=sys.argv[1]).count())
"""


async def chat_with_every_ending(site: Installation, cast: Cast) -> None:
    """Have chats that end in every way, and put them where people put chats."""
    ann = cast.ann
    for title, prompt in SINGLE_PROMPTS.items():
        async with open_tab(site, ann.person) as tab:
            await ask(tab, prompt)
            rename(ann, tab, title)
    async with open_tab(site, ann.person) as tab:
        await tab.send("Never stop")
        await tab.until_says("On and on")
        rename(ann, tab, "Stopped")
        await act(tab, "stop")
        await tab.until_ended()
    for action, title in (("pin", "Rose"), ("archive", "Old"), ("trash", "Waste")):
        ann.press("change-conversations", action=action, ids=find_chat(site, title))
    reply = list_messages(site, "Rose")[1][0]
    ann.press("feedback", {"pk": reply}, rating="up", note="A fine rose")
    reply = list_messages(site, "Failed")[1][0]
    ann.press("feedback", {"pk": reply}, rating="down", note="")


async def branch_out(site: Installation, cast: Cast) -> None:
    """Ask again, edit, continue, delete and fork in one chat, and ask two models at once."""
    ann = cast.ann
    upstream = find_id(site, "Upstream", "name", "Gateway")
    async with open_tab(site, ann.person) as tab:
        await ask(tab, "Why is the sky blue?")
        rename(ann, tab, "Sky")
        await ask(tab, "And at night?")
        (_, first), (prompt, reply) = _turns(site, "Sky")[:2]
        await act(tab, "retry", reply=reply, model=f"{upstream}/fable-small")
        await until_answered(tab, {reply})
        await ask(tab, "And at dusk?", action="edit", edited=prompt, prompt=str(uuid4()))
        await ask(tab, "Compare", others=f"{upstream}/fable-small", model=f"{upstream}/fable-large")
        await ask(tab, "Delete this")
        deleted, its_reply = _turns(site, "Sky")[-1]
        await act(tab, "delete", message=deleted)
        await tab.until(lambda: its_reply not in tab.replies)
        await act(tab, "fork", message=first)
        await asyncio.to_thread(_wait_for_fork, site, "Sky")
        await act(tab, "step", message=reply, conversation=find_chat(site, "Sky"))
        await tab.until(lambda: reply in tab.replies)
    async with open_tab(site, ann.person, chat_path(site, "Cut")) as tab:
        reply = list_messages(site, "Cut")[1][0]
        await act(tab, "continue", reply=reply, prompt=str(uuid4()))
        await until_answered(tab, {reply})


async def work_in_a_project(site: Installation, cast: Cast) -> None:
    cast.ben.press("new-project", name="Garden", instructions="Answer as a gardener.\nBe brief.")
    project = find_id(site, "Project", "name", "Garden")
    async with open_tab(site, cast.ben.person, site.path("project", pk=project)) as tab:
        await ask(tab, "When do roses bloom?", project=project)
        rename(cast.ben, tab, "Roses")


@asynccontextmanager
async def leave_replies_running(site: Installation, cast: Cast) -> AsyncIterator[None]:
    """Keep tabs open in which replies are streaming, wait for an answer, or are temporary."""
    async with (
        open_tab(site, cast.ben.person) as streaming,
        open_tab(site, cast.ben.person) as asking,
        open_tab(site, cast.ann.person) as temporary,
    ):
        await streaming.send("Never stop")
        await streaming.until_says("On and on")
        rename(cast.ben, streaming, "Endless")
        await asking.send("Echo, if I let you")
        await asking.until_shows("echo")
        rename(cast.ben, asking, "Undecided")
        await temporary.send("Never stop", temporary="on")
        await temporary.until_says("On and on")
        yield


@asynccontextmanager
async def open_tab(site: Installation, person: Person, path: str = "/") -> AsyncIterator[Visitor]:
    """Open a tab. At its end the connection is lost, since a close waits for unread frames."""
    async with visit(site, person, path) as tab:
        yield tab
        await tab.lose_connection()


async def ask(tab: Visitor, prompt: str, /, **fields: str) -> None:
    """Send a prompt, and wait for the end of its replies."""
    before = set(tab.replies)
    await tab.send(prompt, **fields)
    await until_answered(tab, before)


async def until_answered(tab: Visitor, before: set[str]) -> None:
    """Wait for other replies than these, and for their end."""
    await tab.until(lambda: set(tab.replies) - before and "streaming" not in endings(tab))


def endings(tab: Visitor) -> list[str]:
    values = (
        article.attributes.get("data-ending", "") for article in tab.page.root.find_all("article")
    )
    return list(values)


async def act(tab: Visitor, action: str, /, **fields: str) -> None:
    """Send what a button of the page sends."""
    await tab.socket.send(json.dumps(tab.page.form() | {"action": action} | fields))


def rename(browser: Browser, tab: Visitor, title: str) -> None:
    browser.post(f"{tab.path}rename/", {"title": title})


def find_chat(site: Installation, title: str) -> str:
    return find_id(site, "Conversation", "title", title)


def chat_path(site: Installation, title: str) -> str:
    return site.path("conversation", pk=find_chat(site, title))


def list_messages(site: Installation, title: str) -> list[tuple[str, str]]:
    """Return the id and the role of each message of a chat."""
    listed: list[tuple[str, str]] = json.loads(site.run(LIST_MESSAGES, title))
    return listed


def _wait_for_fork(site: Installation, title: str) -> None:
    while site.run(COUNT_CHATS, title).strip() != "2":
        sleep(0.2)


def _turns(site: Installation, title: str) -> list[tuple[str, str]]:
    """Return the ids of each prompt and of its first reply."""
    messages = list_messages(site, title)
    pairs = pairwise(messages)
    return [(prompt, reply) for (prompt, role), (reply, _) in pairs if role == "user"]
