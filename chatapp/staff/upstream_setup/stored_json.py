"""A form field for JSON that the database can store."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput


class StoredJSONField(forms.JSONField):
    """A JSON field that also rejects what would fail when parsed or saved.

    These are NaN and infinities, numbers too long for Python, lone surrogates, and nesting
    thousands deep. Django's own field raises other exceptions for them.
    """

    def to_python(self, value: Any) -> Any:
        try:
            parsed_json = super().to_python(value)
            json.dumps(parsed_json, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            message = self.error_messages["invalid"]
            raise ValidationError(message, "invalid", {"value": value}) from None
        return parsed_json

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return invalid input unchanged, so that it is shown as typed."""
        try:
            self.to_python(data)
        except ValidationError:
            return InvalidJSONInput(data)
        return super().bound_data(data, initial)
