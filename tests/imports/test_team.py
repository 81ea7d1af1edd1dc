"""An administrator imports Open WebUI's database for the people who have an account here."""

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import BinaryIO

import pytest
from allauth.socialaccount.models import SocialAccount
from django.core.files.storage import Storage
from django.test import Client
from pytest_django import Settings

from chatapp.erasure.people import erase
from chatapp.imports import people
from chatapp.imports.duplicates import get_statuses
from chatapp.imports.team import DEACTIVATED, ERASED, FULL, UNDONE
from chatapp.imports.uploaded_export import ALONE, NO_PEOPLE
from chatapp.models import AuditEvent, Conversation, Import, ImportedChat, Message, Upstream, User
from chatapp.models.imports.imports import NOT_ADMINISTRATOR, Phase
from chatapp.models.platform.jobs import JobState
from chatapp.staff.privacy.archived_account import archived_account
from chatapp.transfer import SourceChat
from tests.conftest import signed_in
from tests.imports.uploading import database, preview_import, run_jobs, upload
from tests.support.page import has_word
from tests.support.stored import store_turn

pytestmark = pytest.mark.django_db(transaction=True)

CHATS = [("Hers", "olive"), ("His", "bob"), ("His too", "bob"), ("Secret", "mallory")]


@pytest.fixture
def confirmed_addresses(olive: User, bob: User, disk: Storage, settings: Settings) -> None:
    """Addresses, which are confirmed: the server sends email. Mallory has no account."""
    settings.EMAIL_URL = "smtp://127.0.0.1:9"
    User.objects.filter(pk=olive.pk).update(email="Olive@example.org")
    User.objects.filter(pk=bob.pk).update(email="bob@example.org")


def get_page(client: Client, job: Import, query: str = "") -> str:
    answer = client.get(f"/imports/{job.pk}/{query}")
    assert answer.status_code == 200, answer
    return " ".join(answer.content.decode().split())


def find_row(page: str, name: str) -> str:
    row: str
    [row] = [candidate for candidate in re.findall("<tr>.*?</tr>", page) if name in candidate]
    return row


def keys(job: Import, *accounts: str) -> list[str]:
    keys_by_id = {account.id: account.key for account in people.list_candidates(job)}
    return [keys_by_id[account] for account in accounts]


def start(client: Client, job: Import, *accounts: str) -> Import:
    client.post(f"/imports/{job.pk}/start/", {"person": keys(job, *accounts)})
    run_jobs()
    job.refresh_from_db()
    return job


def import_for(client: Client, *accounts: str, file: BinaryIO | None = None) -> Import:
    """Import the chats of these accounts."""
    return start(client, preview_import(client, file or database(*CHATS)), *accounts)


def titles(user: User) -> list[str]:
    return sorted(user.conversations.values_list("title", flat=True))


@pytest.mark.usefixtures("confirmed_addresses")
def test_the_preview_names_people_and_counts_but_no_titles(olives: Client) -> None:
    job = preview_import(olives, database(*CHATS))
    page = get_page(olives, job)
    assert "4 chats of 3 accounts" in page
    assert "2 chats, 9 Oct 2025" in find_row(page, "bob@example.org")
    assert "your account" in find_row(page, "olive@example.org")
    assert "No account here: not imported" in find_row(page, "mallory@example.org")
    assert 'type="checkbox"' not in find_row(page, "mallory@example.org")
    job.refresh_from_db()
    for title, _ in CHATS:
        assert title not in page
        assert title not in str(job.preview)
    assert not Conversation.objects.exists()


@pytest.mark.usefixtures("confirmed_addresses")
def test_only_ones_own_are_chosen_at_first(olives: Client) -> None:
    job = preview_import(olives, database(*CHATS))
    page = get_page(olives, job)
    assert "checked" in find_row(page, "olive@example.org")
    assert "checked" not in find_row(page, "bob@example.org")
    assert "checked" in find_row(get_page(olives, job, "?choose=confirmed"), "bob@example.org")


@pytest.mark.usefixtures("confirmed_addresses")
def test_without_email_addresses_are_not_confirmed(
    olives: Client, bob: User, settings: Settings
) -> None:
    settings.EMAIL_URL = ""
    job = preview_import(olives, database(*CHATS))
    page = get_page(olives, job, "?choose=confirmed")
    assert "with a confirmed address" not in page
    assert "checked" in find_row(page, "olive@example.org")
    assert "address not confirmed" in find_row(page, "bob@example.org")
    assert "checked" not in find_row(page, "bob@example.org")
    claims = {"userinfo": {"email": "bob@example.org", "email_verified": True}}
    SocialAccount.objects.create(user=bob, provider="oidc", uid="1", extra_data=claims)
    assert "checked" in find_row(get_page(olives, job, "?choose=confirmed"), "bob@example.org")
    User.objects.filter(pk=bob.pk).update(email="bob2@example.org")
    assert "No account here" in find_row(get_page(olives, job), "bob@example.org")


@pytest.mark.usefixtures("confirmed_addresses")
def test_each_person_gets_their_own_chats(olives: Client, olive: User, bob: User) -> None:
    job = import_for(olives, "bob", "olive")
    assert (job.phase, job.state, job.problem) == (Phase.STORED, JobState.DONE, "")
    assert (titles(olive), titles(bob)) == (["Hers"], ["His", "His too"])
    assert Conversation.objects.count() == 3
    assert not job.files.exists()
    page = get_page(olives, job)
    assert "2 new chats, 2 messages" in find_row(page, "bob")
    assert "His" not in page
    assert job.preview["people"] == []
    part = bob.imports.get()
    bobs = signed_in(bob)
    assert "By an administrator, 2 chats" in " ".join(
        bobs.get("/imports/").content.decode().split()
    )
    assert "An administrator imported these chats from Open WebUI" in get_page(bobs, part)
    assert "His too" in get_page(bobs, part)
    assert olives.get(f"/imports/{part.pk}/").status_code == 404
    events = AuditEvent.objects.filter(action="import.given", actor=olive.pk)
    assert {event.person for event in events} == {olive.pk, bob.pk}
    counts = {"source": "open_webui", "chats": 2, "messages": 2}
    assert events.get(person=bob.pk).detail.values == counts


@pytest.mark.usefixtures("confirmed_addresses")
def test_a_second_import_adds_nothing(olives: Client, bob: User) -> None:
    import_for(olives, "bob")
    again = import_for(olives, "bob")
    assert Message.objects.count() == 2
    assert "0 new chats, 2 here already" in find_row(get_page(olives, again), "bob")
    longer = import_for(olives, "bob", file=database(("His", "bob"), prompts=3))
    part = longer.parts.get()
    assert (part.result["longer"], part.result["chats"]) == (1, 0)
    assert titles(bob) == ["His", "His too"]


@pytest.mark.usefixtures("confirmed_addresses")
def test_people_whom_nobody_chose_get_nothing(olives: Client, bob: User) -> None:
    import_for(olives, "olive")
    assert titles(bob) == []
    assert not bob.imports.exists()


@pytest.mark.usefixtures("confirmed_addresses")
def test_only_people_of_the_database_with_an_account_can_be_chosen(
    olives: Client, bob: User
) -> None:
    job = preview_import(olives, database(*CHATS))
    [mallory, his] = keys(job, "mallory", "bob")
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert "deactivated" in find_row(get_page(olives, job), "bob@example.org")
    too_many = [str(number) for number in range(people.MAX_PEOPLE)]
    for wrong in (too_many, [], ["99"], [mallory], [his], ["bob"], ["0", "x"], ["\0"]):
        answer = olives.post(f"/imports/{job.pk}/start/", {"person": wrong}, follow=True)
        assert b"Look at the list again." in answer.content or b"Choose at least" in answer.content
    job.refresh_from_db()
    assert (job.phase, Import.objects.count()) == (Phase.PREVIEW, 1)


@pytest.mark.usefixtures("confirmed_addresses")
def test_an_address_that_two_accounts_have_is_nobodys(olives: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="BOB@example.org")
    page = get_page(olives, preview_import(olives, database(*CHATS)))
    assert "Several accounts have this address" in find_row(page, "bob@example.org")


@pytest.mark.usefixtures("confirmed_addresses")
def test_addresses_that_only_look_the_same_match_nobody(olives: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="mike@example.org")
    odd = ["m\u0131ke@example.org", "mike@example.org ", "m\u200bike@example.org", "%@example.org"]
    names = [str(at) for at, _ in enumerate(odd)]
    update = "UPDATE user SET email = '{}' WHERE id = '{}';"
    rows = "".join(map(update.format, odd, names))
    job = preview_import(olives, database(*zip(odd, names, strict=True), sql=rows))
    assert [candidate.accounts for candidate in people.list_candidates(job)] == [[]] * 4


@pytest.mark.usefixtures("confirmed_addresses")
def test_two_accounts_there_may_go_to_one_here(olives: Client, bob: User) -> None:
    sql = "UPDATE user SET email = 'BOB@EXAMPLE.ORG' WHERE id = 'mallory'"
    import_for(olives, "bob", "mallory", file=database(*CHATS, sql=sql))
    assert titles(bob) == ["His", "His too", "Secret"]
    assert bob.imports.count() == 2


@pytest.mark.usefixtures("confirmed_addresses")
@pytest.mark.parametrize(
    "sql",
    ["DROP TABLE user", "DROP TABLE user; CREATE VIEW user AS SELECT 'bob' AS id, 'x' AS email"],
)
def test_a_database_without_people_is_refused(olives: Client, sql: str) -> None:
    assert preview_import(olives, database(*CHATS, sql=sql), fails=True).problem == NO_PEOPLE


@pytest.mark.usefixtures("confirmed_addresses")
def test_names_and_owners_may_be_anything(olives: Client) -> None:
    sql = """
    UPDATE user SET name = NULL, email = NULL WHERE id = 'mallory';
    UPDATE user SET name = '<script>' || printf('%100000c', 'x') WHERE id = 'bob';
    UPDATE chat SET user_id = NULL WHERE title = 'Hers';
    CREATE TRIGGER surprise AFTER INSERT ON chat BEGIN DELETE FROM chat; END;
    """
    job = preview_import(olives, database(*CHATS, sql=sql))
    page = get_page(olives, job)
    assert "No email address" in find_row(page, "mallory")
    assert "<script>x" not in page
    assert len(find_row(page, "bob@example.org")) < 2000
    assert "Its owner is not in the database." in page


@pytest.mark.usefixtures("confirmed_addresses")
def test_a_database_comes_alone(olives: Client) -> None:
    data = database(*CHATS).read()
    upload(olives, ("a.db", data), ("b.db", data))
    run_jobs()
    assert Import.objects.get().problem == ALONE


@pytest.mark.usefixtures("confirmed_addresses")
def test_many_people_are_listed_up_to_a_number(
    olives: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "MAX_PEOPLE", 2)
    page = get_page(olives, preview_import(olives, database(*CHATS)))
    assert "1 more are not listed" in page
    assert "mallory" not in page
    assert "bob@example.org" in page


@pytest.mark.usefixtures("confirmed_addresses")
def test_a_former_administrator_can_do_nothing_more(olives: Client, olive: User, bob: User) -> None:
    job = preview_import(olives, database(*CHATS))
    olives.post(f"/imports/{job.pk}/start/", {"person": keys(job, "bob")})
    User.objects.filter(pk=olive.pk).update(is_superuser=False)
    run_jobs()
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert "administrators" in job.problem
    assert titles(bob) == []
    for path in ("", "progress/"):
        assert olives.get(f"/imports/{job.pk}/{path}").status_code == 403
    for act in ("start", "cancel", "discard", "retry", "undo"):
        assert olives.post(f"/imports/{job.pk}/{act}/").status_code == 403


@pytest.mark.usefixtures("confirmed_addresses")
@pytest.mark.parametrize("field", ["is_superuser", "is_active"])
def test_an_administrator_who_ceases_to_be_one_meanwhile_imports_no_more(
    olives: Client, olive: User, bob: User, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    after(monkeypatch, 1, lambda: User.objects.filter(pk=olive.pk).update(**{field: False}))
    job = import_for(olives, "bob")
    assert (job.state, job.problem) == (JobState.FAILED, NOT_ADMINISTRATOR)
    assert len(titles(bob)) == 1


def after(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], object]) -> None:
    """Do something between two chats, after so many."""
    calls = count()

    def get_statuses_and_act(user: User, chats: Sequence[SourceChat]) -> object:
        if next(calls) == number:
            act()
        return get_statuses(user, chats)

    monkeypatch.setattr("chatapp.imports.importer.get_statuses", get_statuses_and_act)


@pytest.mark.usefixtures("confirmed_addresses")
def test_a_person_who_is_deactivated_meanwhile_gets_no_more(
    olives: Client, olive: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    after(monkeypatch, 2, lambda: User.objects.filter(pk=bob.pk).update(is_active=False))
    job = import_for(olives, "bob", "olive")
    assert job.state == JobState.DONE
    assert (titles(olive), len(titles(bob))) == (["Hers"], 1)
    assert DEACTIVATED in find_row(get_page(olives, job), "bob")
    assert "1 left out" in find_row(get_page(olives, job), "bob")


@pytest.mark.usefixtures("confirmed_addresses")
def test_a_person_who_is_erased_meanwhile_is_left_out(
    olives: Client, olive: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    after(monkeypatch, 2, lambda: erase([bob]))
    job = import_for(olives, "bob", "olive")
    assert job.state == JobState.DONE
    assert titles(olive) == ["Hers"]
    assert Conversation.objects.count() == 1
    page = get_page(olives, job)
    assert ERASED in page
    assert not has_word(page, "bob")


@pytest.mark.usefixtures("confirmed_addresses")
def test_each_person_has_their_own_room(
    olives: Client, olive: User, bob: User, settings: Settings
) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 3000
    job = import_for(
        olives, "bob", "olive", file=database(*CHATS, ("Third", "bob"), ("Fourth", "bob"))
    )
    assert job.state == JobState.DONE
    assert titles(olive) == ["Hers"]
    assert 0 < len(titles(bob)) < 4
    assert FULL in find_row(get_page(olives, job), "bob")


@pytest.mark.usefixtures("confirmed_addresses")
def test_it_is_undone_for_everybody(
    olives: Client, olive: User, bob: User, saved_upstream: Upstream
) -> None:
    job = import_for(olives, "bob", "olive")
    chat = bob.conversations.get(title="His")
    store_turn(chat, saved_upstream, "More?", chat.messages.last())
    olives.post(f"/imports/{job.pk}/undo/")
    run_jobs()
    job.refresh_from_db()
    assert (job.phase, job.result["undone"]) == (Phase.UNDONE, {"deleted": 2, "continued": 1})
    assert (titles(olive), titles(bob)) == ([], ["His"])
    page = get_page(olives, job)
    assert "Chats deleted: 1" in find_row(page, "bob")
    assert "Chats kept because" in find_row(page, "bob")
    events = AuditEvent.objects.filter(action="import.taken_back")
    assert {event.person for event in events} == {olive.pk, bob.pk}
    import_for(olives, "bob", "olive")
    assert (titles(olive), titles(bob)) == (["Hers"], ["His", "His too"])


@pytest.mark.usefixtures("confirmed_addresses")
def test_a_person_undoes_what_they_got(olives: Client, olive: User, bob: User) -> None:
    job = import_for(olives, "bob", "olive")
    part = bob.imports.get()
    signed_in(bob).post(f"/imports/{part.pk}/undo/")
    run_jobs()
    assert (titles(olive), titles(bob)) == (["Hers"], [])
    Import.objects.filter(pk=job.pk).update(state=JobState.WAITING)
    part.refresh_from_db()
    assert not part.can_be_undone


@pytest.mark.usefixtures("confirmed_addresses")
def test_a_person_who_undoes_it_meanwhile_gets_no_more(
    olives: Client, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undo() -> None:
        Import.objects.filter(user=bob).update(phase=Phase.UNDOING)

    after(monkeypatch, 1, undo)
    job = import_for(olives, "bob")
    assert UNDONE in find_row(get_page(olives, job), "bob")
    assert len(titles(bob)) == 1


@pytest.mark.usefixtures("confirmed_addresses")
def test_erasing_the_administrator_keeps_the_chats_of_others(
    olives: Client, olive: User, bob: User
) -> None:
    User.objects.create_superuser("oscar")
    import_for(olives, "bob", "olive")
    erase([olive])
    assert titles(bob) == ["His", "His too"]
    part = Import.objects.get()
    assert (part.user, part.part_of, part.is_by_administrator) == (bob, None, True)
    assert ImportedChat.objects.count() == 2
    assert "An administrator imported these chats" in get_page(signed_in(bob), part)


@pytest.mark.usefixtures("confirmed_addresses")
@pytest.mark.parametrize("email", ["bob@example.org", "new@example.org"])
def test_erasing_a_person_removes_them_from_imports(olives: Client, bob: User, email: str) -> None:
    import_for(olives, "bob", "olive")
    waiting = preview_import(olives, database(*CHATS))
    User.objects.filter(pk=bob.pk).update(email=email)
    erase([bob])
    waiting.refresh_from_db()
    assert [person["id"] for person in waiting.preview["people"]] == ["olive", "mallory"]
    for job in Import.objects.all():
        assert "bob" not in f"{job.preview} {job.result} {job.source_person} {job.name}"


@pytest.mark.usefixtures("confirmed_addresses")
def test_an_interrupted_import_goes_on_for_everybody(
    olives: Client, olive: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise SystemExit  # as if the process was killed

    import_for(olives, "bob", file=database(("His", "bob")))
    chats = [("His", "bob"), ("Hers", "olive"), ("His too", "bob")]
    job = preview_import(olives, database(*chats))
    olives.post(f"/imports/{job.pk}/start/", {"person": keys(job, "bob", "olive")})
    with monkeypatch.context() as patch:
        after(patch, 2, stop)
        with pytest.raises(SystemExit):
            run_jobs()
    his = signed_in(bob).get(job.parts.get(user=bob).get_absolute_url())
    assert "The import is still running." in his.text
    run_jobs()
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert (titles(olive), titles(bob)) == (["Hers"], ["His", "His too"])
    figures = job.parts.get(user=bob).result
    assert (figures["chats"], figures["same"], figures["messages"]) == (1, 1, 1)


@pytest.mark.usefixtures("confirmed_addresses")
def test_folders_become_projects_of_their_people(olives: Client, olive: User, bob: User) -> None:
    sql = "INSERT INTO folder VALUES ('f', 'Letters'); UPDATE chat SET folder_id = 'f'"
    job = preview_import(olives, database(*CHATS, sql=sql))
    assert "Letters" not in get_page(olives, job)
    choice = {"person": keys(job, "bob"), "makes_projects": "on"}
    olives.post(f"/imports/{job.pk}/start/", choice)
    run_jobs()
    assert [project.name for project in bob.projects.all()] == ["Letters"]
    assert not olive.projects.exists()


@pytest.mark.usefixtures("confirmed_addresses")
def test_the_identity_is_confirmed_first(olive: User) -> None:
    client = signed_in(olive)
    job = preview_import(client, database(*CHATS))
    for answer in (
        client.get(f"/imports/{job.pk}/"),
        client.post(f"/imports/{job.pk}/start/", {"person": keys(job, "bob")}),
    ):
        assert answer.status_code == 302
        assert "/reauthenticate/" in answer["Location"]
    assert not Import.objects.filter(part_of=job).exists()


@pytest.mark.usefixtures("confirmed_addresses")
def test_an_archive_has_no_names_of_others(olives: Client, olive: User, bob: User) -> None:
    import_for(olives, "bob")
    preview_import(olives, database(*CHATS))
    assert "bob@" not in str(archived_account(olive)["imports.json"])
    [entry] = archived_account(bob)["imports.json"]
    assert entry["is_by_administrator"]
