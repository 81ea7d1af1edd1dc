"""The search page and the search dialog show only a person's own messages."""

import pytest
from django.core.management import call_command
from django.test import Client

from chatapp.models import Preset, Project, SavedPrompt, Upstream, User
from tests.conftest import signed_in
from tests.search.conftest import index_all, write_chat
from tests.support.stored import new_conversation, store_turn

CANARY = "canarybird"


def search_page(browser: Client, query: str, *, in_dialog: bool = False) -> str:
    headers = {"HX-Request": "true"} if in_dialog else {}
    answer = browser.get("/search/", {"q": query}, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def test_nobody_sees_another_persons_words(
    alices: Client, bobs: Client, olives: Client, alice: User, saved_upstream: Upstream
) -> None:
    write_chat(alice, saved_upstream, f"Of {CANARY}", f"the {CANARY} ```")
    alice.projects.create(name="Nature")
    assert search_page(alices, "canary").count(f"{CANARY[6:]}") >= 2
    for browser in (bobs, olives):
        for query in ("canary", "from:me", "from:model", "has:code", "after:2000", "model:g", ""):
            for in_dialog in (True, False):
                assert CANARY not in search_page(browser, query, in_dialog=in_dialog)


@pytest.mark.parametrize("in_dialog", [True, False])
def test_a_deactivated_person_gets_nothing(
    alice: User, saved_upstream: Upstream, in_dialog: bool
) -> None:
    write_chat(alice, saved_upstream, "Birds", f"Of the {CANARY}")
    browser = signed_in(alice)
    User.objects.update(is_active=False)
    headers = {"HX-Request": "true"} if in_dialog else {}
    answer = browser.get("/search/", {"q": "canary"}, headers=headers)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/accounts/login/")


def test_only_administrators_are_offered_administration_commands(
    alices: Client, olives: Client
) -> None:
    assert 'href="/settings/models/"' not in search_page(alices, "admin", in_dialog=True)
    assert 'href="/settings/models/"' in search_page(olives, "admin", in_dialog=True)


def test_a_very_long_query_gives_an_error_and_is_returned_shortened(alices: Client) -> None:
    page = search_page(alices, "x" * 20_000)
    assert "A search can have at most 500 characters." in page
    assert len(page) < 10_000


@pytest.mark.parametrize("until", ["soon", "-1", "9" * 30, "1"])
def test_an_invalid_until_finds_nothing(
    alices: Client, alice: User, saved_upstream: Upstream, until: str
) -> None:
    write_chat(alice, saved_upstream, "Birds", f"Of the {CANARY}")
    answer = alices.get("/search/", {"q": "canary", "until": until})
    assert answer.status_code == 200
    assert "/c/" not in answer.content.decode()


def test_trashed_conversations_are_not_among_the_recent_ones(
    alices: Client, alice: User, saved_upstream: Upstream
) -> None:
    conversation = write_chat(alice, saved_upstream, "Birds", "A question")
    assert "Birds" in search_page(alices, "", in_dialog=True)
    for put_away in ("trashed_at", "archived_at"):
        setattr(conversation, put_away, conversation.created_at)
        conversation.save()
        assert "Birds" not in search_page(alices, "", in_dialog=True)
        setattr(conversation, put_away, None)


def test_the_command_reindexes_and_reports_it(
    alices: Client, alice: User, saved_upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    store_turn(new_conversation(alice, "Birds"), saved_upstream, f"Of the {CANARY}")
    assert "Birds" not in search_page(alices, "canary")
    call_command("reindex")
    assert capsys.readouterr().out == "All 3 messages and titles are in the search index.\n"
    assert "Birds" in search_page(alices, "canary")
    index_all()


def test_the_dialog_finds_projects_presets_and_prompts_by_their_names(
    alices: Client, alice: User, bob: User
) -> None:
    project = Project.objects.create(user=alice, name="Garden <plans>")
    poet = Preset.start(alice, name="Poet of the garden")
    report = SavedPrompt.start(alice, title="Garden report", text="Report")
    Preset.start(bob, name="Garden of bob")
    page = search_page(alices, "gard", in_dialog=True)
    for address in (f"/projects/{project.pk}/", f"/?preset={poet.pk}", f"/prompts/{report.pk}/"):
        assert f'href="{address}"' in page
    assert "Garden &lt;plans&gt;" in page
    assert "Garden of bob" not in page
    for query, in_dialog in (("gard", False), ("tomato", True), ("has:code gard", True)):
        assert "Garden" not in search_page(alices, query, in_dialog=in_dialog)
