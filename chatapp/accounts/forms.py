"""What a person sends of their account: each error says what to do."""

from typing import Any

from allauth.account.forms import ChangePasswordForm as AllauthChangePasswordForm
from allauth.account.forms import LoginForm as AllauthLoginForm
from django import forms
from django.contrib.auth.forms import BaseUserCreationForm

from chatapp.accounts.confirming import check_own_password
from chatapp.accounts.passwords import ADVICE
from chatapp.models import User


class SetupForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """The first account, an administrator."""

    class Meta:
        model = User
        fields = ["username", "email"]
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

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit=False)
        user.is_staff = user.is_superuser = True
        user.save()
        return user


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
