"""Receive uploads in parts. Refusals are sentences (422)."""

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from chatapp.models.files import storage
from chatapp.models.files.uploads import Upload
from chatapp.reading.contents import NOT_STORED

INCOMPLETE = "A part of the file arrived incomplete. Try again."


def receive_part(request: HttpRequest, upload: Upload) -> HttpResponse:
    """Store the part that begins at the `Upload-Offset`, and count it in `upload.received`.

    Responds with how much has been received, also (409) if that is not where the part begins.
    """
    offset, left = upload.received, upload.size - upload.received
    body = request.read()  # `request.body` would stay in memory until the next garbage collection
    if request.headers.get("Upload-Offset") != str(offset) or not left:
        return report_received(upload, 409)
    if len(body) != min(upload.part_bytes, left):
        return refuse(INCOMPLETE)
    try:
        storage.replace(upload.part_name(offset), body)
    except OSError:
        return refuse(NOT_STORED, 507)
    return report_received(upload) if upload.count_part(len(body)) else _report_overtaken(upload)


def _report_overtaken(upload: Upload) -> HttpResponse:
    """Respond to a part that another tab sent too, or whose file was removed meanwhile."""
    if current := type(upload)._default_manager.filter(pk=upload.pk).first():
        return report_received(current, 409)
    storage.delete(upload.part_name(upload.received))
    raise Http404("The file was removed.")


def report_received(upload: Upload, status: int = 200) -> HttpResponse:
    return JsonResponse({"received": upload.received}, status=status)


def refuse(sentence: str, status: int = 422) -> HttpResponse:
    return HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")
