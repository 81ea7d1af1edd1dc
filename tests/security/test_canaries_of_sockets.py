"""No frame shows a word of Alice's to anybody else: neither in response to an action with her ids,
nor while she writes, gets replies and renames."""

from contextlib import AsyncExitStack

import pytest
from asgiref.sync import sync_to_async
from pytest_django import Settings

from chatapp.chat.actions import ACTIONS
from chatapp.models import ContextCut, Message, Upstream
from tests.security.canaries import WORD
from tests.security.house import CAST, FORMER
from tests.security.test_canaries import Canaries, filled_house  # noqa: F401 - a fixture
from tests.security.test_socket_access import OUT_OF_DATE, Running
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

NEW = "qzknew"
RENAMED = "qzkrenamed"


async def test_no_frame_shows_a_word_to_anybody_who_may_not_read_it(
    filled_house: Canaries,  # noqa: F811 - the fixture
    settings: Settings,
) -> None:
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    hers = await running(filled_house)
    async with AsyncExitStack() as opened:
        tabs: dict[str, list[Tab]] = {}
        for name in (*CAST, *FORMER):
            for query in ({}, {"conversation": hers.conversation}):
                tab = Tab(filled_house.house.clients[name], **query)
                if await tab.connect():
                    opened.push_async_callback(tab.close)
                    tabs.setdefault(name, []).append(tab)
        assert set(tabs) == {*CAST[1:], "deactivated"}, "only to be told why they were closed"
        await alice_goes_on(filled_house, tabs["alice"][1], hers)
        for name in set(tabs) - {"alice", "deactivated"}:
            for tab in tabs[name]:
                await tries_everything(tab, hers)
        for tab in tabs["deactivated"]:
            await tab.until_closed()
    texts = {name: "".join(frame for tab in tabs[name] for frame in tab.frames) for name in tabs}
    read = {
        name: {filled_house.words[word] for word in set(WORD.findall(texts[name]))}
        for name in texts
    }
    assert {"Message content", "Conversation title"} <= {text.field for text in read["alice"]}
    assert all(word in texts["alice"] for word in (NEW, RENAMED))
    for name in tabs:
        assert not [entry.field for entry in read[name] if name not in entry.audience.freely], name
        assert name == "alice" or not [word for word in (NEW, RENAMED) if word in texts[name]]


async def running(filled_house: Canaries) -> Running:  # noqa: F811 - not a fixture
    reply = filled_house.house.reply
    upstream = await Upstream.objects.aget()
    model = next(iter(upstream.named_models))
    cut = await ContextCut.objects.aget()
    conversation, prompt = str(reply.conversation_id), str(reply.parent_id)
    model = f"{upstream.pk}/{model}"
    return Running(conversation, prompt, str(reply.pk), model, str(cut.pk))


async def alice_goes_on(canaries: Canaries, tab: Tab, hers: Running) -> None:
    """Send a prompt and rename; her upstream is unreachable, so the reply ends at once."""
    fields, _ = hers.attempts()["prompt"]
    await tab.ask(**(fields | {"message": NEW}))
    await tab.until_ended()
    path = f"/c/{hers.conversation}/rename/"
    rename = sync_to_async(canaries.house.clients["alice"].post)
    await rename(path, {"title": RENAMED})
    await tab.until(RENAMED)
    assert await Message.objects.filter(content=NEW).aexists()


async def tries_everything(tab: Tab, hers: Running) -> None:
    attempts = hers.attempts()
    assert set(attempts) == set(ACTIONS)
    for action, (fields, response) in attempts.items():
        await tab.send(action=action, **fields)
        await tab.send(action="no such action")
        await tab.until(response)
        if response != OUT_OF_DATE:
            await tab.until(OUT_OF_DATE)
