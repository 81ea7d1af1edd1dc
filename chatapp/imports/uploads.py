"""Views with which the page uploads an export in parts, so that an upload goes on where it stopped.

Refusals are sentences (422).
"""

import re
from datetime import timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import models, transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from chatapp.files.parts import receive_part, refuse
from chatapp.models import Import, ImportFile, User
from chatapp.models.files.import_files import ImportFileQuerySet
from chatapp.models.files.uploads import get_part_bytes
from chatapp.models.platform.jobs import UNENDED
from chatapp.models.refusals import Refused
from chatapp.realtime.worker import worker
from chatapp.text.file_names import clean_file_name

MAX_FILES = 50
STOPPED = timedelta(minutes=2)  # without a part, after which an upload makes room for others
MAX_UNENDED = 3  # imports of one person that wait or run at the same time
SIZE = re.compile("[0-9]{1,15}")
TOO_MANY = f"An import can have {MAX_FILES} files at most."
TOO_LARGE = "These files have {}, and you may upload {} for imports. {}"
SPLIT_UP = "Import a part of them first, or ask an administrator for more."
DISCARD = "Discard earlier imports that you don't need any more first."
EMPTY = "“{}” is empty."
BUSY = f"{MAX_UNENDED} of your imports are running already. Wait until one has ended."
INCOMPLETE = "A file has not arrived completely. Choose the files again to go on."


def _parse_announcement(request: HttpRequest) -> list[tuple[str, int, int]]:
    """Return the names, sizes and indexes of the files of one export. Raises `Refused`."""
    names, sizes = request.POST.getlist("name"), request.POST.getlist("size")
    if not names or len(names) != len(sizes) or not all(map(SIZE.fullmatch, sizes)):
        raise Refused("Choose a file first.")
    if len(names) > MAX_FILES:
        raise Refused(TOO_MANY)
    pairs = enumerate(zip(names, sizes, strict=True))
    files = [(clean_file_name(name), int(size), index) for index, (name, size) in pairs]
    for name, size, _ in files:
        if not size:
            raise Refused(EMPTY.format(name))
    max_bytes = settings.CHATAPP_IMPORT_BYTES
    if (total := sum(size for _, size, _ in files)) > max_bytes:
        raise Refused(TOO_LARGE.format(filesizeformat(total), filesizeformat(max_bytes), SPLIT_UP))
    return sorted(files)  # parts of a split export have numbers in their names


@require_POST
@login_required
def begin(request: HttpRequest) -> HttpResponse:
    """Announce the files of an export. Responds with the ids and how much has been received."""
    assert isinstance(request.user, User)
    try:
        announced_files = _parse_announcement(request)
        files = _begin_upload(request.user, [(name, size) for name, size, _ in announced_files])
    except Refused as refused:
        return refuse(str(refused))
    file_states = [
        {"id": str(file.pk), "index": index, "received": file.received}
        for file, (*_, index) in zip(files, announced_files, strict=True)
    ]
    batch = {"batch": str(files[0].batch), "part": files[0].part_bytes, "files": file_states}
    return JsonResponse(batch, status=201)


@transaction.atomic
def _begin_upload(person: User, files: list[tuple[str, int]]) -> list[ImportFile]:
    # Locked, so that several uploads at once can't exceed the limit together.
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if stopped_files := _find_stopped_upload(person, files):
        return stopped_files
    size, max_bytes = sum(size for _, size in files), settings.CHATAPP_IMPORT_BYTES
    if _sum_uploaded_bytes(person) + size > max_bytes:
        _select_unfinished(person).filter(changed_at__lt=timezone.now() - STOPPED).erase()
    if (uploaded := _sum_uploaded_bytes(person)) + size > max_bytes:
        sizes = filesizeformat(uploaded + size), filesizeformat(max_bytes)
        raise Refused(TOO_LARGE.format(*sizes, DISCARD))
    batch, part_bytes = uuid4(), get_part_bytes()
    return [
        ImportFile.objects.create(
            user=person,
            batch=batch,
            position=position,
            name=name,
            size=size,
            part_bytes=part_bytes,
        )
        for position, (name, size) in enumerate(files)
    ]


def _sum_uploaded_bytes(person: User) -> int:
    return person.import_files.aggregate(sum=models.Sum("size"))["sum"] or 0


def _select_unfinished(person: User) -> ImportFileQuerySet:
    """Return files that are being uploaded, or whose upload has stopped."""
    imported = Import.objects.filter(user=person).values("pk")
    return ImportFile.objects.filter(user=person).exclude(batch__in=imported)


def _find_stopped_upload(person: User, files: list[tuple[str, int]]) -> list[ImportFile]:
    """Return the same files if their upload has stopped."""
    batches: dict[UUID, list[ImportFile]] = {}
    for file in _select_unfinished(person).order_by("position"):
        batches.setdefault(file.batch, []).append(file)
    for batch_files in batches.values():
        if [(file.name, file.size) for file in batch_files] == files:
            return batch_files
    return []


@require_http_methods(["PATCH"])
@login_required
def receive(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Receive a part of a file."""
    return receive_part(request, get_object_or_404(_own_files(request), pk=pk))


@require_POST
@login_required
def finish(request: HttpRequest, batch: UUID) -> HttpResponse:
    """Begin to read the files of an export. Responds with the address of its page."""
    assert isinstance(request.user, User)
    try:
        job = _create_import(request.user, batch)
    except Refused as refused:
        return refuse(str(refused))
    worker().jobs.wake()
    return JsonResponse({"url": job.get_absolute_url()}, status=201)


@transaction.atomic
def _create_import(person: User, batch: UUID) -> Import:
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    files = list(person.import_files.filter(batch=batch))
    if not files:
        raise Http404("There are no such files.")
    if known_import := Import.objects.filter(pk=batch, user=person).first():
        return known_import
    if not all(file.is_whole for file in files):
        raise Refused(INCOMPLETE)
    if Import.objects.filter(user=person, state__in=UNENDED).count() >= MAX_UNENDED:
        raise Refused(BUSY)
    return Import.objects.create(pk=batch, user=person, name=files[0].name)


def _own_files(request: HttpRequest) -> ImportFileQuerySet:
    assert isinstance(request.user, User)
    own: ImportFileQuerySet = request.user.import_files.all()
    return own
