"""JSON as it is typed under /admin/, where it is such that a database stores."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput


class StoredJSONField(forms.JSONField):
    """Says of numbers that are none or that Python does not read, of halves of characters, and of
    what is nested thousands deep that it is invalid; Django's own fails, here or at the save."""

    def to_python(self, value: Any) -> Any:
        try:
            found = super().to_python(value)
            json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            message = self.error_messages["invalid"]
            raise ValidationError(message, "invalid", {"value": value}) from None
        return found

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What is invalid is shown again as it was typed."""
        try:
            self.to_python(data)
        except ValidationError:
            return InvalidJSONInput(data)
        return super().bound_data(data, initial)
