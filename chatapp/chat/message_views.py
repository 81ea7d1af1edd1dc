"""Views of parts of one message: its text as it was written, its images, and its tokens."""

import logging
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import redirect_to_second_factor
from chatapp.models import Message, ReplyImage, User, audit
from chatapp.models.review.readable import readable_images

logger = logging.getLogger(__name__)


@require_GET
@login_required
def confidence(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A reply's tokens, each with the probability the model gave it."""
    assert isinstance(request.user, User)
    reply = get_object_or_404(Message.objects.for_user(request.user), pk=pk)
    tokens = [_describe_confidence(*token) for token in reply.logprobs or ()]
    return render(request, "chat/_confidence.html", {"tokens": tokens})


@require_GET
@never_cache
@login_required
def reply_markdown(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A reply's Markdown as the model wrote it, as far as it is stored."""
    assert isinstance(request.user, User)
    replies = Message.objects.for_user(request.user).filter(role=Message.Role.ASSISTANT)
    reply = get_object_or_404(replies.defer("logprobs"), pk=pk)
    return HttpResponse(reply.answer_text, content_type="text/markdown; charset=utf-8")


@require_GET
@never_cache
@login_required
def prompt_text(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A prompt's text as it was typed."""
    prompts = Message.objects.filter(role=Message.Role.USER, deleted_at=None)
    prompt = get_object_or_404(prompts, pk=pk, conversation__user=request.user)
    return HttpResponse(prompt.content, content_type="text/plain; charset=utf-8")


@require_GET
@login_required
def reply_image(request: HttpRequest, pk: UUID, position: int) -> HttpResponse:
    """An image that came with a reply. A reviewer's access is recorded in the audit log."""
    assert isinstance(request.user, User)
    images = readable_images(request.user).select_related("file")
    image = get_object_or_404(images, message=pk, position=position)
    if not request.user.conversations.filter(messages=pk).exists():
        if elsewhere := redirect_to_second_factor(request):
            return elsewhere
        with transaction.atomic():
            of = image.message.conversation
            audit.record("image.opened", actor=request.user, about=of)
    return send_reply_image(image)


def send_reply_image(image: ReplyImage) -> HttpResponse:
    try:
        data = image.read()
    except FileNotFoundError as error:
        logger.error(
            "%s of reply %s is lost: there is no file %s", image, image.message_id, image.file
        )
        raise Http404("The image is lost.") from error
    except OSError as error:
        logger.error("%s of reply %s can't be read: %s", image, image.message_id, error)
        return HttpResponse("The image can't be read at the moment.", status=503)
    headers = {
        "Cache-Control": "no-store",  # the browser's next user must not find it in the cache
        "Content-Disposition": "inline",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return HttpResponse(data, content_type=image.media_type, headers=headers)


def _describe_confidence(
    text: str, probability: float, top: list[tuple[str, float]]
) -> dict[str, object]:
    others = ", ".join(f"{other!r} {share:.1%}" for other, share in top)
    title = f"{probability:.1%}" + (f"; likeliest: {others}" if others else "")
    return {"text": text, "title": title, "band": min(9, int(probability * 10))}
