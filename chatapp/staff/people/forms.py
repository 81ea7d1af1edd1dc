"""Forms of the People pages."""

import re
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone

from chatapp.accounts.forms import UniqueLogin
from chatapp.accounts.links import sends_mail
from chatapp.models import Installation, Invitation, Upstream, User
from chatapp.models.accounts.access_rules import MAX_MODEL_LENGTH
from chatapp.models.policies.legal_holds import MAX_REASON_LENGTH
from chatapp.staff.people.queries import PeopleFilter
from chatapp.staff.pickers.fields import PersonField, PickerInput
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField

MAX_ADDRESSES = 50  # invited at once
NO_MAIL = "This needs email, to confirm addresses: set EMAIL_URL and restart the server."


class FilterForm(forms.Form):
    """Filters of the list; invalid values are ignored."""

    q = forms.CharField(label="Name or address", required=False, max_length=100)
    role = forms.ChoiceField(
        required=False,
        choices=[
            ("", "Any"),
            ("member", "Member"),
            ("reviewer", "Reviewer"),
            ("administrator", "Administrator"),
        ],
    )
    group = forms.ModelChoiceField(
        Group.objects.order_by("name"), required=False, empty_label="Any"
    )
    state = forms.ChoiceField(
        required=False,
        choices=[
            ("", "Any"),
            ("active", "Active"),
            ("off", "Deactivated"),
            ("never", "Never signed in"),
        ],
    )
    after = forms.CharField(required=False, max_length=150, widget=forms.HiddenInput)

    @property
    def is_unused(self) -> bool:
        """Whether the list shows everybody, from the beginning."""
        return not any(self.data.get(name) for name in self.fields)

    @property
    def criteria(self) -> PeopleFilter:
        self.is_valid()
        data = self.cleaned_data
        group: Group | None = data.get("group")
        return PeopleFilter(
            data.get("q", ""),
            data.get("role", ""),
            group.pk if group else None,
            data.get("state", ""),
            data.get("after", ""),
        )


class NameForm(UniqueLogin, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ["username", "first_name", "last_name", "email"]
        field_classes = {"username": UsernameField}
        help_texts = {"username": ""}  # errors explain what is not allowed


class RolesForm(forms.Form):
    administers = forms.BooleanField(required=False)
    reviews = forms.BooleanField(required=False)


class GroupsForm(forms.Form):
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.CheckboxSelectMultiple
    )


class HoldForm(forms.Form):
    """The form of a legal hold: what to hold, and why."""

    def __init__(self, *arguments: Any, person: User, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["conversation"].widget = PickerInput(
            "pick-chats", person.pk, placeholder="Everything: all chats, and what comes later"
        )

    reason = MultilineField(
        max_length=MAX_REASON_LENGTH,
        widget=forms.Textarea({"rows": 2}),
        help_text="Who asked for it, and in which matter. Administrators can read this.",
    )
    conversation = forms.UUIDField(
        label="Chat",
        required=False,
        help_text="Type a date or an ID. Leave this empty to hold everything this person has.",
    )
    field_order = ["conversation", "reason"]


class AddressesField(MultilineField):
    """Email addresses as people paste them: separated by anything, with names, or as CSV.

    A line may hold other words beside its addresses. The first line may be a heading.
    """

    def clean(self, value: Any) -> list[str]:
        addresses_by_key: dict[str, str] = {}
        for number, line in enumerate(super().clean(value).splitlines()):
            words = [word.strip("<>\"'()[]") for word in re.split(r"[\s,;]+", line)]
            addresses = [word for word in words if "@" in word]
            if any(words) and not addresses and number:
                raise ValidationError(f"“{line.strip()[:80]}” isn't an email address.")
            for address in addresses:
                addresses_by_key.setdefault(_check_address(address).casefold(), address)
        if value and value.strip() and not addresses_by_key:
            raise ValidationError("Enter email addresses, such as ann@example.org.")
        if len(addresses_by_key) > MAX_ADDRESSES:
            raise ValidationError(
                f"{len(addresses_by_key)} addresses are too many at once. "
                f"Invite {MAX_ADDRESSES} at most."
            )
        return list(addresses_by_key.values())


def _check_address(address: str) -> str:
    try:
        validate_email(address)
    except ValidationError:
        raise ValidationError(f"“{address[:80]}” isn't an email address. Correct it.") from None
    return address


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    """Invitations: one for each address, or one that anyone can use who has its link."""

    addresses = AddressesField(
        label="Email addresses",
        required=False,
        max_length=20_000,
        widget=forms.Textarea({"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    days = forms.IntegerField(label="Expires after (days)", min_value=1, max_value=365, initial=7)
    uses = forms.IntegerField(label="Number of people", min_value=1, max_value=1000, initial=1)

    class Meta:
        model = Invitation
        fields = ["administers", "reviews", "group", "days", "uses"]
        labels = {
            "administers": "As an administrator",
            "reviews": "As a reviewer, who reads chats as the policy allows",
        }
        help_texts = {"uses": "Of a link without an address."}

    field_order = ["addresses", "days", "group", "administers", "reviews", "uses"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["group"].queryset = Group.objects.order_by("name")  # type: ignore[attr-defined]
        self.fields["group"].empty_label = "None"  # type: ignore[attr-defined]
        self.fields["addresses"].help_text = "Paste one or several. Leave this empty " + (
            "to get a link to share yourself. Each link is sent to its address, and works for "
            "anyone who reads it."
            if sends_mail()
            else "for a link that anyone can use. This server sends no email: share the links "
            "yourself."
        )

    def clean_addresses(self) -> list[str]:
        addresses: list[str] = self.cleaned_data["addresses"]
        taken = [
            address for address in addresses if User.objects.filter(email__iexact=address).exists()
        ]
        if taken:
            raise ValidationError(f"There is already an account with {', '.join(taken[:5])}.")
        return addresses

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        has_role = data.get("administers") or data.get("reviews")
        if data.get("addresses") and data.get("uses", 1) > 1:
            self.add_error("uses", "An invitation to an address is for one person.")
        elif has_role and data.get("uses", 1) > 1:
            self.add_error("uses", "A link that gives a role is for one person.")
        return data

    def make(self, by: User) -> list[tuple[Invitation, str]]:
        """Save the invitations; return them with the secrets of their links."""
        draft = self.save(commit=False)
        expires_at = timezone.now() + timedelta(days=self.cleaned_data["days"])
        made = []
        for address in self.cleaned_data["addresses"] or [""]:
            invitation = Invitation(
                address=address,
                administers=draft.administers,
                reviews=draft.reviews,
                group=draft.group,
                uses=draft.uses,
                made_by=by,
                expires_at=expires_at,
            )
            token = invitation.make_token()
            invitation.save()
            made.append((invitation, token))
        return made


class GroupForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Group
        fields = ["name"]
        field_classes = {"name": VisibleCharField}
        error_messages = {"name": {"unique": "There is already a group with this name."}}


class MemberForm(forms.Form):
    """The person to add to a group."""

    person = PersonField(label="Add a person")


class ModelForm(forms.Form):
    """The model whose access to set."""

    provider = forms.ModelChoiceField(
        Upstream.objects.defer("api_key").order_by("name"), empty_label="Choose a provider"
    )
    model = forms.CharField(
        max_length=MAX_MODEL_LENGTH,
        widget=PickerInput("pick-models", provider="provider", placeholder="Name or ID"),
    )
    field_order = ["model", "provider"]


class AccessRuleForm(forms.Form):
    """The form of who may use an upstream, a model or a tool server."""

    to = forms.ChoiceField(
        label="Who may use it",
        choices=[("everybody", "Everybody"), ("groups", "Only members of these groups")],
        widget=forms.RadioSelect,
    )
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.CheckboxSelectMultiple
    )

    @property
    def chosen_groups(self) -> list[Group] | None:
        """The groups that may use it, possibly none; None means everybody."""
        is_for_everybody = self.cleaned_data["to"] == "everybody"
        return None if is_for_everybody else list(self.cleaned_data["groups"])


class AccessForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form of who may create an account, and whether staff must have a second factor."""

    class Meta:
        model = Installation
        fields = ["signup", "signup_domains", "staff_second_factor"]
        widgets = {"signup": forms.RadioSelect, "signup_domains": forms.Textarea({"rows": 3})}
        field_classes = {"signup_domains": MultilineField}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("signup") == Installation.SignUp.DOMAINS:
            if not sends_mail():
                self.add_error("signup", NO_MAIL)
            if not data.get("signup_domains", "").split():
                self.add_error("signup_domains", "Enter a domain, for example example.org.")
        return data
