"""The fields that an authorised person posts for each action of `test_actions`, and its
preconditions.

Values may name objects of the house: `{conversation}`, `{upstream}`.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from uuid import uuid4

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.utils import timezone
from django.utils.http import urlsafe_base64_encode

from chatapp.accounts.links import ADDRESS_SALT
from chatapp.models import (
    Attachment,
    Conversation,
    Import,
    ImportFile,
    Installation,
    Invitation,
    LegalHold,
    Preset,
    Price,
    PromptGrant,
    RememberedValues,
    Retention,
    Review,
    ReviewLabel,
    ReviewPolicy,
    ReviewSample,
    ReviewView,
    SavedPrompt,
    Upstream,
    User,
)
from chatapp.models.library.sharing import Level
from chatapp.models.platform.lessons import (
    ConcessionLesson,
    ContextLesson,
    FieldsLesson,
    ImagesLesson,
)
from chatapp.staff.retention.forms import seal_preview
from chatapp.upstream.wire.requests.concessions import Concession
from tests.conftest import PASSWORD
from tests.security.house import House
from tests.support.stored import build_reply, end

NEW = "four wild geese at dawn"
NEW_TWICE = {"password1": NEW, "password2": NEW}
LIMIT = {"amount": "5", "measure": "tokens", "period": "month", "whose": "all"}
RULE = {"name": "All", "applies_to": "both", "kind": "words", "words": "alicepromptcanary"}
UPSTREAM = {
    "name": "Two",
    "base_url": "http://127.0.0.1:9/v1",
    "new_api_key": "sk-new",
    "dialect": "auto",
    "parameters": "{{}}",
    "silence_seconds": "300",
    "image_side": "1568",
}
TOOL_SERVER = {
    "name": "maps",
    "transport": "http",
    "url": "http://127.0.0.1:9/mcp",
    "new_secrets": "X-Key: new",
    "timeout_seconds": "30",
    "result_limit_kb": "100",
}
PRICE = {
    **{"upstream": "{upstream}", "model": "one", "holds_from": "2026-01-01"},
    **{"input": "1", "output": "1"},
}
SECRET = "JBSWY3DPEHPK3PXP"  # of an authenticator app

FIELDS: Mapping[str, Mapping[str, str]] = {
    "c/<uuid:pk>/rename/": {"title": "New"},
    "c/<uuid:pk>/settings/": {"system_prompt": "New"},
    "c/<uuid:pk>/share/": {"who": "everyone", "live": "on", "days": "7"},
    "chat-settings/": {"system_prompt": "New"},
    "preferences/memory/": {"about": "New"},
    "conversations/change/": {"action": "pin", "ids": "{conversation}"},
    "conversations/export/": {"ids": "{conversation}"},
    "projects/": {"name": "New"},
    "projects/<uuid:pk>/change/": {"name": "New"},
    "projects/<uuid:pk>/sharing/": {"who": "everyone", "right": "read"},
    "settings/shared/projects/stop/": {"entry": "{member}"},
    "prompts/new/": {"title": "New", "text": "New"},
    "prompts/<uuid:pk>/": {"title": "New", "text": "New", "opened": "1"},
    "prompts/<uuid:pk>/versions/": {"number": "1", "opened": "2"},
    "prompts/<uuid:pk>/sharing/": {"to": "everyone", "level": "1"},
    "prompts/<uuid:pk>/fill/": {"blank-0": "tea"},
    "presets/new/": {"name": "New", "icon": "code"},
    "presets/<uuid:pk>/": {"name": "New", "icon": "code", "opened": "1"},
    "presets/<uuid:pk>/versions/": {"number": "1", "opened": "2"},
    "presets/<uuid:pk>/sharing/": {"to": "everyone", "level": "1"},
    "settings/shared/stop/": {"kind": "savedprompt", "item": "{prompt}", "grant": "{grant}"},
    "replies/<uuid:pk>/feedback/": {"rating": "down"},
    "files/": {"name": "notes.txt", "size": "9"},
    "files/<uuid:pk>/pages/": {"pages": "1"},
    "files/<uuid:pk>/describe/": {"alt": "A field"},
    "files/<uuid:pk>/text/": {"text": "New"},
    "imports/upload/": {"name": "chats.json", "size": "9"},
    "accounts/login/": {"login": "alice", "password": PASSWORD},
    "accounts/signup/": {"email": "eve@example.org"},
    "accounts/password/change/": {"oldpassword": PASSWORD, **NEW_TWICE},
    "accounts/password/reset/": {"email": "alice@example.org"},
    "accounts/password/new/<str:named>/<str:token>/": {
        "new_password1": NEW,
        "new_password2": NEW,
    },
    "accounts/profile/": {"first_name": "Alice", "email": "alice@example.org"},
    "accounts/profile/picture/": {"remove": "on"},
    "accounts/tokens/": {"name": "New", "scopes": "chat", "days": "7"},
    "preferences/": {"finishes_replies": "on"},
    "accounts/reauthenticate/": {"password": PASSWORD},
    "accounts/reauthenticate/code/": {"code": "{code}"},
    "accounts/second-factor/keys/<int:pk>/name/": {"name": "New"},
    "invitation/<str:token>/": {"username": "eve", "email": "eve@example.org", **NEW_TWICE},
    "privacy/erase/": {"name": "alice"},
    "limits/new/": LIMIT,
    "limits/<int:pk>/": LIMIT,
    "limits/prices/new/": PRICE,
    "limits/prices/<int:pk>/": PRICE,
    "people/invitations/": {"days": "7", "uses": "1"},
    "people/access/": {"signup": "closed"},
    "people/groups/": {"name": "new"},
    "people/groups/<int:pk>/": {"name": "new"},
    "people/groups/<int:pk>/member/": {"person": "bob"},
    "people/given/<slug:kind>/<int:pk>/": {"to": "groups", "groups": "{group}"},
    "people/<int:pk>/name/": {"username": "alice", "first_name": "Alice"},
    "people/<int:pk>/roles/": {"administers": "on"},
    "people/<int:pk>/groups/": {"groups": "{group}"},
    "people/<int:pk>/revoke-token/": {"token": "{access_token}"},
    "people/<int:pk>/hold/": {"reason": "A matter"},
    "people/<int:pk>/end-hold/": {"hold": "{hold}"},
    "policy/": {"scope": "flagged"},
    "settings/": {"name": "New"},
    "retention/": {"conversation_days": "30", "seal": "{seal}"},
    "settings/models/order/": {"upstream": "{upstream}"},
    "settings/models/new/": UPSTREAM,
    "settings/models/<int:pk>/address/": UPSTREAM,
    "settings/models/<int:pk>/requests/": UPSTREAM | {"silence_seconds": "60"},
    "settings/models/<int:pk>/images/": {"model": "one"},
    "settings/models/<int:pk>/parameters/": {"model": "one", "temperature-max": "1"},
    "settings/models/<int:pk>/parameters/refusals/": {"model": "one", "field": "seed"},
    "settings/models/<int:pk>/fallbacks/": {
        **{"model": "one", "provider_1": "{spare}", "model_1": "two"},
    },
    "settings/models/<int:pk>/contexts/": {"model": "one"},
    "settings/models/<int:pk>/concessions/": {"model": "one", "concession": "tools"},
    "settings/models/<int:pk>/": {"names": "two", "to": "groups", "groups": "{group}"},
    "settings/tools/new/": TOOL_SERVER,
    "settings/tools/<int:pk>/": TOOL_SERVER,
    "review/search/": {"words": "rain", "reason": "A matter"},
    "review/bulk/#claim": {"act": "claim", "rows": "{conversation} 0"},
    "review/bulk/#release": {"act": "release", "rows": "{conversation} 1"},
    "review/bulk/#verdict": {"act": "verdict fine", "rows": "{conversation} 0"},
    "review/bulk/#label": {"act": "label", "label": "{label}", "rows": "{conversation} 0"},
    "review/<uuid:pk>/open/": {"reason": "A matter"},
    "review/<uuid:pk>/reveal/": {"reason": "A matter"},
    "review/<uuid:pk>/claim/": {"version": "0"},
    "review/<uuid:pk>/release/": {"version": "1"},
    "review/<uuid:pk>/verdict/": {"version": "0", "verdict": "fine"},
    "review/<uuid:pk>/labels/": {"version": "0", "labels": "{label}"},
    "review/<uuid:pk>/notes/": {"version": "0", "text": "Look", "message": "{reply}"},
    "review/views/save/": {"name": "new", "model": "one"},
    "review/samples/draw/": {"name": "new", "share": "100"},
    "review/rules/add/": RULE,
    "review/rules/add/#try": {**RULE, "reason": "A matter"},
    "review/rules/<int:pk>/": RULE,
    "review/rules/<int:pk>/switch/": {"off": ""},
    "review/labels/": {"name": "new"},
}


def _get_alice() -> User:
    return User.objects.get(username="alice")


def _link(house: House) -> None:
    house.objects["named"] = urlsafe_base64_encode(str(_get_alice().pk).encode())
    house.objects["token"] = default_token_generator.make_token(_get_alice())


def _address(house: House) -> None:
    claims = [_get_alice().pk, _get_alice().email, "alice@example.net"]
    house.objects["token"] = signing.dumps(claims, salt=ADDRESS_SALT)


def _invitation(house: House) -> None:
    invitation = Invitation.objects.get()
    house.objects["token"] = invitation.make_token()
    invitation.save()


def _app(house: House) -> None:
    TOTP.activate(_get_alice(), SECRET)
    now = next(iter(yield_hotp_counters_from_time()))
    house.objects["code"] = format_hotp_value(hotp_value(SECRET, now))


def _passkey(house: House) -> None:
    key = Authenticator.objects.create(user=_get_alice(), type="webauthn", data={"name": "Hers"})
    house.objects["key"] = key.pk


def _claim(house: House) -> None:
    Review.get_for_update(house.conversation.pk).claim(User.objects.get(username="rita"))


def _hold(house: House) -> None:
    olive = User.objects.get(username="olive")
    house.objects["hold"] = LegalHold.begin(_get_alice(), None, "A matter", olive).pk


def _spare(house: House) -> None:
    house.objects["spare"] = Upstream.objects.create(name="B", base_url="http://b/").pk


def _prompt(house: House) -> SavedPrompt:
    return SavedPrompt.objects.get(pk=str(house.objects["prompt"]))


def _preset(house: House) -> Preset:
    return Preset.objects.get(pk=str(house.objects["preset"]))


def _grant(house: House) -> None:
    grant = PromptGrant.objects.create(target=_prompt(house), level=Level.USE)
    house.objects["grant"] = grant.pk


def _import(house: House, *, has_import: bool = True, **fields: object) -> None:
    """Give an import the file that it needs, and these fields."""
    ImportFile.objects.filter(pk=str(house.objects["import_file"])).update(received=9)
    mine = Import.objects.filter(pk=str(house.objects["import"]))
    if has_import:
        mine.update(**fields)
    else:
        mine.delete()


def _member(house: House) -> None:
    """Make Alice a member of a project of Olive's, with a chat in it."""
    olive = User.objects.get(username="olive")
    project = olive.projects.create(name="p")
    house.objects["member"] = project.members.create(person=_get_alice()).pk
    house.objects["project"] = project.pk
    upstream = Upstream.objects.get()
    chat = olive.conversations.create(title="c", project=project)
    _, reply = chat.ask(uuid4(), "Hi", None, upstream, "one", uuid4())
    end(reply, build_reply("Ho"))
    house.objects["chat"] = chat.pk


NEEDED: Mapping[str, Callable[[House], object]] = {
    "c/<uuid:pk>/keep/": lambda house: Conversation.objects.update(is_temporary=True),
    "files/<uuid:pk>/text/": lambda house: Attachment.objects.filter(
        pk=house.files["document"]
    ).update(message=None, conversation=house.conversation),
    "imports/read/<uuid:batch>/": lambda house: _import(house, has_import=False),
    "imports/<uuid:pk>/start/": lambda house: _import(house, phase="preview"),
    "imports/<uuid:pk>/cancel/": lambda house: _import(house, phase="reading", state="waiting"),
    "imports/<uuid:pk>/retry/": lambda house: _import(house, phase="reading", state="failed"),
    "prompts/forget/": lambda house: RememberedValues.remember(_get_alice(), _prompt(house), {}),
    "prompts/<uuid:pk>/restore/": lambda house: _prompt(house).discard(),
    "prompts/<uuid:pk>/versions/": lambda house: _prompt(house).change(_get_alice(), 1, text="Two"),
    "presets/<uuid:pk>/restore/": lambda house: _preset(house).discard(),
    "presets/<uuid:pk>/versions/": lambda house: _preset(house).change(_get_alice(), 1, name="Two"),
    "settings/shared/stop/": _grant,
    "settings/shared/projects/stop/": _member,
    "projects/<uuid:pk>/leave/": _member,
    "projects/<uuid:pk>/c/<uuid:chat>/copy/": _member,
    "accounts/signup/": lambda house: Installation.objects.update(
        signup="domains", signup_domains="example.org"
    ),
    "accounts/password/new/<str:named>/<str:token>/": _link,
    "accounts/address/<str:token>/": _address,
    "accounts/reauthenticate/code/": _app,
    "accounts/second-factor/app/end/": _app,
    "accounts/second-factor/codes/new/": _app,
    "accounts/second-factor/keys/<int:pk>/name/": _passkey,
    "accounts/second-factor/keys/<int:pk>/end/": _passkey,
    "invitation/<str:token>/": _invitation,
    "people/<int:pk>/second-factor/": _app,
    "people/<int:pk>/end-hold/": _hold,
    "retention/": lambda house: house.objects.update(seal=seal_preview(Retention(30, None, None))),
    "settings/models/<int:pk>/contexts/": lambda house: Upstream.learn(
        int(str(house.objects["upstream"])), "one", [ContextLesson(8192)]
    ),
    "settings/models/<int:pk>/concessions/": lambda house: Upstream.learn(
        int(str(house.objects["upstream"])), "one", [ConcessionLesson(Concession.TOOLS)]
    ),
    "settings/models/<int:pk>/images/": lambda house: Upstream.learn(
        int(str(house.objects["upstream"])), "one", [ImagesLesson()]
    ),
    "settings/models/<int:pk>/parameters/refusals/": lambda house: Upstream.learn(
        int(str(house.objects["upstream"])), "one", [FieldsLesson(("seed",))]
    ),
    "settings/models/<int:pk>/fallbacks/": _spare,
    "settings/models/order/": lambda house: Upstream.objects.create(name="A", base_url="http://a/"),
    "review/bulk/#release": _claim,
    "review/<uuid:pk>/release/": _claim,
    "review/<uuid:pk>/reveal/": lambda house: hold_to(house, "all", hides_names=True),
}


def furnish(house: House) -> None:
    """Add objects that not every house has but some action needs."""
    adam, rita = (User.objects.get(username=name) for name in ("adam", "rita"))
    User.objects.filter(username="alice").update(email="alice@example.org")
    tomorrow = timezone.now() + timedelta(days=1)
    made = {
        "invitation": Invitation.objects.create(made_by=adam, expires_at=tomorrow),
        "label": ReviewLabel.objects.create(name="l"),
        "price": Price.objects.create(
            upstream=Upstream.objects.get(), model="two", input=1, output=1
        ),
        "sample": ReviewSample.objects.create(maker=rita, name="s", filters={}, share=1, size=1),
        "view": ReviewView.objects.create(maker=rita, name="v", filters={}),
    }
    house.objects |= {name: row.pk for name, row in made.items()}


def hold_to(house: House, scope: str, *, hides_names: bool = False) -> None:
    """Set the policy that the conversation was begun under."""
    begins_at = house.conversation.created_at - timedelta(days=1)
    ReviewPolicy.objects.create(scope=scope, hides_names=hides_names, begins_at=begins_at)


def build_fields(action: str, house: House) -> dict[str, str]:
    """Prepare what the action needs, and return what its form sends."""
    if needed := NEEDED.get(action):
        needed(house)
    ids = {**house.objects, "conversation": house.conversation.pk, "reply": house.reply.pk}
    sent: Mapping[str, str] = FIELDS.get(action, {})
    return {name: value.format(**ids) for name, value in sent.items()}
