"""What an empty page suggests to ask: an administrator's own words."""

from django.db import models


class Suggestion(models.Model):
    MOST_SHOWN = 8

    text = models.CharField(
        max_length=200, help_text="Sent as it stands by whoever clicks on it on an empty page."
    )
    position = models.PositiveSmallIntegerField(
        default=0, help_text="Smaller ones come first. The first eight are shown."
    )

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.text

    @classmethod
    def shown(cls) -> list[str]:
        return list(cls.objects.values_list("text", flat=True)[: cls.MOST_SHOWN])
