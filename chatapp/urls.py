"""The app's addresses."""

from allauth.account import views as account
from django.contrib import admin
from django.urls import include, path

from chatapp import views

urlpatterns = [
    path("", views.chat, name="chat"),
    path("c/<uuid:pk>/", views.conversation, name="conversation"),
    path("models/", views.models, name="models"),
    path("conversations/", views.conversations, name="conversations"),
    path("replies/<uuid:pk>/confidence/", views.confidence, name="confidence"),
    path("replies/<uuid:pk>/images/<int:position>/", views.reply_image, name="reply-image"),
    path("help/", views.help_page, name="help"),
    path("setup/<str:token>/", views.setup, name="setup"),
    path("accounts/login/", account.login, name="account_login"),
    path("accounts/logout/", account.logout, name="account_logout"),
    path("accounts/signup/", account.signup, name="account_signup"),
    path("accounts/inactive/", account.account_inactive, name="account_inactive"),
    path("accounts/password/change/", account.password_change, name="account_change_password"),
    path("accounts/password/set/", account.password_set, name="account_set_password"),
    path("accounts/password/reset/", views.forgotten_password, name="account_reset_password"),
    path("accounts/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("admin/r/<path:rest>", views.nothing),  # the admin's own needs `django.contrib.sites`
    path("admin/", admin.site.urls),
    path("probe/", include("chatapp.doctor.probe")),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", views.metrics, name="metrics"),
]
