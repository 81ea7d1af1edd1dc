"""Prompts that an empty page suggests, written by an administrator."""

from collections.abc import Sequence

from django.db import models

from chatapp.db.statements import Query


class Suggestion(models.Model):
    MAX_SHOWN = 8
    MAX_LENGTH = 200  # characters

    text = models.CharField(
        max_length=MAX_LENGTH,
        help_text="Sent as it is when a person clicks on it on an empty page.",
    )
    position = models.PositiveSmallIntegerField(
        default=0, help_text="Lower numbers come first. Eight are shown."
    )

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.text

    @classmethod
    def list_visible(cls) -> list[str]:
        return [suggestion.text for suggestion in _VISIBLE.all()]

    @classmethod
    def list_all(cls) -> list[str]:
        """Return the texts of all suggestions in order, even of those that are not shown."""
        return list(cls.objects.values_list("text", flat=True))

    @classmethod
    def replace(cls, texts: Sequence[str]) -> None:
        """Show these texts, in this order, and no others. Call it in a transaction."""
        cls.objects.all().delete()
        rows = [Suggestion(text=text, position=number) for number, text in enumerate(texts)]
        Suggestion.objects.bulk_create(rows)


_VISIBLE = Query(lambda: Suggestion.objects.only("text")[: Suggestion.MAX_SHOWN])
