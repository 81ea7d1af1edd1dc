"""A model has refused images, and another one answers instead."""

from playwright.sync_api import expect

from tests.browser.conftest import LARGE, SMALL, SitDown
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person, Server

REFUSED = """
from chatapp.models import Message, Upstream
Message.objects.filter(role="assistant", conversation__user__username={name!r}).update(
    ending="failed", content="", error={{"kind": "no_images", "message": "No.", "status": 400}}
)
from chatapp.models.platform.lessons import ImagesLesson
Upstream.learn(Upstream.objects.get(name="Default").pk, "gamma", [ImagesLesson()])
"""


def test_a_model_that_takes_images_answers_instead(
    sit_down: SitDown, alice: Person, offering: Server, gateway: FakeUpstream
) -> None:
    tab = sit_down(alice, url=offering.url).open()
    tab.ask("What is this?")
    tab.expect_ending("complete")
    offering.run(REFUSED.format(name=alice.username))
    tab.reload()
    expect(tab.reply.get_by_role("alert")).to_contain_text("This model takes no images.")
    tab.reply.get_by_role("button", name="Answer with…").click()
    sheet = tab.page.get_by_role("dialog", name="Choose a model")
    expect(sheet.get_by_role("option", name=LARGE)).to_be_visible()
    for name in (SMALL, "gamma"):
        expect(sheet.get_by_role("option", name=name)).to_have_count(0)
    sheet.get_by_role("option", name=LARGE).click()
    expect(tab.reply).to_contain_text("2 / 2")
    tab.expect_ending("complete")
    assert [request.body["model"] for request in gateway.chat_requests] == [SMALL, LARGE]
