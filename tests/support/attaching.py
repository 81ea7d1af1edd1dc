"""Attach files as the page's scripts do: announce a file, then send it in parts."""

from io import BytesIO
from typing import Any
from uuid import UUID

from django.db.models import F
from django.test import Client

from chatapp.documents import Document, Picture, Scan
from chatapp.models import Attachment, FileContent, Message, StoredFile, User
from chatapp.models.files import storage
from chatapp.reading.storing import store_result


def upload(
    client: Client,
    name: str,
    data: bytes,
    conversation: UUID | None = None,
    *,
    form: UUID | None = None,
) -> Attachment:
    """Upload a file to the draft of a conversation or a form, and return its attachment."""
    place = {"conversation": conversation or "", "form": form or ""}
    response = client.post("/files/", {"name": name, "size": len(data), **place})
    assert response.status_code == 201, response.content
    announced = response.json()
    for offset in range(0, len(data), announced["part"]):
        answer = send_part(
            client, announced["id"], data[offset : offset + announced["part"]], offset
        )
        assert answer.status_code == 200, answer.content
    return Attachment.objects.get(pk=announced["id"])


def send_part(
    client: Client, pk: UUID | str, data: bytes, offset: int | str, path: str = "files"
) -> Any:
    """Send a part of an attachment, or of a file with another path."""
    return client.patch(
        f"/{path}/{pk}/part/",
        data,
        content_type="application/octet-stream",
        headers={"Upload-Offset": str(offset)},
    )


def attach_file(message: Message, name: str, data: bytes = b"A report") -> Attachment:
    """Attach a file to a stored prompt: an image if its name says so, or else a text."""
    is_image, owner = name.endswith(".png"), message.conversation.user_id
    file = StoredFile.store(data, owner)
    if not hasattr(file, "content"):
        content = FileContent(file=file, kind="document", label="Text", media_type="text/plain")
        if is_image:
            content.kind, content.label, content.media_type = "image", "PNG", "image/png"
            content.thumbnail = StoredFile.store(b"thumbnail of " + data, owner)
        else:
            content.text = data.decode()
            content.page_ends = [len(content.text)]
        content.save()
    Message.objects.filter(pk=message.pk).update(file_count=F("file_count") + 1, indexed_at=None)
    return Attachment.objects.create(
        user_id=owner,
        message=message,
        name=name,
        size=len(data),
        received=len(data),
        state=Attachment.State.READY,
        file=file,
    )


def draft_file(owner: User, name: str, result: Document | Picture | Scan) -> Attachment:
    """Put a file into the draft of a new chat, as if this had been read from it."""
    data = f"{name}: {result}".encode()
    content = store_result(result, BytesIO(data), owner.pk)
    attachment = Attachment(user=owner, name=name, size=len(data), received=len(data))
    attachment.state, attachment.file = Attachment.State.READING, content.file
    attachment.save()
    attachment.make_ready(content)
    attachment.refresh_from_db()
    return attachment


def stored_names() -> set[str]:
    """Return the names of all files in the storage."""
    return {name for folder in storage.folders() for name in storage.names_in(folder)}
