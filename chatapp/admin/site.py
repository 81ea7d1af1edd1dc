"""The administration's own pages, where they are not Django's."""

from allauth.account.admin import EmailAddress  # registers it
from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.views.generic import RedirectView

admin.site.site_header = admin.site.site_title = "chatapp administration"
admin.site.index_title = "People, upstreams, conversations"
# The one sign-in and the one change of one's password, with their limits.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.password_change = RedirectView.as_view(  # type: ignore[method-assign,assignment]
    pattern_name="account_change_password"
)
# Of allauth: an address there would sign in as well, and nothing here makes one.
admin.site.unregister(EmailAddress)
