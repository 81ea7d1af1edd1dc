"""Print as JSON what people can see of an installation: `-c "$(cat show.py)" KEYS`.

It runs with the code of any version in its installation, so it uses only what all versions have and
names nothing by a primary key. KEYS is a JSON object of the secrets that the story was shown once.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import django

django.setup()

from django.apps import apps  # noqa: E402 - models are there only now
from django.contrib.auth.models import Group  # noqa: E402
from django.db.models import Manager, Sum  # noqa: E402
from django.http.response import HttpResponseBase  # noqa: E402
from django.test import Client  # noqa: E402

from chatapp.models import User  # noqa: E402

PASSWORD = "correct horse battery"
RENAMED = {
    "Allowance": "BudgetAccount",
    "Share": "BudgetHold",
    "Hold": "TemporaryHold",
    "ConversationFact": "ConversationFacet",
}
VOID = {"br", "hr", "img", "input", "link", "meta", "source", "wbr", "path", "circle", "use"}
Show = Callable[[Any], object]
Json = dict[str, Any]


def main() -> None:
    keys = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    # Signing in to look at pages changes the database, so that comes last.
    sections: Json = {
        "rows": {RENAMED.get(name, name): manager.count() for name, manager in MODELS.items()},
        "audit log": rows("AuditEvent", audit_event, "sequence"),
        **tables(),
        "people": rows("User", person, "username"),
        "groups": sorted(Group.objects.values_list("name", flat=True)),
        "usage": usage(),
        "chats": rows("Conversation", chat, "user__username", "title", "created_at"),
        "shared pages": shared_pages(keys),
        "API": api(keys),
    }
    print(json.dumps(sections, default=str))


MODELS: dict[str, Manager[Any]] = {
    model.__name__: model._default_manager for model in apps.get_app_config("chatapp").get_models()
}
# The fields to show of tables, as far as a version has them.
TABLES: dict[str, str] = {
    "Upstream": (
        "name base_url api_key enabled offered_models dialect parameters offers_tools offers_clock "
        "drains_stopped silence_seconds model_names model_descriptions position image_side "
        "model_parameters model_concessions"
    ),
    "AccessRule": "upstream model tool_server groups",
    "ToolServer": "name transport url command enabled asks_first always_asks unasked_tools",
    "Suggestion": "text position",
    "Fallback": "model to_upstream to_model position",
    "Price": (
        "upstream model source holds_from input cached cache_write output reasoning context_tokens"
    ),
    "Limit": "measure cap period user group upstream model is_each whom_to_ask",
    "BudgetAccount": "limit user since spent held overrun",
    "BudgetHold": "held spent since overrun settled_at",
    "Installation": (
        "signup signup_domains title_model default_upstream default_model notice name accent "
        "conversation_days file_days image_days audit_detail_days who_shares allows_public_links "
        "share_days who_uses_api closing"
    ),
    "Invitation": "address administers reviews group uses used revoked_at made_by",
    "Device": "user address began_at",
    "LegalHold": "user conversation reason set_by set_at ended_by ended_at",
    "ReviewPolicy": "scope names_reader hides_names begins_at set_by",
    "ReviewRule": "name kind applies_to text least is_on begins_at",
    "RuleFinding": "rule conversation found_at",
    "Review": "conversation verdict decided_by decided_at claimed_by labels",
    "ReviewNote": "author text written_at",
    "ReviewView": "maker name is_shared",
    "ReviewSample": "maker name share size drawn_at",
    "SampleMember": "sample conversation",
    "Opening": "reviewer conversation reason opened_at revealed_at",
    "ReviewSearch": "reviewer words reason",
    "ReviewLabel": "name",
    "ConversationFacet": "conversation fact",
    "Project": "user name instructions upstream model created_at preset",
    "ProjectMember": "project target group may_add",
    "Preset": (
        "owner name icon description system_prompt upstream model parameters tools suggestions "
        "takes_memory deleted_at"
    ),
    "PresetVersion": "target number author name system_prompt",
    "PresetGrant": "target group level",
    "PresetFile": "name size tokens",
    "SavedPrompt": "owner title command text deleted_at",
    "PromptVersion": "target number author title text",
    "PromptGrant": "target group level",
    "RememberedValues": "user prompt values",
    "Memory": "user about answers is_on",
    "ContextCut": "conversation summary model is_edited is_lifted",
    "ChatSettings": "conversation system_prompt parameters by_model allowed_tools off_servers",
    "AccessToken": "user name last_characters scopes created_at expires_at",
    "SharedChat": (
        "conversation last_characters is_public shows_reasoning shows_tools shows_files "
        "shows_author created_at expires_at"
    ),
    "SharedChatAudience": "person group",
    "ChatExport": "user state format scope suffix",
    "Import": "user state name source result",
    "ImportedChat": "message_count is_whole",
    "TemporaryHold": "conversation",
}


def tables() -> Json:
    rows_by_table: Json = {}
    for name, fields in TABLES.items():
        if manager := find_manager(name):
            there = {field.name for field in manager.model._meta.get_fields()}
            field_names = [field for field in fields.split() if field in there]
            listed = [values(row, field_names) for row in manager.all()]
            rows_by_table[name] = sorted(listed, key=lambda row: json.dumps(row, default=str))
    return rows_by_table


def find_manager(name: str) -> Manager[Any] | None:
    """Return the manager of a model by its newest name."""
    names = [name, *(old for old, new in RENAMED.items() if new == name)]
    return next((MODELS[candidate] for candidate in names if candidate in MODELS), None)


def rows(model: str, show: Show, *order: str) -> list[object]:
    return [show(row) for row in MODELS[model].order_by(*order)]


def values(row: Any, fields: Iterable[str]) -> Json:
    """Return the values of a row, with rows that it refers to by their names."""
    return {name: plain(getattr(row, name)) for name in fields}


def plain(value: Any) -> object:
    if hasattr(value, "all"):
        return sorted(map(find_name, value.all()))
    return find_name(value) if hasattr(value, "_meta") else value


def find_name(row: Any) -> str:
    for field in ("username", "name", "title"):
        if hasattr(row, field):
            return str(getattr(row, field))
    return str(getattr(row, "cap", type(row).__name__))


def person(user: Any) -> Json:
    fields = "username email first_name last_name is_staff is_superuser is_active reviews"
    there = values(user, [*fields.split(), "groups", "date_joined"])
    return there | {"can sign in": user.check_password(PASSWORD)}


def chat(conversation: Any) -> Json:
    fields = "user title titled_by project is_pinned archived_at trashed_at is_temporary is_unread"
    messages = list(conversation.messages.order_by("sequence"))
    numbers = {message.pk: number for number, message in enumerate(messages)}
    return {
        **values(conversation, [*fields.split(), "created_at", "updated_at"]),
        "shown up to": numbers.get(conversation.active_leaf),
        "messages": [describe_message(message, numbers) for message in messages],
        "page": page(conversation),
    }


def describe_message(message: Any, numbers: Mapping[Any, int]) -> Json:
    fields = (
        "role content reasoning refusal ending finish_reason upstream model error slot choice "
        "is_continuation created_at deleted_at time_to_first_token duration is_flagged"
    )
    rounds = [
        [
            part.content,
            [[run.name, run.arguments, str(run.state), run.result] for run in part.tool_runs],
        ]
        for part in message.rounds
    ]
    return {
        **values(message, fields.split()),
        "parent": numbers.get(message.parent_id),
        "rounds": rounds,
        "images": [image(picture) for picture in message.images.order_by("position")],
        "files": [attachment(file) for file in list_files(message)],
        "feedback": feedback(message),
    }


def image(image: Any) -> Json:
    client = signed_in(image.message.conversation.user)
    path = f"/replies/{image.message_id}/images/{image.position}/"
    return {"media_type": image.media_type, "bytes": digest(client.get(path))}


def list_files(message: Any) -> Iterable[Any]:
    return message.attachments.order_by("position") if hasattr(message, "attachments") else ()


def attachment(attachment: Any) -> Json:
    client = signed_in(attachment.user)
    fields = "name size state alt tokens first_page last_page"
    there = values(attachment, fields.split())
    text = getattr(getattr(attachment.file, "content", None), "text", "")
    return there | {"text": text, "bytes": digest(client.get(f"/files/{attachment.pk}/"))}


def feedback(message: Any) -> object:
    rating = getattr(message, "feedback", None)
    return [rating.rating, rating.note] if rating else None


def usage() -> list[object]:
    """Return what each person's models used, by day."""
    counts = "prompt_tokens completion_tokens total_tokens cached_tokens reasoning_tokens cost"
    by = ("user_id", "upstream_name", "model", "day", "ending", "provenance")
    names = dict(User.objects.values_list("pk", "username"))
    sums = MODELS["Usage"].values(*by).annotate(**{count: Sum(count) for count in counts.split()})
    listed = [{**row, "user_id": names.get(row["user_id"])} for row in sums]
    return sorted(listed, key=lambda row: json.dumps(row, default=str))


def audit_event(event: Any) -> list[object]:
    detail = getattr(event, "detail", None)
    return [
        event.sequence,
        event.at,
        event.action,
        json.loads(detail.content or "null") if detail else None,
    ]


def page(conversation: Any) -> list[list[str]]:
    """Return what its person reads: the ending and the answer of each reply of the branch."""
    response = signed_in(conversation.user).get(f"/c/{conversation.pk}/")
    if response.status_code != 200:
        return [[str(response.status_code)]]
    return read_replies(response)


def shared_pages(keys: Json) -> Json:
    client = signed_in(User.objects.get(username="ben"))
    paths = {name: path for name, path in keys.items() if path.startswith("/s/")}
    return {name: read_replies(client.get(path)) for name, path in paths.items()}


def api(keys: Json) -> Json:
    """Return the models that each token is shown."""
    tokens = {name: token for name, token in keys.items() if not token.startswith("/")}
    return {name: models_for(token) for name, token in tokens.items()}


def models_for(token: str) -> object:
    headers = {"host": "localhost", "authorization": f"Bearer {token}"}
    return Client(headers=headers).get("/api/v1/models").status_code


clients: dict[Any, Client] = {}


def signed_in(user: Any) -> Client:
    if user.pk not in clients:
        clients[user.pk] = Client(headers={"host": "localhost"})
        clients[user.pk].force_login(user)
    return clients[user.pk]


def digest(response: HttpResponseBase) -> str:
    assert response.status_code == 200, response.status_code
    return sha256(b"".join(response)).hexdigest()[:16]


def read_replies(response: Any) -> list[list[str]]:
    assert response.status_code == 200, response.status_code
    reader = ReplyReader()
    reader.feed(response.content.decode())
    return [[ending, " ".join(text.split())] for ending, text in reader.replies]


class ReplyReader(HTMLParser):
    """Reads the ending and the answer of each reply on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[list[str]] = []
        self._depth = 0  # in an answer

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if "data-reply" in attributes or (tag == "article" and attributes.get("class") == "reply"):
            self.replies.append([attributes.get("data-ending") or "", ""])
        if self._depth and tag not in VOID:
            self._depth += 1
        elif attributes.get("data-region") == "answer":
            self._depth = 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag not in VOID:
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth and self.replies:
            self.replies[-1][1] += data


main()
