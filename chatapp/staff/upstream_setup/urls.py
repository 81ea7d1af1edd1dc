"""URLs of the upstreams page and the set-up steps."""

from django.urls import path

from chatapp.staff.upstream_setup import views

urlpatterns = [
    path("upstreams/", views.upstreams, name="upstreams"),
    path("upstreams/new/", views.address, name="connect"),
    path("upstreams/<int:pk>/address/", views.address, name="upstream-address"),
    path("upstreams/<int:pk>/", views.offer, name="upstream-offer"),
    path("upstreams/<int:pk>/test/", views.test, name="test-upstream"),
]
