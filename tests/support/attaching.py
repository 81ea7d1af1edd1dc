"""Attach files as the page's scripts do: announce a file, then send it in parts."""

from typing import Any
from uuid import UUID

from django.test import Client

from chatapp.models import Attachment


def upload(client: Client, name: str, data: bytes, conversation: UUID | None = None) -> Attachment:
    """Upload a file to a draft and return its attachment."""
    form = {"name": name, "size": len(data), "conversation": conversation or ""}
    begun = client.post("/files/", form)
    assert begun.status_code == 201, begun.content
    told = begun.json()
    for offset in range(0, len(data), told["part"]):
        answer = send_part(client, told["id"], data[offset : offset + told["part"]], offset)
        assert answer.status_code == 200, answer.content
    return Attachment.objects.get(pk=told["id"])


def send_part(client: Client, pk: UUID | str, data: bytes, offset: int) -> Any:
    return client.patch(
        f"/files/{pk}/part/",
        data,
        content_type="application/octet-stream",
        headers={"Upload-Offset": str(offset)},
    )
