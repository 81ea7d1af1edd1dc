"""Prompts that an empty page suggests, written by an administrator."""

from django.db import models


class Suggestion(models.Model):
    MAX_SHOWN = 8

    text = models.CharField(
        max_length=200, help_text="Sent as it is when a person clicks on it on an empty page."
    )
    position = models.PositiveSmallIntegerField(
        default=0, help_text="Lower numbers come first. Eight are shown."
    )

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.text

    @classmethod
    def shown(cls) -> list[str]:
        return list(cls.objects.values_list("text", flat=True)[: cls.MAX_SHOWN])
