"""URLs of accounts: the allauth views that the app uses, and its own."""

from typing import Any

from allauth.account import views as account
from allauth.decorators import rate_limit
from allauth.mfa.base import views as second_factor
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as app
from allauth.mfa.webauthn import views as keys
from django.contrib.auth.decorators import login_required
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.generic import FormView

from chatapp.accounts import avatars, openid, profile, signup, tokens, views
from chatapp.accounts.auditing import records_factors
from chatapp.accounts.staff import View, confirmed_only


def begins_sign_in(view: View) -> View:
    """Limit how often an address may start a sign-in, which stores an anonymous session."""
    limited: View = rate_limit(action="begin_login", limit_get=True)(view)
    return limited


def own(view: View) -> View:
    """Wrap a page about one's own security: confirmed and never cached."""
    return never_cache(login_required(confirmed_only(view)))


def changes_factors(view_class: "type[FormView[Any]]") -> View:
    """Wrap a page whose form adds or removes a second factor."""
    return own(records_factors(view_class))


urlpatterns = [
    path("setup/<str:token>/", views.setup, name="setup"),
    path("accounts/login/", views.after_setup(views.SignInView.as_view()), name="account_login"),
    path("accounts/logout/", account.logout, name="account_logout"),
    path("accounts/signed-out/", views.signed_out, name="signed-out"),
    path("accounts/signup/", views.after_setup(signup.sign_up), name="account_signup"),
    path(
        "accounts/inactive/", views.after_setup(account.account_inactive), name="account_inactive"
    ),
    path("accounts/password/change/", account.password_change, name="account_change_password"),
    path("accounts/password/set/", own(account.password_set), name="account_set_password"),
    path("accounts/password/reset/", signup.forgotten_password, name="account_reset_password"),
    path(
        "accounts/password/new/<str:named>/<str:token>/", signup.new_password, name="new-password"
    ),
    path("accounts/address/<str:token>/", signup.confirm_address, name="confirm-address"),
    path("invitation/<str:token>/", signup.accept, name="accept-invitation"),
    path("accounts/by/", views.not_by_organisation, name="socialaccount_signup"),
    path("accounts/by/ended/", views.not_by_organisation, name="socialaccount_login_cancelled"),
    path("accounts/by/failed/", views.not_by_organisation, name="socialaccount_login_error"),
    path("accounts/by/joined/", views.not_by_organisation, name="socialaccount_connections"),
    path(
        "accounts/by/<str:provider_id>/",
        begins_sign_in(openid.sign_in),
        name="openid_connect_login",
    ),
    path("accounts/by/<str:provider_id>/back/", openid.callback, name="openid_connect_callback"),
    path("preferences/", views.preferences, name="preferences"),
    path("preferences/memory/", views.memory, name="memory"),
    path("accounts/profile/", profile.profile, name="profile"),
    path("accounts/profile/picture/", avatars.change, name="change-avatar"),
    path("accounts/pictures/<slug:version>/", avatars.avatar, name="avatar"),
    path("accounts/devices/", views.devices, name="devices"),
    path("accounts/tokens/", tokens.tokens, name="tokens"),
    path("accounts/tokens/<uuid:pk>/revoke/", tokens.revoke, name="revoke-token"),
    path("accounts/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("accounts/reauthenticate/code/", second_factor.reauthenticate, name="mfa_reauthenticate"),
    path(
        "accounts/reauthenticate/key/",
        keys.reauthenticate_webauthn,
        name="mfa_reauthenticate_webauthn",
    ),
    path(
        "accounts/reauthenticate/organisation/",
        openid.ConfirmView.as_view(),
        name="organisation_reauthenticate",
    ),
    path("accounts/login/code/", second_factor.authenticate, name="mfa_authenticate"),
    path("accounts/login/passkey/", begins_sign_in(keys.login_webauthn), name="mfa_login_webauthn"),
    path("accounts/second-factor/", own(second_factor.index), name="mfa_index"),
    path(
        "accounts/second-factor/app/",
        changes_factors(app.ActivateTOTPView),
        name="mfa_activate_totp",
    ),
    path(
        "accounts/second-factor/app/end/",
        changes_factors(app.DeactivateTOTPView),
        name="mfa_deactivate_totp",
    ),
    path(
        "accounts/second-factor/codes/",
        own(codes.view_recovery_codes),
        name="mfa_view_recovery_codes",
    ),
    path(
        "accounts/second-factor/codes/new/",
        changes_factors(codes.GenerateRecoveryCodesView),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "accounts/second-factor/codes/file/",
        own(codes.download_recovery_codes),
        name="mfa_download_recovery_codes",
    ),
    path("accounts/second-factor/keys/", own(keys.list_webauthn), name="mfa_list_webauthn"),
    path(
        "accounts/second-factor/keys/add/",
        changes_factors(keys.AddWebAuthnView),
        name="mfa_add_webauthn",
    ),
    path(
        "accounts/second-factor/keys/<int:pk>/name/",
        own(keys.edit_webauthn),
        name="mfa_edit_webauthn",
    ),
    path(
        "accounts/second-factor/keys/<int:pk>/end/",
        changes_factors(keys.RemoveWebAuthnView),
        name="mfa_remove_webauthn",
    ),
]
