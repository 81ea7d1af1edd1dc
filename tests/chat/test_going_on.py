"""A chat can continue after any ending: the next request suits even the strictest template."""

import pytest
from django.test import Client

from chatapp.models import Message, Project, Upstream, User
from chatapp.upstream.wire.requests.history import NO_ANSWER
from tests.support.chat_templates import check
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Step,
    delta,
    done,
    finish,
    reasoning,
    refusal,
    role,
)
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

ENDINGS: dict[str, list[Step]] = {
    "reasoning only": [role(), reasoning("Hm."), finish(), done()],
    "refused": [role(), refusal("No."), finish(), done()],
    "white space": [role(), delta(" \n"), finish(), done()],
    "nothing": [role(), finish(), done()],
    "cut off": [role()],
    "length": [role(), delta("Half"), finish("length"), done()],
}


async def ask(tab: Tab, text: str, **fields: str) -> Message:
    """Ask and return the finished reply."""
    reply = await tab.ask(text, **fields)
    await tab.until_ended()
    return await load_reply(reply)


async def go_on(tab: Tab, after: Message) -> None:
    await ask(tab, "Two", conversation=str(after.conversation_id), parent=str(after.pk))


@pytest.mark.parametrize("ending", ENDINGS)
async def test_the_next_prompt_is_answered_after_any_ending(
    tab: Tab, upstream: FakeUpstream, ending: str
) -> None:
    upstream.script(*ENDINGS[ending])
    await go_on(tab, await ask(tab, "One"))
    sent = upstream.chat_requests[-1].body["messages"]
    check(sent)
    assert sent[0]["content"].startswith("One")
    assert sent[-1]["content"].endswith("Two")


async def test_the_next_prompt_is_answered_after_a_failure(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": {"message": "the model is gone"}})
    await go_on(tab, await ask(tab, "One"))
    sent = upstream.chat_requests[-1].body["messages"]
    assert [message["content"] for message in sent] == ["One", NO_ANSWER, "Two"]


async def test_the_next_prompt_is_answered_after_a_stop_before_the_first_token(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), Pause())
    reply = await tab.ask("One")
    conversation = str((await load_reply(reply)).conversation_id)
    await tab.send(action="stop", conversation=conversation, reply=str(reply))
    await tab.until_ended()
    await go_on(tab, await load_reply(reply))
    sent = upstream.chat_requests[-1].body["messages"]
    assert [message["content"] for message in sent] == ["One", NO_ANSWER, "Two"]


REFUSALS = [
    "System role not supported",  # Gemma's template
    "Developer instruction is not enabled for models/gemma-3-27b-it",
    "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_model_without_a_system_role_gets_the_instructions_in_the_prompt(
    alice: User,
    alices: Client,
    saved_upstream: Upstream,
    generations_end: None,
    upstream: FakeUpstream,
    refusal: str,
) -> None:
    project = await Project.objects.acreate(user=alice, name="Poems", instructions="Rhyme.")
    upstream.fail(400, {"error": {"message": refusal}})
    async with Tab(alices) as tab:
        await go_on(tab, await ask(tab, "One", project=str(project.pk)))
    first, again, next_one = (request.body["messages"] for request in upstream.chat_requests)
    assert first[0] == {"role": "system", "content": "Rhyme."}
    assert again == [{"role": "user", "content": "Rhyme.\n\nOne"}]
    assert next_one[0] == again[0]  # a system message is not tried again
