"""The small files of a person's archive: their account, projects, shared links, imports, and what
staff opened of their chats."""

from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from allauth.socialaccount.models import SocialAccount

from chatapp.models import Avatar, Import, Memory, Project, SharedChat, User
from chatapp.staff.privacy.queries import all_staff_accesses


def archived_account(person: User) -> dict[str, Any]:
    """Return the contents of the files by name, to be written as JSON."""
    projects = person.projects.select_related("preset")
    return {
        "account.json": _account(person),
        "projects.json": [_project(project) for project in projects],
        "shared_links.json": [_shared_link(link) for link in SharedChat.objects.for_user(person)],
        "imports.json": [_import(job) for job in person.imports.all()],
        "opened.json": list(_staff_accesses(person)),
    }


def _picture(person: User) -> str | None:
    """Return the person's picture as a data URL."""
    picture = Avatar.objects.filter(user=person).first() if person.avatar_version else None
    if not picture:  # it may be removed meanwhile
        return None
    return f"data:{picture.media_type};base64,{b64encode(bytes(picture.data)).decode()}"


def _account(person: User) -> dict[str, Any]:
    memory = Memory.objects.filter(user=person)
    return {
        "username": person.username,
        "first_name": person.first_name,
        "last_name": person.last_name,
        "email": person.email,
        "roles": person.roles,
        "groups": [group.name for group in person.groups.order_by("name")],
        "joined_at": person.date_joined.isoformat(),
        "seen_at": _moment(person.seen_at),
        "signed_in_at": _moment(person.last_login),
        "picture": _picture(person),
        "finishes_replies": person.finishes_replies,
        "memory": memory.values("about", "answers", "is_on").first(),
        "organisation": [
            identity.extra_data for identity in SocialAccount.objects.filter(user=person)
        ],
        "devices": [
            {
                "name": device.name,
                "agent": device.agent,
                "address": device.address,
                "began_at": device.began_at.isoformat(),
                "seen_at": device.seen_at.isoformat(),
            }
            for device in person.devices.living()
        ],
        "access_tokens": [
            {
                "name": token.name,
                "last_characters": token.last_characters,
                "scopes": token.scopes,
                "created_at": token.created_at.isoformat(),
                "expires_at": _moment(token.expires_at),
                "last_used_at": _moment(token.last_used_at),
            }
            for token in person.access_tokens.all()
        ],
    }


def _project(project: Project) -> dict[str, Any]:
    return {
        "name": project.name,
        "instructions": project.instructions,
        "model": project.model,
        "preset": project.preset.name if project.preset else None,
        "created_at": project.created_at.isoformat(),
        "members": [
            {"person_or_group": member.name, "may_add": member.may_add}
            for member in project.members.select_related("person", "group")
        ],
    }


def _shared_link(link: SharedChat) -> dict[str, Any]:
    return {
        "id": str(link.pk),
        "conversation": str(link.conversation_id),
        "message": str(link.message_id) if link.message_id else None,
        "audience": link.audience_names,
        "is_public": link.is_public,
        "shows_reasoning": link.shows_reasoning,
        "shows_tools": link.shows_tools,
        "shows_files": link.shows_files,
        "shows_author": link.shows_author,
        "last_characters": link.last_characters,
        "created_at": link.created_at.isoformat(),
        "expires_at": _moment(link.expires_at),
        "last_used_at": _moment(link.last_used_at),
    }


def _import(job: Import) -> dict[str, Any]:
    return {
        "name": job.name,
        "source": job.source,
        "state": job.state,
        "phase": job.phase,
        "problem": job.problem,
        "created_at": job.created_at.isoformat(),
        "started_at": _moment(job.started_at),
        "ended_at": _moment(job.ended_at),
        "makes_projects": job.makes_projects,
        "is_for_team": job.is_for_team,
        "is_by_administrator": job.is_by_administrator,
        # The people of a database are others.
        "preview": {
            name: value for name, value in job.preview.items() if value and name != "people"
        },
        "result": {name: value for name, value in job.result.items() if value},
    }


def _staff_accesses(person: User) -> Iterator[dict[str, Any]]:
    for access in all_staff_accesses(person):
        yield {
            "at": access.at.isoformat(),
            "who": access.who,
            "what": access.words,
            "conversation": access.target,
            "reason": access.reason,
        }


def _moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
