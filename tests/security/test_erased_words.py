"""A person types distinct words into everything that takes text, and is erased: afterwards no
column of any table, and no file, contains one of these words.

A text field that nothing here fills fails the test, unless `NOT_THEIRS` says why.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from asgiref.sync import sync_to_async
from django.apps import apps
from django.conf import settings as configured
from django.contrib.auth.models import Group
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.test import Client
from pytest_django import Settings

from chatapp.erasure import register
from chatapp.models import (
    AccessToken,
    Attachment,
    ContextCut,
    Conversation,
    Import,
    Message,
    ReplyImage,
    User,
    audit,
    reindex,
)
from chatapp.models.files import storage
from chatapp.realtime.worker import worker
from chatapp.realtime.worker.housekeeping import clean_up
from tests.accounts.conftest import provider  # noqa: F401 - a fixture
from tests.accounts.provider import Provider, sign_in
from tests.conftest import PASSWORD, signed_in
from tests.security.canaries import SHAPES, texts
from tests.support.attaching import stored_names, upload
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db(transaction=True)

TAIL = "quetzalword"  # the end of each word, since an index may store a shared beginning once
WORD = re.compile(rf"\d{{3}}{TAIL}")
ADDRESS = "203.0.113.77"

SAID_BY_GATEWAY = {
    "Attachment": ("problem",),
    "Message": (
        *("reasoning", "refusal", "error", "earlier_rounds", "tool_runs", "extras_record"),
        *("logprobs", "moderation", "finish_reason", "response_id", "service_tier"),
        *("system_fingerprint", "model"),
    ),
}
"""What comes with a reply, stored directly without an upstream that sends all of it."""

NOT_THEIRS = {
    "AuditDetail salt": "random",
    "AuditEvent action target_type target detail_hash key previous mac": "ids and hashes",
    "AuditHead link key mac": "hashes",
    "CacheEntry cache_key value": "counts of attempts, by hashes",
    "ChatSettings allowed_tools off_servers": "names of tools, hashes and ids",
    "ChatExport problem chats suffix": "words of ours, and ids",
    "ContentType app_label model": "names of ours",
    "ContextCut model": "an id of a model",
    "UpstreamFailure kind": "a word of ours",
    "AccessRule model": "the house's",
    "DailyUsage upstream_name model": "what was used, counted as nobody's",
    "EmailAddress email": "allauth's; the app makes none",
    "EmailConfirmation key": "allauth's; the app makes none",
    "FileContent label media_type unit page_ends left_out": "one of a few, and numbers",
    "Group name": "the house's",
    "Conversation imported_from": "one of a few",
    "Import source": "one of a few",
    "Installation name accent accent_dark logo_version notice": "the house's",
    "Installation signup_domains title_model default_model": "the house's",
    "Invitation token_hash": "a hash",
    "Logo data media_type": "the house's",
    "Message usage_so_far": "numbers",
    "MonthlyUsage upstream_name model": "what was used, counted as nobody's",
    "PageImage media_type": "one of a few",
    "Permission name codename": "Django's",
    "Fallback model to_model": "ids of models",
    "Message failed_models_record": "names of models, and words of ours",
    "Price model": "the house's",
    "Preset model tools": "ids of a model and of tool servers",
    "PresetVersion model tools": "ids of a model and of tool servers",
    "Process place": "of a server",
    "Project model": "an id of a model that the upstream lists",
    "AccessToken digest last_characters scopes": "random, and names of ours",
    "Device session_key": "random",
    "Avatar version media_type data": "a hash, a picture and one of a few",
    "ReplyImage media_type": "one of a few",
    "RequestSettings digest": "a hash",
    "ReviewLabel name": "the house's",
    "ReviewRule name text": "the house's",
    "Session session_key": "random",
    "Limit model": "an id of a model",
    "SharedChat digest last_characters": "random",
    "SocialAccount provider": "the one of ours",
    "SocialApp provider provider_id name client_id secret key settings": "the house's",
    "SocialToken token token_secret": "none is stored",
    "StoredFile name sha256": "hashes",
    "Suggestion text": "the house's",
    "ToolServer name url command secrets unasked_tools": "the house's",
    "Upstream name base_url api_key parameters offered_models": "the house's",
    "Upstream model_names model_descriptions": "the house's",
    "Upstream model_images image_refusals": "ids of models",
    "Upstream model_parameters parameter_refusals": "the house's, and names of fields",
    "Upstream model_contexts context_refusals": "ids of models",
    "Upstream model_concessions": "ids of models, and words of ours",
    "Usage price": "numbers",
    "Usage upstream_name model": "what was used, counted as nobody's",
    "User password avatar_version": "hashes",
}
"""By model and fields: why they contain no word of a person's."""

KEPT = {
    "the name of Rita's sample": "she chose it, and her colleagues find it by that",
    "the words that Rita searched for": "the log keeps what a reviewer looked for, and why",
    **{
        f"a shared {what}": "others use it, and it belongs to Olive now"
        for what in ("title", "command", "text", "preset", "system prompt")
    },
    "why Rita searched": "the log keeps what a reviewer looked for, and why",
    "a tool that Rita looks for": "the log keeps what a reviewer looked for, and why",
    ADDRESS: "limits attempts from this address for some minutes, and names no account",
}
"""Words that stay, and why: somebody else wrote them, or they are about nobody."""


class Words:
    """Makes words, and knows where each was typed."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}

    def __call__(self, what: str) -> str:
        word = f"{len(self.made):03}{TAIL}"
        self.made[word] = what
        return word

    def fill_shape(self, shape: Any, what: str) -> Any:
        match shape:
            case str():
                return re.sub(r"\{\}", lambda _: self(what), shape)
            case bytes():
                return self.fill_shape(shape.decode(), what).encode()
            case list():
                return [self.fill_shape(part, what) for part in shape]
            case dict():
                return {
                    self.fill_shape(k, what): self.fill_shape(v, what) for k, v in shape.items()
                }
        return shape


def columns() -> Iterator[tuple[str, str]]:
    """Iterate over all values in the database, including index tables, as column and text."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        for table in tables:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608
            names = [column[0] for column in cursor.description]
            for row in cursor:
                for name, value in zip(names, row, strict=True):
                    column = f"{table}.{name}"
                    yield column, _text(column, value)


def _text(column: str, value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("latin-1")
    if column == "django_session.session_data":
        return str(SessionStore().decode(str(value)))
    return str(value)


def files() -> Iterator[tuple[str, str]]:
    """Iterate over the files that the app keeps beside the database, and those in the storage."""
    for name in stored_names():
        yield name, storage.read(name).decode("latin-1")
    journal = Path(configured.DATA_DIR) / "journal"
    journal_files = (
        [path for path in journal.rglob("*") if path.is_file()] if journal.exists() else []
    )
    for file in [*journal_files, register.file()]:
        if file.exists():
            yield str(file), file.read_bytes().decode("latin-1")


def model_columns() -> dict[str, str]:
    """Return the names of text fields, such as `Message content`, by their columns."""
    names: dict[str, str] = {}
    for model, name in texts():
        field: Any = model._meta.get_field(name)
        names[f"{model._meta.db_table}.{field.column}"] = f"{model.__name__} {name}"
    return names


def find_words(words: Words) -> dict[str, set[str]]:
    """Return where each word is found; a part of a word, as an index may keep, is under ""."""
    places: dict[str, set[str]] = {}
    for place, text in (*columns(), *files()):
        lower = text.lower()
        for word in WORD.findall(lower) or ([""] if TAIL in lower else []):
            places.setdefault(word, set()).add(place)
        if ADDRESS in text:
            places.setdefault(ADDRESS, set()).add(place)
    return places


class Company:
    """Olive administers, Rita reviews, and Carol is going to be erased."""

    def __init__(self, words: Words) -> None:
        self.words = words
        User.objects.filter(username="olive").update(is_superuser=True, is_staff=True)
        olive = User.objects.get(username="olive")
        olive.set_password(PASSWORD)
        olive.save()
        rita = User.objects.create_user("rita", password=PASSWORD, reviews=True, is_staff=True)
        self.olives, self.ritas = signed_in(olive, confirmed=True), signed_in(rita)

    def join(self) -> None:
        """Join by an invitation, with an address and a name that Carol changes afterwards."""
        words = self.words
        former = f"{words('the address of the invitation')}@example.org"
        page = post_and_follow(
            self.olives, "/people/invitations/", addresses=former, days=7, uses=1
        )
        link = re.search(r"/invitation/[\w-]+/", page.text)
        assert link
        agent = words("the name of the browser")
        self.carols = Client(
            headers={"host": "localhost", "User-Agent": agent}, REMOTE_ADDR=ADDRESS
        )
        name = {"username": words("the first username"), "password1": PASSWORD}
        post_and_follow(self.carols, link[0], **name, password2=PASSWORD)
        self.carol = User.objects.get(username=name["username"])

    def rename(self) -> None:
        words, path = self.words, f"/people/{self.carol.pk}/name/"
        name = {"first_name": words("the first name"), "last_name": words("the last name")}
        for username, address in (
            (self.carol.username, words("an address between")),
            (words("the username"), words("the address")),
        ):
            email = f"{address}@example.org"
            post_and_follow(self.olives, path, **name, username=username, email=email)
        self.carol.refresh_from_db()
        AccessToken.issue(self.carol, words("the name of a token"), ["chat"], None)

    def attach(self, conversation: UUID | None = None) -> Attachment:
        """Attach a file to the draft, and describe it."""
        name, text = self.words("the name of a file"), self.words("the text of a file")
        file = upload(self.carols, f"{name}.txt", text.encode(), conversation)
        post_and_follow(self.carols, f"/files/{file.pk}/describe/", alt=self.words("what it shows"))
        return file

    def fail_to_sign_in(self) -> None:
        wrong = {"password": self.words("a wrong password")}
        self.carols.post("/accounts/reauthenticate/", wrong)
        for login in (self.carol.username, self.words("nobody's name")):
            client = Client(headers={"host": "localhost"})
            client.post("/accounts/login/", {"login": login, **wrong})

    def save_prompts(self) -> None:
        """Save a prompt, change it and use it; and share another one, which others keep."""
        words, carols = self.words, self.carols
        for what in ("a", "a changed"):
            fields = {name: words(f"{what} prompt's {name}") for name in ("title", "command")}
            fields |= {"text": f"{words(f'{what} text')} {{{{topic}}}}", "opened": "1"}
            mine = self.carol.savedprompts.values_list("pk", flat=True).first()
            post_and_follow(carols, f"/prompts/{mine or 'new'}/", **fields)
        post_and_follow(carols, f"/prompts/{mine}/fill/", **{"blank-0": words("a blank's value")})
        fields = {"title": words("a shared title"), "text": words("a shared text")}
        post_and_follow(carols, "/prompts/new/", **fields, command=words("a shared command"))
        shared = self.carol.savedprompts.get(title=fields["title"])
        post_and_follow(carols, f"/prompts/{shared.pk}/sharing/", to="everyone", level="1")

    def save_presets(self) -> None:
        """Save a preset and change it; and share another one, which others keep."""
        words, carols = self.words, self.carols
        for what in ("a", "a changed"):
            parts = ("name", "description", "system_prompt", "stop", "suggestions")
            fields = {name: words(f"{what} preset's {name}") for name in parts}
            mine = self.carol.presets.values_list("pk", flat=True).first()
            key = uuid4()
            name, text = words(f"{what} preset's file"), words(f"the text of {what} preset's file")
            upload(carols, f"{name}.txt", text.encode(), form=key)
            fields |= {"icon": "code", "opened": "1", "draft": str(key)}
            post_and_follow(carols, f"/presets/{mine or 'new'}/", **fields)
        upload(carols, f"{words('a file of a form')}.txt", words("its text").encode(), form=uuid4())
        shared = {
            "name": words("a shared preset"),
            "system_prompt": words("a shared system prompt"),
        }
        post_and_follow(carols, "/presets/new/", **shared, icon="code")
        pk = self.carol.presets.get(name=shared["name"]).pk
        post_and_follow(carols, f"/presets/{pk}/sharing/", to="everyone", level="1")

    def organise(self, conversation: UUID) -> None:
        """Do everything a person can do with their chats."""
        words, carols = self.words, self.carols
        project = {"name": words("a project"), "instructions": words("the instructions")}
        post_and_follow(carols, "/projects/", **project)
        mine = self.carol.projects.get()
        post_and_follow(carols, f"/projects/{mine.pk}/change/", name=words("a new name of it"), **{
            "instructions": words("new instructions")
        })  # fmt: skip
        post_and_follow(carols, f"/c/{conversation}/rename/", title=words("a title"))
        reply = Message.objects.filter(conversation=conversation, role="assistant").latest("pk")
        note = {"rating": "down", "note": words("what she thinks of a reply")}
        post_and_follow(carols, f"/replies/{reply.pk}/feedback/", **note)
        cut = {"conversation_id": conversation, "message": reply, "summary": words("a summary")}
        ContextCut.objects.create(**cut)
        self.save_prompts()
        self.save_presets()
        self.attach(conversation)
        carols.post("/files/", {"name": words("a file that never arrives"), "size": 9})
        self.import_chats()
        carols.get("/search/", {"q": words("what she searches for")})
        carols.get("/conversations/", {"q": words("what she searches for")})
        post_and_follow(carols, "/conversations/export/", ids=[str(conversation)])

    def import_chats(self) -> None:
        """Upload one part of an export, and store the report of another import."""
        words = self.words
        name, text = words("the name of an export"), words("the text of an export").encode()
        sent = {"name": f"{name}.json", "size": str(len(text))}
        [file] = self.carols.post("/imports/upload/", sent).json()["files"]
        path, plain = f"/imports/files/{file['id']}/part/", "application/octet-stream"
        self.carols.patch(path, text, content_type=plain, headers={"Upload-Offset": "0"})
        reasons = {words("why a chat is left out"): [1, [words("its title")]]}
        Import.objects.create(
            user=self.carol,
            name=words("the name of an import"),
            problem=words("why an import failed"),
            preview={"reasons": reasons},
            result={"reasons": reasons},
        )
        id = words("her id elsewhere")
        listed = {"key": 0, "id": id, "account": self.carol.pk}
        listed |= {"name": words("her name elsewhere"), "address": words("her former address")}
        team = Import.objects.create(
            user=User.objects.get(username="olive"),
            is_for_team=True,
            phase="preview",
            preview={"people": [listed]},
        )
        Import.objects.create(user=self.carol, part_of=team, source_person=id)

    def limit(self, bob: User) -> None:
        """Set a limit that is Carol's and then Bob's, and one that stays hers."""
        fields = {"amount": "1000", "measure": "tokens", "period": "day", "whose": "person"}
        for _ in range(2):
            post_and_follow(self.olives, "/limits/new/", **fields, person=self.carol.username)
        first, second = self.carol.limits.order_by("pk")
        post_and_follow(self.olives, f"/limits/{first.pk}/", **fields, person=bob.username)
        asks = {"whom_to_ask": self.words("whom she may ask")}
        post_and_follow(
            self.olives, f"/limits/{second.pk}/", **fields, person=self.carol.username, **asks
        )
        post_and_follow(
            self.olives, f"/people/{self.carol.pk}/hold/", reason=self.words("why she is held")
        )
        hold = self.carol.legal_holds.get()
        post_and_follow(self.olives, f"/people/{self.carol.pk}/end-hold/", hold=hold.pk)
        team = Group.objects.create(name="team")
        post_and_follow(
            self.olives, f"/people/groups/{team.pk}/member/", person=self.carol.username
        )

    def review(self, conversation: UUID) -> None:
        words, ritas, path = self.words, self.ritas, f"/review/{conversation}"
        post_and_follow(ritas, f"{path}/open/", reason=words("why Rita opens it"))
        post_and_follow(ritas, f"{path}/notes/", version="0", text=words("Rita's note"), message="")
        person = {"person": self.carol.username}
        filters = {"tool": words("a tool that Rita looks for"), **person}
        post_and_follow(
            ritas, "/review/views/save/", name=words("the name of Rita's view"), **filters
        )
        sample = {"name": words("the name of Rita's sample"), "share": "100"}
        post_and_follow(ritas, "/review/samples/draw/", **sample, **person)
        looked_for = words("the words that Rita searched for")
        post_and_follow(
            ritas, "/review/search/", words=looked_for, reason=words("why Rita searched")
        )
        ritas.get("/review/", person)

    def fill_what_comes_from_elsewhere(self) -> None:
        """Store what an upstream says, and a security key's name, which needs a browser."""
        for model in apps.get_models():
            for name in SAID_BY_GATEWAY.get(model.__name__, ()):
                owner = "conversation__user" if model is Message else "user"
                for row in model._default_manager.filter(**{owner: self.carol}):
                    what = f"{model.__name__} {name}"
                    value = self.words.fill_shape(SHAPES.get(what, "{}"), what)
                    model._default_manager.filter(pk=row.pk).update(**{name: value})
        reply = Message.objects.filter(conversation__user=self.carol, role="assistant").latest("pk")
        image = self.words.fill_shape(b"GIF89a{}", "an image")
        ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=image)
        data = {"name": self.words("the name of a key")}
        Authenticator.objects.create(user=self.carol, type=Authenticator.Type.WEBAUTHN, data=data)
        for _ in reindex():
            pass


def post_and_follow(client: Client, path: str, **fields: Any) -> Any:
    """Post, and return the resulting page; fail if the post was refused."""
    answer = client.post(path, fields, follow=True)
    assert answer.status_code in (200, 204), (path, answer.status_code)
    assert "errorlist" not in answer.text if not answer.streaming else True, (path, answer.text)
    return answer


@pytest.fixture
def words() -> Words:
    return Words()


async def converse(company: Company, words: Words, upstream: FakeUpstream) -> UUID:
    """Send a prompt over the socket, and then an edited version of it."""
    about = {"about": words("about herself"), "answers": words("how to answer"), "is_on": "on"}
    await sync_to_async(post_and_follow)(company.carols, "/preferences/memory/", **about)
    async with Tab(company.carols) as tab:
        for what in ("a prompt", "an edited prompt"):
            answer = words(f"an answer to {what}")
            upstream.script(role(), delta(answer), finish(), done())
            prompts = Message.objects.filter(conversation__user=company.carol, role="user")
            first = await prompts.afirst()
            settings = {"system_prompt": words("a system prompt"), "stop": words("a stop")}
            sent = {"action": "edit", "edited": str(first.pk)} if first else settings
            file = await sync_to_async(company.attach)()
            await tab.send(
                **{"action": "prompt", **sent}, message=words(what), attached=str(file.pk)
            )
            await tab.until_ended()
    await worker().until_saved()
    conversation: Conversation = await company.carol.conversations.aget()
    own = {"system_prompt": words("a model's system prompt"), "stop": words("a model's stop")}
    path = f"/c/{conversation.pk}/settings/"
    await sync_to_async(post_and_follow)(company.carols, path, settings_of="1/other", **own)
    return conversation.pk


async def test_no_word_of_an_erased_person_is_left_anywhere(
    provider: Provider,  # noqa: F811 - the fixture
    upstream: FakeUpstream,
    saved_upstream: object,
    bob: User,
    words: Words,
    settings: Settings,
    generations_end: None,
) -> None:
    company = await sync_to_async(Company)(words)
    await sync_to_async(company.join)()
    joined = await sync_to_async(find_words)(words)
    await sync_to_async(company.rename)()
    conversation = await converse(company, words, upstream)

    def fill() -> dict[str, set[str]]:
        company.organise(conversation)
        company.limit(bob)
        company.review(conversation)
        company.fail_to_sign_in()
        company.fill_what_comes_from_elsewhere()
        settings.EMAIL_URL = "smtp://mail.example.org"
        claims: dict[str, Any] = {"email": company.carol.email, "email_verified": True}
        sign_in(provider, sub=words("her number there"), name=words("her name there"), **claims)
        assert SocialAccount.objects.filter(user=company.carol).exists()
        return find_words(words)

    before = await sync_to_async(fill)()
    at_both = [*joined.items(), *before.items()]
    named = {of for word, places in at_both for of in places if word in words.made}
    not_theirs = {
        f"{model} {name}" for of in NOT_THEIRS for model, *names in [of.split()] for name in names
    }
    unfilled = {of for column, of in model_columns().items() if column not in named}
    assert unfilled == not_theirs, sorted(unfilled ^ not_theirs)
    assert {words.made.get(word, word) for word in before} >= set(KEPT)

    await sync_to_async(erase)(company)
    after = await sync_to_async(find_words)(words)
    left = {words.made.get(word, word): places for word, places in after.items()}
    assert sorted((what, *places) for what, places in left.items() if what not in KEPT) == []


def erase(company: Company) -> None:
    """Erase Carol on her own privacy page, and then run the housekeeping."""
    carols = company.carols
    answer = carols.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert answer.status_code == 302, answer.text
    answer = carols.post("/privacy/erase/", {"name": company.carol.username})
    assert "Your account was erased" in answer.text
    clean_up()
    assert audit.verify().erased
