"""The admin of the suggestions shown on the empty chat page."""

from django.contrib import admin

from chatapp.models import Suggestion
from chatapp.staff.admin.confirmed import ConfirmedAdmin


@admin.register(Suggestion)
class SuggestionAdmin(ConfirmedAdmin):
    list_display = ["text", "position"]
