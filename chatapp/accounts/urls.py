"""Addresses of accounts: those of allauth that the app has a use for, and its own."""

from allauth.account import views as account
from django.urls import path

from chatapp.accounts import views

urlpatterns = [
    path("setup/<str:token>/", views.setup, name="setup"),
    path("accounts/login/", views.after_setup(views.SignInView.as_view()), name="account_login"),
    path("accounts/logout/", account.logout, name="account_logout"),
    path("accounts/signed-out/", views.signed_out, name="signed-out"),
    path("accounts/signup/", views.after_setup(account.signup), name="account_signup"),
    path(
        "accounts/inactive/", views.after_setup(account.account_inactive), name="account_inactive"
    ),
    path("accounts/password/change/", account.password_change, name="account_change_password"),
    path("accounts/password/set/", account.password_set, name="account_set_password"),
    path("accounts/password/reset/", views.forgotten_password, name="account_reset_password"),
    path("accounts/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
]
