"""Account forms: setup, sign-up, invitation, sign-in, passwords and preferences."""

import re
from typing import Any

from allauth.account.forms import ChangePasswordForm as AllauthChangePasswordForm
from allauth.account.forms import LoginForm as AllauthLoginForm
from django import forms
from django.contrib.auth.forms import BaseUserCreationForm, SetPasswordForm
from django.core.exceptions import ValidationError
from django.db import transaction

from chatapp.accounts.confirmation import check_own_password
from chatapp.accounts.passwords import ADVICE
from chatapp.models import Memory, User, audit
from chatapp.models.accounts.memory import MAX_MEMORY_LENGTH
from chatapp.text.multiline import MultilineField

PLAIN_LOCAL_PART = re.compile(r"[\w.+'-]+")


class UniqueLogin:
    """Require a unique username and email address, since people can sign in with either."""

    instance: User
    cleaned_data: dict[str, Any]

    def clean_username(self) -> str:
        """Refuse "@" and names that differ only in case, since sign-in ignores case.

        An older username that has an "@" may stay.
        """
        username: str = self.cleaned_data["username"]
        if "@" in username and username != self.instance.username:
            raise ValidationError(
                "A username can't contain @, because it could be someone's email address."
            )
        others = User.objects.exclude(pk=self.instance.pk)
        if others.filter(username__iexact=username).exists():
            raise ValidationError("This username is taken. Choose a different one.")
        return username

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        others = User.objects.exclude(pk=self.instance.pk)
        if email and others.filter(email__iexact=email).exists():
            raise ValidationError("Another account has this email address. Use a different one.")
        return email


class FirstPasswordForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """Base of the forms with which people create their own accounts."""

    class Meta:
        model = User
        fields = ["username", "email"]
        labels = {"email": "Email address"}
        widgets = {
            "username": forms.TextInput(
                attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
            ),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["username"].help_text = ""  # the rules appear as errors when broken
        self.fields["password1"].help_text = ADVICE
        self.fields["password2"].help_text = ""

    def full_clean(self) -> None:
        """Also focus the first invalid field, so that it is in view."""
        super().full_clean()
        if invalid := [name for name in self.fields if name in self.errors]:
            self.fields["username"].widget.attrs.pop("autofocus", None)
            self.fields[invalid[0]].widget.attrs["autofocus"] = True


class SetupForm(FirstPasswordForm):
    """Create the first account, with both roles, since nobody else could assign one."""

    def save(self, commit: bool = True) -> User:
        """Return the account; `commit` stores it."""
        self.instance.is_staff = self.instance.is_superuser = self.instance.reviews = True
        user: User = super().save(commit)
        return user


class AcceptForm(UniqueLogin, FirstPasswordForm):
    """Create an invited person's account; an emailed invitation fixes its address."""

    def __init__(self, *arguments: Any, address: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if address:
            del self.fields["email"]
            self.instance.email = address


class AddressForm(forms.Form):
    """The address to send a link to."""

    email = forms.EmailField(
        label="Email address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True}),
    )


class SignUpForm(AddressForm):
    """The address of a person who may sign up because of its domain.

    Some mail servers relay addresses with a route before the @ (`eve%example.com`,
    `example.com!eve`, `"eve@example.com"`), so the recipient need not belong to the domain.
    """

    def clean_email(self) -> str:
        address: str = self.cleaned_data["email"]
        if not PLAIN_LOCAL_PART.fullmatch(address.rpartition("@")[0]):
            raise ValidationError(
                "Use an address with only letters, digits and . _ + - ' before the @."
            )
        return address


class RevokesTokens:
    """Offers to revoke a person's API tokens, which would outlive sessions and passwords."""

    fields: dict[str, forms.Field]
    cleaned_data: dict[str, Any]

    def offer_to_revoke_tokens(self, person: User) -> None:
        if count := person.access_tokens.count():
            label = f"Revoke API tokens, too ({count})"
            field = forms.BooleanField(label=label, initial=True, required=False)
            self.fields["revokes_tokens"] = field

    def revoke_tokens(self, person: User) -> None:
        """Do so if the person agreed. Requests that use them stop."""
        if not self.cleaned_data.get("revokes_tokens"):
            return
        with transaction.atomic():
            for token in person.access_tokens.select_for_update():
                token.delete()
                audit.record("token.revoked", actor=person, about=person)


class SignOutForm(RevokesTokens, forms.Form):
    """Sign out everywhere else."""

    def __init__(self, person: User, data: Any) -> None:
        super().__init__(data)
        self.offer_to_revoke_tokens(person)


class NewPasswordForm(RevokesTokens, SetPasswordForm):  # type: ignore[type-arg]
    """Set a new password from a link."""

    def __init__(self, person: User, data: Any) -> None:
        super().__init__(person, data)
        self.fields["new_password1"].help_text = ADVICE
        self.offer_to_revoke_tokens(person)


class LoginForm(AllauthLoginForm):  # type: ignore[misc]
    """Focus the username at first, and the password after a failed attempt."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        focused = "password" if self.is_bound else "login"
        self.fields[focused].widget.attrs["autofocus"] = True


class ChangePasswordForm(RevokesTokens, AllauthChangePasswordForm):  # type: ignore[misc]
    """Change the password; wrong old passwords count against the sign-in rate limit."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        labels = ("Current password", "New password", "New password (again)")
        for name, label in zip(("oldpassword", "password1", "password2"), labels, strict=True):
            self.fields[name].label = label
        self.fields["password1"].help_text = ADVICE
        self.offer_to_revoke_tokens(self.user)

    def save(self) -> None:
        super().save()
        self.revoke_tokens(self.user)

    def clean_oldpassword(self) -> str:
        password: str = self.cleaned_data["oldpassword"]
        check_own_password(self.user, password)
        return password


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]
    """The preferences that a person sets for their account."""

    class Meta:
        model = User
        fields = ["finishes_replies"]
        help_texts = {
            "finishes_replies": "Otherwise a reply stops when you close its last tab. The text so "
            "far is saved, and you can continue it. Replies in temporary chats always stop."
        }


class MemoryForm(forms.ModelForm):  # type: ignore[type-arg]
    """The facts that a person wants models to know about them."""

    about = MultilineField(
        label="About me",
        required=False,
        max_length=MAX_MEMORY_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text="For example your work, your experience, and the languages you speak.",
    )
    answers = MultilineField(
        label="How to answer",
        required=False,
        max_length=MAX_MEMORY_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text="For example how long and how formal answers should be.",
    )

    class Meta:
        model = Memory
        fields = ["about", "answers", "is_on"]
