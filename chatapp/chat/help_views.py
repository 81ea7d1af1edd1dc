"""Views of the help pages and of the keyboard shortcuts."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import administrators_only
from chatapp.help.sections import HelpPage, for_administrators, for_everyone
from chatapp.rendering import pool


@require_GET
@never_cache
@login_required
def shortcuts(request: HttpRequest) -> HttpResponse:
    """The sheet of keyboard shortcuts, loaded when it is first opened."""
    return render(request, "chat/_shortcuts.html")


@require_GET
@login_required
def help_page(request: HttpRequest) -> HttpResponse:
    """The help for everyone."""
    return _help(request, for_everyone(), "Help")


@require_GET
@administrators_only
def administrators_help(request: HttpRequest) -> HttpResponse:
    return _help(request, for_administrators(), "Help for administrators")


def _help(request: HttpRequest, page: HelpPage, title: str) -> HttpResponse:
    bodies = [page.introduction, *(section.body for section in page.sections)]
    html_of = pool.render_texts(bodies)
    context = {
        "title": title,
        "introduction": html_of(page.introduction),
        "sections": [(section, html_of(section.body)) for section in page.sections],
    }
    return render(request, "help.html", context)
