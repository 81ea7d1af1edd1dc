"""What a person sends of their account: each error says what to do."""

import re
from typing import Any

from allauth.account.forms import ChangePasswordForm as AllauthChangePasswordForm
from allauth.account.forms import LoginForm as AllauthLoginForm
from django import forms
from django.contrib.auth.forms import BaseUserCreationForm, SetPasswordForm
from django.core.exceptions import ValidationError

from chatapp.accounts.confirming import check_own_password
from chatapp.accounts.passwords import ADVICE
from chatapp.models import User

PLAIN_LOCAL_PART = re.compile(r"[\w.+'-]+")


class UniqueEmail:
    """An address signs in, so it is one account's."""

    instance: User
    cleaned_data: dict[str, Any]

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        others = User.objects.exclude(pk=self.instance.pk)
        if email and others.filter(email__iexact=email).exists():
            raise ValidationError("Another account has this e-mail address. Use a different one.")
        return email


class FirstPasswordForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """An account that a person makes for themselves."""

    class Meta:
        model = User
        fields = ["username", "email"]
        labels = {"email": "E-mail address"}
        widgets = {
            "username": forms.TextInput(
                attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
            ),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["username"].help_text = ""  # what it can't be is told where it is tried
        self.fields["password1"].help_text = ADVICE
        self.fields["password2"].help_text = ""

    def full_clean(self) -> None:
        """Also puts the cursor where something is wrong, so that this is in view."""
        super().full_clean()
        if wrong := [name for name in self.fields if name in self.errors]:
            self.fields["username"].widget.attrs.pop("autofocus", None)
            self.fields[wrong[0]].widget.attrs["autofocus"] = True


class SetupForm(FirstPasswordForm):
    """The first account. It has both roles: nobody else is there who could give it the second."""

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit=False)
        user.is_staff = user.is_superuser = user.reviews = True
        user.save()
        return user


class AcceptForm(UniqueEmail, FirstPasswordForm):
    """The account of who was invited; an invitation that was sent to an address is for that one."""

    def __init__(self, *arguments: Any, address: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if address:
            del self.fields["email"]
            self.instance.email = address

    def clean_username(self) -> str:
        """As one signs in in lower and upper case alike, so one is named."""
        username: str = self.cleaned_data["username"]
        if "@" in username:
            raise ValidationError("A name has no @ in it: it might be somebody's address.")
        if User.objects.filter(username__iexact=username).exists():
            raise ValidationError("Another account has this name. Choose a different one.")
        return username


class AddressForm(forms.Form):
    """Where a link is to be sent."""

    email = forms.EmailField(
        label="E-mail address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True}),
    )


class SignUpForm(AddressForm):
    """The address of a person who may sign up because of its domain.

    Some mail servers send on what has a route before the @: `eve%example.com`, `example.com!eve`,
    `"eve@example.com"`. So who reads the mail need not be of the domain.
    """

    def clean_email(self) -> str:
        address: str = self.cleaned_data["email"]
        if not PLAIN_LOCAL_PART.fullmatch(address.rpartition("@")[0]):
            raise ValidationError(
                "Use an address with only letters, digits and . _ + - ' before the @."
            )
        return address


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """By a link, instead of one that was forgotten."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["new_password1"].help_text = ADVICE


class LoginForm(AllauthLoginForm):  # type: ignore[misc]
    """The cursor stands where a person goes on: at the name, or at the password to type anew."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        focused = "password" if self.is_bound else "login"
        self.fields[focused].widget.attrs["autofocus"] = True


class ChangePasswordForm(AllauthChangePasswordForm):  # type: ignore[misc]
    """Guesses of the old password are counted as those at the sign-in are."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["password1"].help_text = ADVICE

    def clean_oldpassword(self) -> str:
        password: str = self.cleaned_data["oldpassword"]
        check_own_password(self.user, password)
        return password
