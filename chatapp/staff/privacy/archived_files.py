"""The files that a person attached, also to presets, and the images of replies, as their archive
contains them."""

import re
from typing import NamedTuple

from django.db import models
from msgspec import to_builtins

from chatapp.exports.formats.json_lines import build_file, build_image
from chatapp.models import Attachment, PresetFile, ReplyImage, User
from chatapp.transfer.export_format import FileRecord

FOLDER = "files"
IMAGES = "images"  # the folder of images of replies
NOT_IN_NAMES = re.compile(r'[<>:"|?*/\\]')  # characters that some systems refuse in a file name


class ArchivedFile(NamedTuple):
    """A content to be put into the archive, once for all messages that have it."""

    path: str  # in the archive
    stored_name: str


def archived_files(person: User) -> tuple[list[dict[str, object]], list[ArchivedFile]]:
    """Return a record of each file, those in drafts too, and the contents to add."""
    records: list[dict[str, object]] = []
    contents: dict[int, ArchivedFile] = {}
    attached = person.attachments.with_media_type().select_related("file")
    for attachment in attached.order_by("created_at", "position", "id"):
        record = to_builtins(build_file(attachment)) | _describe_attachment(attachment)
        if attachment.file:
            content = ArchivedFile(_path(attachment), attachment.file.name)
            record["path"] = contents.setdefault(attachment.file.pk, content).path
        records.append(record)
    of_presets = PresetFile.objects.owned_by(person).for_display()
    for file in of_presets:
        content = ArchivedFile(_path(file), file.file.name)
        path = contents.setdefault(file.file_id, content).path
        records.append(_record(file) | {"path": path})
    records += [
        to_builtins(build_image(image))
        | {"name": f"{image}.{_suffix(image)}", "path": image_path(image)}
        for image in get_images(person)
    ]
    return records, list(contents.values())


def get_images(person: User) -> "models.QuerySet[ReplyImage]":
    """Return the images of replies, without their bytes."""
    theirs = ReplyImage.objects.filter(message__conversation__user=person)
    return theirs.defer("data").order_by("pk")


def image_path(image: ReplyImage) -> str:
    """Return the name in the archive of an image of a reply."""
    return f"{IMAGES}/{image.message_id}-{image.position}.{_suffix(image)}"


def _suffix(image: ReplyImage) -> str:
    return image.media_type.removeprefix("image/")


def _record(file: PresetFile) -> dict[str, object]:
    versions = file.file_set.presetversion_set.order_by("target", "number")
    media_type = file.content.media_type
    record = FileRecord(id=str(file.pk), name=file.name, type=media_type, size=file.size)
    return {
        **to_builtins(record),
        "preset_versions": [
            {"preset": str(preset), "number": number}
            for preset, number in versions.values_list("target", "number")
        ],
    }


def _describe_attachment(attachment: Attachment) -> dict[str, object]:
    keys = {"message": attachment.message_id, "draft_of": attachment.conversation_id}
    named: dict[str, object] = {name: str(key) for name, key in keys.items() if key}
    return named | {
        "state": attachment.state,
        "problem": attachment.problem,
        "attached_at": attachment.created_at.isoformat(),
    }


def _path(file: Attachment | PresetFile) -> str:
    """Return a unique name that is safe to unpack everywhere."""
    return f"{FOLDER}/{file.pk}-{NOT_IN_NAMES.sub('_', file.name)}"
