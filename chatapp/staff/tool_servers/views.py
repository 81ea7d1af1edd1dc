"""The pages on which administrators connect tool servers, see their tools and delete them."""

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp import tools
from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import AccessRule, ToolServer
from chatapp.server_interface import ViewThreads, run_in
from chatapp.staff.people.log import record
from chatapp.staff.tool_servers.forms import ServerForm
from chatapp.upstream.wire.requests.estimates import cost_of_tools

# Querying a tool server takes up to a minute.
TOOL_SERVER_THREADS = ViewThreads("tool-server", 2, at_once=2)


@require_GET
@administrators_only
def tool_servers(request: HttpRequest) -> HttpResponse:
    """List the tool servers."""
    context = {"servers": ToolServer.objects.order_by("-enabled", "name")}
    return render(request, "tool_servers/tool_servers.html", context)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def tool_server(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Add a tool server and list its tools, or show and change its settings."""
    server = ToolServer() if pk is None else get_object_or_404(ToolServer, pk=pk)
    form = ServerForm(request.POST or None, instance=server)
    if request.method != "POST" or not form.is_valid():
        return _page(request, server, form=form)
    before, after = form.changes
    if pk is None or after:
        with transaction.atomic():
            action = "toolserver.added" if pk is None else "toolserver.changed"
            record(request, action, form.save(), before=before if pk else {}, after=after)
    messages.success(request, "Saved.")
    if pk is None:
        return redirect("tools-of-server", server.pk, preserve_request=True)
    return redirect("tool-server", server.pk)


@run_in(TOOL_SERVER_THREADS)
@require_POST
@administrators_only
def offered_tools(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask a tool server for its tools and show them. May take up to a minute."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("tool-server", args=[pk]))
    server = get_object_or_404(ToolServer, pk=pk)
    with transaction.atomic():
        record(request, "toolserver.checked", server)
    offered, problem = async_to_sync(tools.list_server_tools)(server)
    cost = cost_of_tools([tool.as_request() for tool in offered])
    return _page(request, server, was_asked=True, offered=offered, problem=problem, cost=cost)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a tool server with its access rules. Chats keep its calls and their results."""
    server = get_object_or_404(ToolServer, pk=pk)
    if request.method == "POST":
        access = AccessRule.objects.filter(tool_server=server).as_record()
        before = {"access": access} if access else {}
        with transaction.atomic():
            record(request, "toolserver.deleted", server, before=before)
            server.delete()
        messages.success(request, f"{server} was deleted.")
        return redirect("tool-servers")
    return render(request, "tool_servers/delete.html", {"server": server})


def _page(request: HttpRequest, server: ToolServer, **context: Any) -> HttpResponse:
    stored = ToolServer.objects.filter(pk=server.pk).first()  # a refused form has changed `server`
    context = {"form": ServerForm(instance=stored), "was_asked": False, **context}
    context["server"] = stored
    return render(request, "tool_servers/tool_server.html", context)
