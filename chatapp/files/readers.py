"""Who may read an attached file: its owner, and reviewers of its chat, whose access is recorded."""

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from chatapp.accounts.staff import to_second_factor
from chatapp.models import Attachment, FileContent, Opening, ReviewPolicy, User, audit
from chatapp.models.review.readable import readable_files


def for_readers(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Pass the attachment, without its text, to the view if the person may read it."""

    @require_safe
    @login_required
    @wraps(view)
    def served(request: HttpRequest, pk: UUID, **rest: object) -> HttpResponseBase:
        assert isinstance(request.user, User)
        related = readable_files(request.user).defer("file__content__text")
        related = related.select_related("file__content__thumbnail", "message__conversation")
        attachment = get_object_or_404(related, pk=pk)
        if attachment.user_id != request.user.pk:
            if elsewhere := to_second_factor(request):
                return elsewhere
            assert attachment.message
            with transaction.atomic():
                about = attachment.message.conversation
                audit.record("file.opened", actor=request.user, about=about)
        response = view(request, attachment, **rest)
        # The browser's next user must not find it in the cache. Moving between chats requests
        # nothing again, because a browser keeps the images of a page that is not left; reloading a
        # page with 24 thumbnails took 0.36 s.
        response["Cache-Control"] = "no-store"
        return response

    return served


def hides_author(request: HttpRequest, attachment: Attachment) -> bool:
    """Return whether this is a document of someone whose name the policy hides from the reader."""
    assert isinstance(request.user, User)
    is_image = attachment.content and attachment.content.kind == FileContent.Kind.IMAGE
    if is_image or attachment.user == request.user or attachment.message is None:
        return False  # the app has removed the metadata of images
    conversation = attachment.message.conversation
    opening = Opening.living(request.user, conversation)
    is_revealed = opening is not None and opening.revealed_at is not None
    return ReviewPolicy.at(conversation.created_at).hides_names and not is_revealed
