"""What administrators send of people: each error says what to do."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.utils import timezone

from chatapp.accounts.forms import UniqueEmail
from chatapp.accounts.links import sends_mail
from chatapp.models import Installation, Invitation, User
from chatapp.models.legal_holds import LONGEST_REASON
from chatapp.staff.people.queries import Asked
from chatapp.text.multiline import LinesField
from chatapp.text.visible import SeenField

NO_MAIL = (
    "This needs mail, by which addresses are confirmed: set EMAIL_URL, and restart the server."
)


class FilterForm(forms.Form):
    """Of the list. What it does not know is no wish."""

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
    def asked(self) -> Asked:
        self.is_valid()
        wanted = self.cleaned_data
        group: Group | None = wanted.get("group")
        return Asked(
            wanted.get("q", ""),
            wanted.get("role", ""),
            group.pk if group else None,
            wanted.get("state", ""),
            wanted.get("after", ""),
        )


class NameForm(UniqueEmail, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ["first_name", "last_name", "email"]


class RolesForm(forms.Form):
    administers = forms.BooleanField(
        label="Administrator: sets up people, models and limits, and reads no conversations",
        required=False,
    )
    reviews = forms.BooleanField(
        label="Reviewer: reads conversations as the policy allows, and sets up nothing",
        required=False,
    )


class GroupsForm(forms.Form):
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.CheckboxSelectMultiple
    )


class HoldForm(forms.Form):
    """What must be kept, and why."""

    reason = LinesField(
        max_length=LONGEST_REASON,
        widget=forms.Textarea({"rows": 2}),
        help_text="Who asks for it, and in which matter. Administrators read it.",
    )
    conversation = forms.UUIDField(
        label="One conversation alone, by its id",
        required=False,
        help_text="Left empty, all that this person has is held.",
    )


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    days = forms.IntegerField(label="Good for (days)", min_value=1, max_value=365, initial=7)
    uses = forms.IntegerField(label="For how many people", min_value=1, max_value=1000, initial=1)

    class Meta:
        model = Invitation
        fields = ["address", "administers", "reviews", "group", "days", "uses"]
        labels = {
            "address": "E-mail address",
            "administers": "As an administrator",
            "reviews": "As a reviewer, who reads conversations as the policy allows",
        }

    field_order = ["address", "uses", "days", "group", "administers", "reviews"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["group"].queryset = Group.objects.order_by("name")  # type: ignore[attr-defined]
        self.fields["group"].empty_label = "None"  # type: ignore[attr-defined]
        self.fields["address"].help_text = (
            "The link is sent there, for whoever reads it. Left empty, the link is shown for "
            "you to pass on."
            if sends_mail()
            else "Kept with the account. This server sends no mail: pass the link on yourself."
        )

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"]
        if address and User.objects.filter(email__iexact=address).exists():
            raise ValidationError("There is an account with this address already.")
        return address

    def clean(self) -> dict[str, Any]:
        wanted = super().clean() or {}
        has_role = wanted.get("administers") or wanted.get("reviews")
        if wanted.get("address") and wanted.get("uses", 1) > 1:
            self.add_error("uses", "An invitation for one address is for one person.")
        elif has_role and wanted.get("uses", 1) > 1:
            self.add_error("uses", "A link that gives a role is for one person.")
        return wanted

    def make(self, by: User) -> tuple[Invitation, str]:
        """The stored invitation, and the secret of its link."""
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
        field_classes = {"name": SeenField}
        error_messages = {"name": {"unique": "There is a group of this name already."}}


class MemberForm(forms.Form):
    """Who is put into a group."""

    login = forms.CharField(label="Username or e-mail address", max_length=254)

    def clean_login(self) -> User:
        person = User.by_login(self.cleaned_data["login"])
        if person is None:
            raise ValidationError("Nobody here has this name or address.")
        return person


class GivenForm(forms.Form):
    """To whom something is given."""

    to = forms.ChoiceField(
        label="Who may use it",
        choices=[("everybody", "Everybody"), ("groups", "The people of these groups alone")],
        widget=forms.RadioSelect,
    )
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.CheckboxSelectMultiple
    )

    @property
    def chosen(self) -> list[Group] | None:
        """Groups, of which there may be none; None is everybody."""
        is_everybodys = self.cleaned_data["to"] == "everybody"
        return None if is_everybodys else list(self.cleaned_data["groups"])


class AccessForm(forms.ModelForm):  # type: ignore[type-arg]
    """Who may make an account."""

    class Meta:
        model = Installation
        fields = ["signup", "signup_domains", "staff_second_factor"]
        widgets = {"signup": forms.RadioSelect, "signup_domains": forms.Textarea({"rows": 3})}
        field_classes = {"signup_domains": LinesField}

    def clean(self) -> dict[str, Any]:
        wanted = super().clean() or {}
        if wanted.get("signup") == Installation.SignUp.DOMAINS:
            if not sends_mail():
                self.add_error("signup", NO_MAIL)
            if not wanted.get("signup_domains", "").split():
                self.add_error("signup_domains", "Name a domain, for example example.org.")
        return wanted
