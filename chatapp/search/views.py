"""The search page, and the same results in the chat's search dialog while the person types."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.models import User
from chatapp.search.commands import commands
from chatapp.search.forms import SearchForm
from chatapp.search.places import find_destinations
from chatapp.search.results import Results, find_results, load_recent
from chatapp.sessions.time_zones import parse_time_zone

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
    zone = parse_time_zone(request.COOKIES.get("utc-offset", ""))
    form = SearchForm(request.GET, zone)
    is_valid = form.is_valid()
    search_results = Results([])
    if is_valid:
        clean = form.cleaned_data
        search_results = find_results(
            request.user, form.search_query, clean["until"], clean["conversation"]
        )
    context: dict[str, object] = {
        "query": request.GET.get("q", "")[:1000],
        "results": search_results,
        "problem": form.problem,
        "zone": zone,
        "is_asked": is_valid and not form.search_query.is_empty,
        "in_dialog": "HX-Request" in request.headers,
        "in_conversation": form.cleaned_data.get("conversation"),
    }
    if not context["in_dialog"]:
        return render(request, "search/page.html", context)
    is_first = is_valid and form.search_query.is_empty
    has_filters = bool(
        form.search_query.marks
        or form.search_query.project
        or form.search_query.after
        or form.search_query.before
    )
    context["results"] = load_recent(request.user, RECENT) if is_first else search_results
    names_things = is_valid and not has_filters and not context["in_conversation"]
    terms = form.search_query.terms
    context["commands"] = commands(request.user, terms) if names_things else []
    context["places"] = find_destinations(request.user, terms) if names_things else []
    return render(request, "search/_results.html", context)
