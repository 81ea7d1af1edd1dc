"""The read-only page of a shared chat, and its earlier messages."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString

from chatapp.chat.queries import parse_uuid
from chatapp.models import SharedChat, ThreadPage
from chatapp.models.sharing import shared_threads
from chatapp.rendering import fragments, pool
from chatapp.sharing.access import for_readers, get_reader


@for_readers
def page(request: HttpRequest, link: SharedChat) -> HttpResponse:
    """The newest messages, or those before the one in the query."""
    reader = get_reader(request)
    is_owner = reader is not None and reader.pk == link.user_id
    if not is_owner:
        link.record_use(reader)
    before = parse_uuid(request.GET.get("before", ""))
    view = shared_threads.before(link, before) if before else shared_threads.newest(link)
    context = {
        "link": link,
        "view": view,
        "thread": render_thread(view, link),
        "is_owner": is_owner,
        "reader": reader,
        "follows": link.is_live and not before,
        "hidden": hidden_parts(link),
    }
    return render(request, "sharing/page.html", context)


@for_readers
def earlier(request: HttpRequest, link: SharedChat, message: UUID) -> HttpResponse:
    """The messages before this one, to replace the link to them."""
    view = shared_threads.before(link, message)
    if not view.thread:
        raise Http404
    return render(
        request, "sharing/_thread.html", {"view": view, "thread": render_thread(view, link)}
    )


@for_readers
def nothing(_request: HttpRequest, _link: SharedChat, rest: str) -> HttpResponse:
    raise Http404


def render_thread(view: ThreadPage, link: SharedChat) -> SafeString:
    html_of_text = pool.render_texts(fragments.collect_texts(view.visible_messages))
    return fragments.shared_html(view.visible_messages, html_of_text, link)


def hidden_parts(link: SharedChat) -> str:
    """Return a sentence about what the page leaves out; empty if nothing."""
    parts = {
        "reasoning": link.shows_reasoning,
        "tool calls": link.shows_tools,
        "files": link.shows_files,
    }
    hidden = [name for name, is_shown in parts.items() if not is_shown]
    if not hidden:
        return ""
    *others, last = hidden
    words = f"{', '.join(others)} and {last}" if others else last
    return f"Not shown: {words}."
