"""Views with which a page attaches files to a draft.

A file is announced, then sent in parts, each with its offset, so that an upload goes on where it
stopped. Refusals are sentences (422).
"""

from functools import partial
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.db.retry import retry_on_integrity_error
from chatapp.files.forms import AltForm, PagesForm, TextForm, UploadForm
from chatapp.files.parts import receive_part, refuse, report_received
from chatapp.files.reading import start_reading
from chatapp.models import Attachment, Conversation, User
from chatapp.models.files.attachments import AttachmentQuerySet
from chatapp.models.files.contents import store_text
from chatapp.models.library.file_sets import reserve_room
from chatapp.models.refusals import Refused
from chatapp.reading.contents import NOT_STORED
from chatapp.realtime.worker import worker

TOO_MANY = "A message can have {} files at most. Remove some, or send them first."


@require_GET
@never_cache
@login_required
def draft(request: HttpRequest) -> HttpResponse:
    """The attachments in the draft of a conversation, of a new chat, or of a form."""
    assert isinstance(request.user, User)
    form = DraftForm(request.GET)
    draft_key = form.cleaned_data if form.is_valid() else {"conversation": None, "form": None}
    draft_files = _select_draft(request.user, **draft_key).for_chips()
    context = {"attachments": draft_files, "is_form": draft_key["form"] is not None}
    return render(request, "files/_draft.html", context)


class DraftForm(forms.Form):
    conversation = forms.UUIDField(required=False)
    form = forms.UUIDField(required=False)


def _select_draft(person: User, conversation: UUID | None, form: UUID | None) -> AttachmentQuerySet:
    own = person.attachments.all()
    return own.in_form(form) if form else own.in_draft(conversation)


@require_POST
@login_required
def begin(request: HttpRequest) -> HttpResponse:
    """Announce a file. Responds with its id, the size of the parts and the first offset."""
    assert isinstance(request.user, User)
    form = UploadForm(request.POST)
    if not form.is_valid():
        return refuse(str(next(iter(form.errors.values()))[0]))
    try:
        attachment = _begin_upload(request.user, **form.cleaned_data)
    except Refused as refused:
        return refuse(str(refused))
    worker().draft_changed(request.user.pk, attachment.conversation_id)
    upload_state = {
        "id": str(attachment.pk),
        "part": attachment.part_bytes,
        "received": attachment.received,
    }
    return JsonResponse(upload_state, status=201)


@transaction.atomic
def _begin_upload(
    person: User,
    name: str,
    size: int,
    conversation: UUID | None,
    form: UUID | None,
    resumed: UUID | None,
) -> Attachment:
    # Locked, so that several uploads at once can't exceed the limits together.
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if conversation:
        Conversation.get_own(person, conversation)
    draft_files = _select_draft(person, conversation, form)
    stopped_uploads = draft_files.filter(state=Attachment.State.UPLOADING, name=name, size=size)
    if resumed and (stopped_upload := stopped_uploads.filter(pk=resumed).first()):
        return stopped_upload
    if draft_files.count() >= settings.CHATAPP_FILES_PER_MESSAGE:
        raise Refused(TOO_MANY.format(settings.CHATAPP_FILES_PER_MESSAGE))
    reserve_room(person, size, worker().file_bytes[person.pk])
    return Attachment.objects.create(
        user=person, conversation_id=conversation, form=form, name=name, size=size
    )


@require_http_methods(["PATCH"])
@login_required
def receive(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Receive a part of the file, which is read once it is whole."""
    attachment = get_object_or_404(_own_attachments(request), pk=pk, message=None)
    if attachment.state != Attachment.State.UPLOADING:
        return report_received(attachment)
    response = receive_part(request, attachment)
    if response.status_code == 200 and attachment.is_whole:
        start_reading(attachment)
        worker().draft_changed(attachment.user_id, attachment.conversation_id)
    return response


@require_POST
@login_required
def retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Read a file again whose reading failed although it has arrived."""
    failed = _own_attachments(request).filter(
        state=Attachment.State.FAILED, received__gt=0, message=None
    )
    return _apply_change(start_reading, get_object_or_404(failed, pk=pk))


@require_POST
@login_required
def remove(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Remove a file from its draft."""
    attachment = get_object_or_404(_own_attachments(request), pk=pk, message=None)
    return _apply_change(Attachment.remove, attachment)


@require_POST
@login_required
def choose_pages(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Choose the pages of a drafted document to send."""
    ready = _own_attachments(request).filter(state=Attachment.State.READY, message=None)
    attachment = get_object_or_404(ready.select_related("file__content"), pk=pk)
    form = PagesForm(request.POST, attachment)
    if not form.is_valid():
        return refuse(str(form.errors["pages"][0]))
    return _apply_change(partial(_send_pages, pages=form.cleaned_data["pages"]), attachment)


def _send_pages(attachment: Attachment, pages: tuple[int, int]) -> None:
    attachment.choose_pages(pages)
    if attachment.content and attachment.content.undrawn_pages(*attachment.page_range):
        start_reading(attachment)


@require_POST
@login_required
@retry_on_integrity_error  # the same text was erased elsewhere at this moment
def replace_text(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Replace the text of a drafted plain text file, such as a long paste."""
    assert isinstance(request.user, User)
    attachment = get_object_or_404(_own_attachments(request).editable(), pk=pk)
    form = TextForm(request.POST)
    if not form.is_valid():
        return refuse(str(form.errors["text"][0]))
    text = form.cleaned_data["text"]
    try:
        hourly = worker().file_bytes[request.user.pk]
        reserve_room(request.user, len(text.encode()), hourly, in_place_of=attachment.size)
        return _apply_change(
            lambda changed: changed.replace_content(store_text(text, changed.user_id)), attachment
        )
    except Refused as refused:
        return refuse(str(refused))
    except OSError:
        return refuse(NOT_STORED, 507)


@require_POST
@login_required
def describe(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Set what an image shows, for those who can't see it."""
    attachment = get_object_or_404(_own_attachments(request), pk=pk)
    form = AltForm(request.POST)
    if not form.is_valid():
        return refuse(str(form.errors["alt"][0]))
    attachment.alt = form.cleaned_data["alt"]
    attachment.save(update_fields=["alt"])
    return HttpResponse(status=204)


def _apply_change(change, attachment: Attachment) -> HttpResponse:  # type: ignore[no-untyped-def]
    """Change an attachment and show that in every tab."""
    change(attachment)
    worker().draft_changed(attachment.user_id, attachment.conversation_id)
    return HttpResponse(status=204)


def _own_attachments(request: HttpRequest) -> AttachmentQuerySet:
    assert isinstance(request.user, User)
    return request.user.attachments.all()
