"""Adds to the house one object of every model that has texts."""

from datetime import timedelta

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone

from chatapp.models import (
    AccessRule,
    Fallback,
    FileSet,
    Invitation,
    LegalHold,
    Limit,
    ModelChoice,
    Preset,
    PresetFile,
    PresetVersion,
    Price,
    RememberedValues,
    RequestSettings,
    Review,
    ReviewLabel,
    ReviewSample,
    ReviewSearch,
    ReviewView,
    SavedPrompt,
    StoredFile,
    Upstream,
    User,
)
from tests.security.house import House


@transaction.atomic
def furnish(house: House) -> None:
    alice, rita, olive = (User.objects.get(username=name) for name in ("alice", "rita", "olive"))
    tomorrow = timezone.now() + timedelta(days=1)
    alice.groups.add(Group.objects.get())
    EmailAddress.objects.create(user=alice, email="alice@example.org")
    SocialAccount.objects.create(user=alice, provider="oidc", uid="1")
    Authenticator.objects.create(user=alice, type=Authenticator.Type.TOTP, data={})
    LegalHold.begin(alice, house.conversation.pk, "A matter", olive)
    document = StoredFile.objects.get(content__kind="document")
    files = FileSet.store([PresetFile(name="f", size=9, tokens=1, file=document)])
    for rows in (Preset.objects.all(), PresetVersion.objects.all()):
        rows.update(file_set=files)
    RequestSettings.objects.update(preset_version=PresetVersion.objects.get())
    prompt = SavedPrompt.objects.get()
    RememberedValues.remember(alice, prompt, {"topic": "tea"})
    review = Review.get_for_update(house.conversation.pk)
    review.note("Look", rita, house.reply.pk)
    review.label([ReviewLabel.objects.create(name="l")])
    ReviewView.objects.create(maker=rita, name="v", filters={})
    ReviewSample.objects.create(maker=rita, name="s", filters={}, share=1, size=1)
    house.objects["search"] = ReviewSearch.begin(rita, "words", "A matter").pk
    Invitation.objects.create(token_hash="0" * 64, made_by=olive, expires_at=tomorrow)
    upstream = Upstream.objects.get()
    AccessRule.objects.create(upstream=upstream, model="two").groups.add(Group.objects.get())
    Fallback.replace(upstream, "two", [ModelChoice(upstream.pk, "one")])
    Price.objects.create(upstream=upstream, model="two", input=1, output=1)
    Limit.objects.create(measure="tokens", cap=10**9, upstream=upstream, model="two")
