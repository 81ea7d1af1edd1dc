"""A model has refused images, and another one answers instead."""

from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Site

REFUSED = """
from chatapp.models import Message, Upstream
Message.objects.filter(role="assistant").update(
    ending="failed", content="", error={"kind": "no_images", "message": "No.", "status": 400}
)
Upstream.remember_image_refusal(Upstream.objects.get(name="Default").pk, "alpha")
"""


def test_a_model_that_takes_images_answers_instead(site: Site, sit_down: SitDown) -> None:
    with FakeUpstream() as upstream:
        models = [{"id": "alpha"}, {"id": "beta"}, {"id": "blind", "input_modalities": ["text"]}]
        upstream.fail_models(200, {"data": models})
        with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="sk") as server:
            tab = sit_down(site.person(), url=server.url).open()
            tab.ask("What is this?")
            tab.expect_ending("complete")
            server.run(REFUSED)
            tab.reload()
            expect(tab.reply.get_by_role("alert")).to_contain_text("This model takes no images.")
            tab.reply.get_by_role("button", name="Answer with…").click()
            sheet = tab.page.get_by_role("dialog", name="Choose a model")
            expect(sheet.get_by_role("option")).to_have_text(["beta"])
            sheet.get_by_role("option", name="beta").click()
            expect(tab.reply).to_contain_text("2 / 2")
            tab.expect_ending("complete")
            assert [one.body["model"] for one in upstream.chat_requests] == ["alpha", "beta"]
            tab.page.close()
