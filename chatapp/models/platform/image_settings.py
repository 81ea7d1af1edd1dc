"""The settings of an upstream for images: their size, and which models take them."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.utils import timezone

# Anthropic's models scale larger images down, and so do OpenAI's by their own rules:
# https://platform.claude.com/docs/en/build-with-claude/vision
IMAGE_SIDE = 1568
MAX_REFUSALS = 1000  # models


class ImageSettings(models.Model):
    """The part of an `Upstream` that concerns images."""

    # Whether its models take images, by id: what an administrator says, and the time of a model's
    # first refusal.
    model_images = models.JSONField(null=True, editable=False)
    image_refusals = models.JSONField(null=True, editable=False)
    image_side = models.PositiveIntegerField(
        "largest side of an image",
        default=IMAGE_SIDE,
        db_default=IMAGE_SIDE,
        validators=[MinValueValidator(128), MaxValueValidator(8000)],
        help_text="In pixels. Larger images are scaled down before they are sent. Many providers "
        "scale images to 1568 pixels or less themselves.",
    )

    class Meta:
        abstract = True

    def takes_images(self, model: str) -> bool | None:
        """Whether a model takes images, by an administrator's word or a remembered refusal.

        Returns None if neither says anything.
        """
        setting = (self.model_images or {}).get(model)
        if setting is not None:
            return bool(setting)
        return False if model in (self.image_refusals or {}) else None

    @property
    def refused_images_at(self) -> Mapping[str, datetime]:
        """When models refused images first, by id."""
        refusals = self.image_refusals or {}
        return {model: datetime.fromisoformat(at) for model, at in refusals.items()}

    def learn_image_refusal(self, model: str) -> None:
        """Note on this object that a model refused images."""
        refusal_times = {**(self.image_refusals or {})}
        refusal_times.setdefault(model, timezone.now().isoformat())
        self.image_refusals = dict(list(refusal_times.items())[-MAX_REFUSALS:])

    @classmethod
    def forget_image_refusals(cls, pk: int, models: Collection[str]) -> None:
        """Forget that these models have refused images."""
        with transaction.atomic():
            for upstream in cls._lock_image_refusals(pk):
                refusals = (upstream.image_refusals or {}).items()
                upstream.image_refusals = {
                    model_id: at for model_id, at in refusals if model_id not in models
                }
                upstream.save(update_fields=["image_refusals"])

    @classmethod
    def _lock_image_refusals(cls, pk: int) -> models.QuerySet[Self]:
        """Return the upstream, locked, if it exists."""
        rows = cls._default_manager.select_for_update().filter(pk=pk)
        return rows.only("image_refusals").order_by()
