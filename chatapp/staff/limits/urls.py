"""URLs of the pages for limits and prices."""

from django.urls import path

from chatapp.staff.limits import views

urlpatterns = [
    path("limits/", views.limits, name="limits"),
    path("limits/me/", views.own, name="own-limits"),
    path("limits/new/", views.new_limit, name="new-limit"),
    path("limits/preview/", views.preview_limit, name="preview-limit"),
    path("limits/<int:pk>/", views.limit, name="limit"),
    path("limits/<int:pk>/remove/", views.remove_limit, name="remove-limit"),
    path("limits/prices/new/", views.new_price, name="new-price"),
    path("limits/prices/<int:pk>/", views.price, name="price"),
    path("limits/prices/<int:pk>/remove/", views.remove_price, name="remove-price"),
]
