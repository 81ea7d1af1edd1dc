"""Shared projects: the page on which the owner shares one, leaving one, and the chats of others."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.people_fields import PeopleField, suggested_people
from chatapp.chat.queries import parse_moment, parse_uuid
from chatapp.db.primary_keys import parse_pk
from chatapp.models import Conversation, Installation, Project, ProjectMember, Refused, User
from chatapp.models.accounts.audiences import EVERYONE
from chatapp.models.conversations.chats.project_chats import chats_of_others, move_out_of_projects
from chatapp.models.library.sharing import groups_to_share_with
from chatapp.realtime.worker import worker

PAGE = 60  # chats of others
AUTHOR = tuple(
    f"user__{name}" for name in ("username", "first_name", "last_name", "avatar_version")
)
MAX_NOTIFIED = 500  # people whose open tabs show a change of members at once
NAMED, ALL = "named", "everyone"
READ, ADD = "read", "add"
MISSING = "Name at least one person or choose a group."


class MembersForm(forms.Form):
    """With whom to share a project, and what they may do."""

    who = forms.ChoiceField(
        label="Share with", choices=[(NAMED, "People and groups"), (ALL, EVERYONE)], initial=NAMED
    )
    groups = forms.ModelMultipleChoiceField(
        Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
    )
    right = forms.ChoiceField(
        label="They", choices=[(READ, "Can read"), (ADD, "Can add chats")], initial=READ
    )

    def __init__(self, data: Any, owner: User) -> None:
        super().__init__(data)
        self.fields["people"] = PeopleField(
            by=owner,
            required=False,
            label="People",
            help_text="Usernames or email addresses, separated by commas.",
        )
        if (own := groups_to_share_with(owner)).exists():
            groups = self.fields["groups"]
            assert isinstance(groups, forms.ModelMultipleChoiceField)
            groups.queryset = own
        else:
            del self.fields["groups"]
        self.order_fields(["who", "people", "groups", "right"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        is_named = cleaned.get("who") == NAMED and not self.errors
        if is_named and not cleaned["people"] and not cleaned.get("groups"):
            self.add_error("people", MISSING)
        return cleaned

    @property
    def entries(self) -> list[ProjectMember]:
        cleaned = self.cleaned_data
        may_add = cleaned["right"] == ADD
        if cleaned["who"] == ALL:
            return [ProjectMember(may_add=may_add)]
        people = [ProjectMember(person=person, may_add=may_add) for person in cleaned["people"]]
        groups = cleaned.get("groups") or ()
        return [*people, *(ProjectMember(group=group, may_add=may_add) for group in groups)]


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def sharing(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Let the owner add members, or change or remove the entry that the button names."""
    assert isinstance(request.user, User)
    owner = request.user
    project: Project = get_object_or_404(owner.projects, pk=pk)
    form = MembersForm(None, owner)
    if request.method == "POST" and "remove" in request.POST:
        entry = project.members.filter(pk=parse_pk(request.POST["remove"])).first()
        if entry:
            remove(project, entry, owner)
            messages.success(request, f"{entry.name}: no longer a member.")
        return redirect(request.path)
    if request.method == "POST" and "change" in request.POST:
        _change_right(request, project, owner)
        return redirect(request.path)
    if request.method == "POST":
        form = MembersForm(request.POST, owner)
        if form.is_valid() and _is_shared(project, form, owner):
            messages.success(request, "Shared.")
            return redirect(request.path)
    members = project.members.select_related("person", "group")
    context = {
        "project": project,
        "form": form,
        "members": sorted(members, key=lambda member: (member.name, member.pk)),
        "colleagues": suggested_people(owner),
        "may_share": Installation.load().lets_share(owner),
    }
    return render(request, "chat/project_sharing.html", context)


@require_POST
@login_required
def leave(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Remove the entry that names the person. Their chats leave the project with them."""
    assert isinstance(request.user, User)
    project = get_object_or_404(Project.objects.open_to(request.user), pk=pk)
    if entry := project.members.filter(person=request.user).first():
        remove(project, entry, request.user)
    if project.is_open_to(request.user):
        messages.info(request, "The project is still shared with a group of yours, or everyone.")
        return redirect("project", pk)
    messages.success(request, "You left the project. Your chats in it are in your list now.")
    return redirect("chat")


@require_GET
@never_cache
@login_required
def others(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The next part of the list of chats of others in a project."""
    assert isinstance(request.user, User)
    project = get_object_or_404(Project.objects.open_to(request.user), pk=pk)
    context = {"project": project, **page_of_others(request, project)}
    return render(request, "chat/_project_others.html", context)


def page_of_others(request: HttpRequest, project: Project) -> dict[str, object]:
    """Return the chats of others, below the one that `before` and `id` name."""
    assert isinstance(request.user, User)
    chats = chats_of_others(project, request.user)
    used, pk = parse_moment(request.GET.get("before", "")), parse_uuid(request.GET.get("id", ""))
    if used and pk:
        chats = chats.after(used, pk)
    listed_chats = chats.select_related("user").only("title", "updated_at", *AUTHOR)
    rows: list[Conversation] = list(listed_chats[: PAGE + 1])
    return {"others": rows[:PAGE], "last": rows[PAGE - 1] if len(rows) > PAGE else None}


def remove(project: Project, entry: ProjectMember, by: User) -> None:
    """Remove an entry, and show that in the tabs of those concerned."""
    members = _collect_people([entry])
    authors = set(project.conversations.order_by().values_list("user", flat=True).distinct())
    project.unshare(entry, by)
    for person in {*members, *authors}:
        worker().list_changed(person)


def _change_right(request: HttpRequest, project: Project, owner: User) -> None:
    entry = project.members.filter(pk=parse_pk(request.POST["change"])).first()
    if entry is None:
        messages.error(request, "They are no longer a member. Share with them again.")
        return
    entry.may_add = request.POST.get("right") == ADD
    try:
        _share(project, [entry], owner)
    except Refused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{entry.name}: {entry.right.lower()}.")


def _is_shared(project: Project, form: MembersForm, owner: User) -> bool:
    try:
        _share(project, form.entries, owner)
    except Refused as error:
        form.add_error(None, str(error))
        return False
    return True


def _share(project: Project, entries: list[ProjectMember], owner: User) -> None:
    project.share(entries, owner)
    authors = move_out_of_projects(project=project)  # of those who can only read now
    for person in {*_collect_people(entries), *authors}:
        worker().list_changed(person)


def _collect_people(entries: Iterable[ProjectMember]) -> set[int]:
    """Return the people named, and members of groups, as far as they are few."""
    people = {entry.person_id for entry in entries if entry.person_id}
    groups = [entry.group_id for entry in entries if entry.group_id]
    group_members = User.objects.filter(groups__in=groups).values_list("pk", flat=True)[
        :MAX_NOTIFIED
    ]
    return people | set(group_members)
