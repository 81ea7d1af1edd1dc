"""URLs of the page of models and the set-up steps, and the addresses that they had before."""

from django.urls import path
from django.views.generic import RedirectView

from chatapp.staff.upstream_setup import concessions, fallbacks, parameter_views, views

MOVED = RedirectView.as_view(url="/settings/models/%(rest)s", http_method_names=["get", "head"])

urlpatterns = [
    path("upstreams/", MOVED, {"rest": ""}),
    path("upstreams/<path:rest>", MOVED),
    path("settings/models/", views.upstreams, name="upstreams"),
    path("settings/models/order/", views.order, name="order-upstreams"),
    path("settings/models/new/", views.address, name="connect"),
    path("settings/models/<int:pk>/address/", views.address, name="upstream-address"),
    path("settings/models/<int:pk>/", views.offer, name="upstream-offer"),
    path("settings/models/<int:pk>/requests/", views.requests, name="upstream-requests"),
    path(
        "settings/models/<int:pk>/images/",
        views.forget_image_refusal,
        name="forget-image-refusal",
    ),
    path(
        "settings/models/<int:pk>/parameters/",
        parameter_views.rules,
        name="upstream-parameters",
    ),
    path(
        "settings/models/<int:pk>/parameters/refusals/",
        parameter_views.forget_refusal,
        name="forget-parameter-refusal",
    ),
    path(
        "settings/models/<int:pk>/concessions/",
        concessions.forget,
        name="forget-concession",
    ),
    path("settings/models/<int:pk>/fallbacks/", fallbacks.fallbacks, name="upstream-fallbacks"),
    path(
        "settings/models/<int:pk>/contexts/",
        views.forget_context_refusal,
        name="forget-context-refusal",
    ),
    path(
        "settings/models/<int:pk>/dismiss/", views.dismiss_failure, name="dismiss-upstream-failure"
    ),
    path("settings/models/<int:pk>/off/", views.turn_off, name="upstream-off"),
    path("settings/models/<int:pk>/delete/", views.delete, name="delete-upstream"),
    path("settings/models/<int:pk>/test/", views.test, name="test-upstream"),
]
