"""The search page, and the same results in the chat's search dialog while the person types."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.models import User
from chatapp.search.commands import commands
from chatapp.search.forms import SearchForm
from chatapp.search.places import find_places
from chatapp.search.results import Results, recent, results
from chatapp.sessions.time_zones import zone_of

RECENT = 6


@require_GET
@never_cache
@login_required
def search(request: HttpRequest) -> HttpResponse:
    """Search for `q`.

    `until` continues where the former page ended. `conversation` limits the search to one
    conversation, with all its passages.
    """
    assert isinstance(request.user, User)
    zone = zone_of(request.COOKIES.get("utc-offset", ""))
    form = SearchForm(request.GET, zone)
    is_valid = form.is_valid()
    found = Results([])
    if is_valid:
        clean = form.cleaned_data
        found = results(request.user, form.wanted, clean["until"], clean["conversation"])
    context: dict[str, object] = {
        "query": request.GET.get("q", "")[:1000],
        "results": found,
        "problem": form.problem,
        "zone": zone,
        "is_asked": is_valid and not form.wanted.is_nothing,
        "in_dialog": "HX-Request" in request.headers,
        "in_conversation": form.cleaned_data.get("conversation"),
    }
    if not context["in_dialog"]:
        return render(request, "search/page.html", context)
    is_first = is_valid and form.wanted.is_nothing
    has_filters = bool(
        form.wanted.marks or form.wanted.project or form.wanted.after or form.wanted.before
    )
    context["results"] = recent(request.user, RECENT) if is_first else found
    names_things = is_valid and not has_filters and not context["in_conversation"]
    terms = form.wanted.terms
    context["commands"] = commands(request.user, terms) if names_things else []
    context["places"] = find_places(request.user, terms) if names_things else []
    return render(request, "search/_results.html", context)
