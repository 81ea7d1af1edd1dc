"""Forms of the People pages."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.utils import timezone

from chatapp.accounts.forms import UniqueEmail
from chatapp.accounts.links import sends_mail
from chatapp.models import Installation, Invitation, User
from chatapp.models.policies.legal_holds import MAX_REASON_LENGTH
from chatapp.staff.people.queries import PeopleFilter
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField

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
    def parsed(self) -> PeopleFilter:
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


class NameForm(UniqueEmail, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ["first_name", "last_name", "email"]


class RolesForm(forms.Form):
    administers = forms.BooleanField(
        label="Administrator: manages people, models and limits, but can't read chats",
        required=False,
    )
    reviews = forms.BooleanField(
        label="Reviewer: reads chats as the policy allows, but manages nothing",
        required=False,
    )


class GroupsForm(forms.Form):
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.CheckboxSelectMultiple
    )


class HoldForm(forms.Form):
    """What to put under a legal hold, and why."""

    reason = MultilineField(
        max_length=MAX_REASON_LENGTH,
        widget=forms.Textarea({"rows": 2}),
        help_text="Who asked for it, and in which matter. Administrators can read this.",
    )
    conversation = forms.UUIDField(
        label="ID of a single chat",
        required=False,
        help_text="Leave this empty to hold everything this person has.",
    )


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    days = forms.IntegerField(label="Expires after (days)", min_value=1, max_value=365, initial=7)
    uses = forms.IntegerField(label="Number of people", min_value=1, max_value=1000, initial=1)

    class Meta:
        model = Invitation
        fields = ["address", "administers", "reviews", "group", "days", "uses"]
        labels = {
            "address": "Email address",
            "administers": "As an administrator",
            "reviews": "As a reviewer, who reads chats as the policy allows",
        }

    field_order = ["address", "uses", "days", "group", "administers", "reviews"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["group"].queryset = Group.objects.order_by("name")  # type: ignore[attr-defined]
        self.fields["group"].empty_label = "None"  # type: ignore[attr-defined]
        self.fields["address"].help_text = (
            "The link is sent there, and works for anyone who reads it. Leave this empty to get a "
            "link to share yourself."
            if sends_mail()
            else "Saved with the account. This server sends no email: share the link yourself."
        )

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"]
        if address and User.objects.filter(email__iexact=address).exists():
            raise ValidationError("There is already an account with this address.")
        return address

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        has_role = data.get("administers") or data.get("reviews")
        if data.get("address") and data.get("uses", 1) > 1:
            self.add_error("uses", "An invitation to an address is for one person.")
        elif has_role and data.get("uses", 1) > 1:
            self.add_error("uses", "A link that gives a role is for one person.")
        return data

    def make(self, by: User) -> tuple[Invitation, str]:
        """Save and return the invitation, and the secret of its link."""
        invitation: Invitation = self.save(commit=False)
        invitation.made_by = by
        invitation.expires_at = timezone.now() + timedelta(days=self.cleaned_data["days"])
        token = invitation.make_token()
        invitation.save()
        return invitation, token


class GroupForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Group
        fields = ["name"]
        field_classes = {"name": VisibleCharField}
        error_messages = {"name": {"unique": "There is already a group with this name."}}


class MemberForm(forms.Form):
    """The person to add to a group."""

    login = forms.CharField(label="Username or email address", max_length=254)

    def clean_login(self) -> User:
        person = User.by_login(self.cleaned_data["login"])
        if person is None:
            raise ValidationError("Nobody has this username or address.")
        return person


class GivenForm(forms.Form):
    """Who may use an upstream, a model or a tool server."""

    to = forms.ChoiceField(
        label="Who may use it",
        choices=[("everybody", "Everybody"), ("groups", "Only members of these groups")],
        widget=forms.RadioSelect,
    )
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.CheckboxSelectMultiple
    )

    @property
    def chosen(self) -> list[Group] | None:
        """The groups that may use it, possibly none; None means everybody."""
        is_for_everybody = self.cleaned_data["to"] == "everybody"
        return None if is_for_everybody else list(self.cleaned_data["groups"])


class AccessForm(forms.ModelForm):  # type: ignore[type-arg]
    """Who may create an account, and whether staff must have a second factor."""

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
