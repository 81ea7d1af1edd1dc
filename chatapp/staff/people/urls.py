"""URLs of the People pages."""

from django.urls import path

from chatapp.staff.people import changes, groups, invitations, views

urlpatterns = [
    path("people/", views.people, name="people"),
    path("people/invitations/", invitations.invitations, name="invitations"),
    path("people/invitations/<int:pk>/renew/", invitations.renew, name="renew-invitation"),
    path("people/invitations/<int:pk>/revoke/", invitations.revoke, name="revoke-invitation"),
    path("people/access/", invitations.access, name="people-access"),
    path("people/groups/", groups.groups, name="groups"),
    path("people/groups/<int:pk>/", groups.group, name="group"),
    path("people/groups/<int:pk>/member/", groups.member, name="group-member"),
    path("people/groups/<int:pk>/delete/", groups.delete, name="delete-group"),
    path("people/given/", groups.choose_model_access, name="given-model"),
    path("people/given/<slug:kind>/<int:pk>/", groups.edit_access, name="given"),
    path("people/<int:pk>/", views.person, name="person"),
    path("people/<int:pk>/delete/", views.delete, name="delete-person"),
    path("people/<int:pk>/<slug:what>/", changes.change, name="change-person"),
]
