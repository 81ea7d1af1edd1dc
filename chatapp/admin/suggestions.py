"""Suggestions of the empty page."""

from django.contrib import admin

from chatapp.admin.confirmed import ConfirmedAdmin
from chatapp.models import Suggestion


@admin.register(Suggestion)
class SuggestionAdmin(ConfirmedAdmin):
    list_display = ["text", "position"]
