"""An installation in use: what Alice wrote, what Olive set up, and a browser for each person."""

from collections.abc import AsyncIterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import channels.db
from asgiref.sync import async_to_sync
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone

from chatapp.models import (
    AccessToken,
    Attachment,
    AuditDetail,
    AuditEvent,
    AuditHead,
    Avatar,
    CacheEntry,
    ChatExport,
    ChatSettings,
    ContextCut,
    Conversation,
    Device,
    Feedback,
    FileContent,
    Import,
    ImportedChat,
    ImportFile,
    Installation,
    Limit,
    Logo,
    Memory,
    Message,
    PageImage,
    Preset,
    ReplyImage,
    RequestSettings,
    ReviewRule,
    SavedPrompt,
    StoredFile,
    Suggestion,
    ToolServer,
    Upstream,
    User,
)
from chatapp.models.files import storage
from chatapp.models.sharing.shared_chats import Audience, Share, ShareOptions
from tests.conftest import PASSWORD
from tests.support import sessions
from tests.support.stored import build_reply, end

CAST = ("nobody", "alice", "bob", "stan", "rita", "olive", "adam")
"""Alice owns what the addresses name; Bob is another person; Stan is staff without permissions;
Rita is a reviewer with all view permissions; Olive is an administrator who reviews, and Adam one
who does not."""
Rows = dict[str, list[Any]]  # by model
FORMER = ("deactivated", "signed out", "deleted")
"""Superusers who lost their accounts or sessions after signing in: they count as nobody."""
PRIVATE = (
    *("alicetitlecanary", "alicepromptcanary", "aliceanswercanary", "alicethoughtcanary"),
    *("alicenotecanary", "alicefilecanary"),
)
FILES = {
    "image": "image",
    "thumbnail": "image",
    "describe": "image",
    "page": "scan",
    "pages": "draft",
    "retry": "failed",
    "remove": "draft",
    "part": "draft",
}
"""Which of Alice's attachments an address of a file names; the others name her document."""
KEYS = ("sk-keycanary", "toolsecretcanary")


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from routes(pattern.url_patterns, route)


@dataclass
class House:
    """Alice's objects, what Olive set up, and everybody's browser."""

    QUERIES = {
        "c/<uuid:pk>/earlier/": "?before={reply}",
        "c/<uuid:pk>/later/": "?after={reply}",
        "files/draft/": "?conversation={conversation}",
        "review/export/": "?format=jsonl",
    }

    conversation: Conversation
    reply: Message
    objects: dict[str, object]  # primary keys, by the model's name in an address
    files: dict[str, UUID]  # attachments
    clients: dict[str, Client]

    def path(self, route: str) -> str:
        """Return an address of the route that names these objects."""
        query = self.QUERIES.get(route, "").format(
            reply=self.reply.pk, conversation=self.conversation.pk
        )
        if route.startswith("s/<str:token>"):
            route = route.replace("<str:token>", str(self.objects["shared_token"]))
        for model, key in self.objects.items():
            if f"/{model}/" in route:
                route = route.replace("<path:object_id>", str(key)).replace("<id>", str(key))
        project = self.objects.get("project", self.conversation.project_id)
        for pattern, value in {
            "c/<uuid:pk>": f"c/{self.conversation.pk}",
            "review/<uuid:pk>": f"review/{self.conversation.pk}",
            "exports/<uuid:pk>": f"exports/{self.objects['export']}",
            "tokens/<uuid:pk>": f"tokens/{self.objects['access_token']}",
            "replies/<uuid:pk>": f"replies/{self.reply.pk}",
            "projects/<uuid:pk>": f"projects/{project}",
            "<uuid:chat>": str(self.objects.get("chat", self.conversation.pk)),
            "<uuid:file>": str(self.files["image"]),
            "prompts/<uuid:pk>/text": f"prompts/{self.reply.parent_id}/text",
            "prompts/<uuid:pk>": f"prompts/{self.objects['prompt']}",
            "presets/<uuid:pk>": f"presets/{self.objects['preset']}",
            "shared-links/<uuid:pk>": f"shared-links/{self.objects['shared_link']}",
            "shared/<uuid:pk>": f"shared/{self.objects['shared_link']}",
            "<uuid:reply>": str(self.reply.pk),
            "<int:number>": "1",
            "imports/files/<uuid:pk>": f"imports/files/{self.objects['import_file']}",
            "imports/read/<uuid:batch>": f"imports/read/{self.objects['import']}",
            "imports/<uuid:pk>": f"imports/{self.objects['import']}",
            "files/<uuid:pk>": f"files/{self._file_in(route)}",
            "<uuid:message>": str(self.reply.pk),
            "<int:position>": "0",
            "<slug:kind>/<int:pk>": f"upstream/{self.objects['upstream']}",
            "models/<int:pk>": f"models/{self.objects['upstream']}",
            "tools/<int:pk>": f"tools/{self.objects['toolserver']}",
            **{f"{name}s/<int:pk>": f"{name}s/{key}" for name, key in self.objects.items()},
            "<int:pk>": str(self.objects["user"]),
            "<slug:what>": "roles",
            "<slug:version>": str(self.objects["avatar"]),
            "<str:named>": str(self.objects.get("named", "MQ")),
            "<str:provider_id>": "oidc",
            "<str:token>": str(self.objects.get("token", "0" * 32)),
            "<path:content_type_id>": "1",
            "<path:rest>": "1/1/",
            "<path:name>": "one",
            "<path:object_id>": "1",
            "^(?P<app_label>chatapp|auth)/$": "chatapp/",
            "(?P<url>.*)$": "no/such/page/",
        }.items():
            route = route.replace(pattern, value)
        return f"/{route}{query}"

    def _file_in(self, route: str) -> UUID:
        what = route.rpartition("files/<uuid:pk>/")[2].partition("/")[0]
        return self.files[FILES.get(what, "document")]


def furnish(alice: User) -> House:
    """Set up the house; Alice, Bob and Olive have accounts already."""
    cache.clear()  # or earlier tests would have used up the sign-in attempts
    upstream = Upstream.objects.create(
        name="Fake", base_url="http://127.0.0.1:9/v1", api_key=KEYS[0], offered_models="one"
    )
    server = ToolServer.objects.create(
        name="wiki", url="http://127.0.0.1:9/mcp", secrets=f"X-Key: {KEYS[1]}", enabled=False
    )
    project = alice.projects.create(name=PRIVATE[0], instructions=PRIVATE[1])
    conversation = alice.conversations.create(title=PRIVATE[0], project=project)
    prompt, reply = conversation.ask(uuid4(), PRIVATE[1], None, upstream, "one", uuid4())
    end(reply, build_reply(PRIVATE[2], PRIVATE[3]))
    ReplyImage.objects.create(
        message=reply, position=0, media_type="image/gif", data=b"GIF89a" + PRIVATE[2].encode()
    )
    settings = {"instructions": PRIVATE[1], "digest": "0" * 64, "conversation": conversation}
    reply.request_settings = RequestSettings.objects.create(**settings)
    reply.save(update_fields=["request_settings"])
    own = {"by_model": {f"{upstream.pk}/one": {"system_prompt": PRIVATE[2]}}}
    ChatSettings.objects.create(conversation=conversation, system_prompt=PRIVATE[1], **own)
    Memory.objects.create(user=alice, about=PRIVATE[0], answers=PRIVATE[1])
    files = attach_files(conversation, prompt)
    Feedback.give(reply, Feedback.Rating.UP, PRIVATE[4])
    ContextCut.objects.create(
        conversation=conversation, message=reply, summary=PRIVATE[2], upstream=upstream, model="one"
    )
    Installation.objects.create(pk=1, accent="#7a1fa2", who_uses_api="everyone")
    Logo.objects.create(media_type="image/webp", data=b"RIFF")
    stan = User.objects.create_user("stan", password=PASSWORD, is_staff=True)
    stan.user_permissions.set(Permission.objects.all())  # which give no right here
    User.objects.create_superuser("adam", password=PASSWORD, reviews=False)
    User.objects.create_user("rita", password=PASSWORD, is_staff=True, reviews=True)
    clients = {"nobody": Client()} | {name: signed_in(name) for name in CAST[1:]}
    for name in FORMER:
        User.objects.create_superuser(name, password=PASSWORD)
        clients[name] = signed_in(name)
    User.objects.filter(username="deactivated").update(is_active=False)
    clients["signed out"].post(reverse("account_logout"))
    User.objects.get(username="deleted").delete()
    preset = Preset.start(
        alice, name=PRIVATE[0], system_prompt=PRIVATE[1], suggestions=[PRIVATE[2]]
    )
    token, _ = AccessToken.issue(alice, "laptop", ["chat"], None)
    group = Group.objects.create(name="g")  # without members, so that nobody else opens the link
    share = Share(conversation.pk, Audience(groups=[group]), options=ShareOptions(shows_files=True))
    alice.groups.add(group)
    link, shared_token = share.store(alice)
    alice.groups.clear()
    job, file = store_import(conversation)
    Avatar.replace(alice, "image/png", b"a picture of Alice")
    objects = {
        "avatar": alice.avatar_version,
        "shared_link": link.pk,
        "shared_token": shared_token,
        "access_token": token.pk,
        "export": store_export(alice).pk,
        "import": job.pk,
        "import_file": file.pk,
        "preset": preset.pk,
        "prompt": SavedPrompt.start(alice, title=PRIVATE[0], text=f"{PRIVATE[1]} {{{{topic}}}}").pk,
        "limit": Limit.objects.create(measure="tokens", cap=10**9).pk,
        "user": alice.pk,
        "conversation": conversation.pk,
        "upstream": upstream.pk,
        "toolserver": server.pk,
        "suggestion": Suggestion.objects.create(text="Explain a word").pk,
        "installation": 1,
        "group": group.pk,
        "rule": ReviewRule.objects.create(
            name="r", kind="words", applies_to="both", text="xyzzy"
        ).pk,
    }
    for name in ("rita", "olive"):
        reason = {"reason": "A matter"}
        clients[name].post(reverse("open-for-review", args=[conversation.pk]), reason)
    return House(conversation, reply, objects, files, clients)


def store_export(alice: User) -> ChatExport:
    """Store an export of her chats, with its file."""
    tomorrow = timezone.now() + timedelta(days=1)
    fields = {"suffix": "jsonl", "size": 9, "expires_at": tomorrow, "state": "done"}
    export = ChatExport.objects.create(user=alice, format="json", scope="everything", **fields)
    storage.replace(export.stored_name, f"{PRIVATE[1]}\n".encode())
    return export


def store_import(conversation: Conversation) -> tuple[Import, ImportFile]:
    """Return an import that has made this chat, and one of its files."""
    reasons = {"reasons": {PRIVATE[2]: [1, [PRIVATE[0]]]}}
    job = Import.objects.create(
        user=conversation.user,
        name=f"{PRIVATE[5]}.zip",
        phase="stored",
        state="done",
        preview=reasons,
        result=reasons,
    )
    ImportedChat.objects.create(pk=conversation.pk, imported_by=job)
    file = ImportFile.objects.create(
        user=conversation.user, batch=job.pk, position=0, name=job.name, size=9, part_bytes=9
    )
    return job, file


def attach_files(conversation: Conversation, prompt: Message) -> dict[str, UUID]:
    """Attach a document, an image and a scan to Alice's prompt, and leave two files in a draft."""
    owner = conversation.user_id
    image = StoredFile.store(b"image of " + PRIVATE[5].encode(), owner)
    document = StoredFile.store(PRIVATE[5].encode(), owner)
    scan = StoredFile.store(b"scan of " + PRIVATE[5].encode(), owner)
    contents = (
        FileContent(file=image, kind="image", label="PNG", media_type="image/png", width=9),
        FileContent(file=document, kind="document", label="Text", media_type="text/plain"),
        FileContent(file=scan, kind="scan", label="PDF", media_type="application/pdf"),
    )
    contents[0].thumbnail = StoredFile.store(b"thumbnail of " + PRIVATE[5].encode(), owner)
    contents[1].text, contents[1].page_ends = PRIVATE[5], [len(PRIVATE[5])]
    contents[2].page_ends = [0]
    for content in contents:
        content.save()
    PageImage.objects.create(
        content=contents[2], position=0, file=image, media_type="image/png", width=9, height=9
    )
    files = {"image": image, "document": document, "scan": scan, "draft": document, "failed": None}
    made = [
        Attachment(
            user_id=conversation.user_id,
            message=None if what in ("draft", "failed") else prompt,
            conversation=conversation if what in ("draft", "failed") else None,
            name=f"{PRIVATE[5]}.txt",
            size=9,
            received=9,
            state=Attachment.State.READY if file else Attachment.State.FAILED,
            file=file,
        )
        for what, file in files.items()
    ]
    Attachment.objects.bulk_create(made)
    Message.objects.filter(pk=prompt.pk).update(file_count=3)
    return {what: attachment.pk for what, attachment in zip(files, made, strict=True)}


def signed_in(name: str) -> Client:
    """Return the browser of a person who has just entered the password and seen a page."""
    client = Client()
    sessions.sign_in(client, User.objects.get(username=name), confirmed=True)
    sessions.remember_browser(client)
    return client


def everything() -> Rows:
    """Return all rows except sessions, which any request may renew, counted attempts, and the audit
    log, where some views add an event."""
    but = (Session, Device, CacheEntry, AuditEvent, AuditDetail, AuditHead)
    models = [model for model in apps.get_models(include_auto_created=True) if model not in but]
    with connection.cursor() as cursor:
        return {model._meta.label: read_rows(model, cursor) for model in models}


def read_rows(model: type[Model], cursor: CursorWrapper) -> list[Any]:
    """Return its rows as they are stored, which takes a tenth of the time that the ORM takes."""
    quoted = connection.ops.quote_name
    keys = ", ".join(quoted(str(field.column)) for field in model._meta.pk_fields)
    cursor.execute(f"SELECT * FROM {quoted(model._meta.db_table)} ORDER BY {keys}")  # noqa: S608
    return list(cursor.fetchall())


def read_body(response: HttpResponseBase) -> bytes:
    """Return all bytes of a response, whether it streams them or not."""
    if not response.streaming:
        return response.content  # type: ignore[attr-defined, no-any-return]
    if response.is_async:  # type: ignore[attr-defined]
        # Channels would close the connection, and with it the transaction around the test.
        with patch.object(channels.db, "close_old_connections"):
            return async_to_sync(_join)(response.streaming_content)  # type: ignore[attr-defined]
    return b"".join(response.streaming_content)  # type: ignore[attr-defined]


async def _join(parts: AsyncIterable[bytes]) -> bytes:
    return b"".join([part async for part in parts])


def verdict(response: HttpResponseBase) -> str:
    goes_to = response.headers.get("location", "")
    return "in" if goes_to.startswith("/accounts/login/") else str(response.status_code)
