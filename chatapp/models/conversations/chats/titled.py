"""Titles of conversations: a prompt's first words at first, then a model's or a person's words."""

from django.db import models
from django.utils.text import Truncator

from chatapp.text.visible import from_first_visible

MAX_TITLE_LENGTH = 80
TEMPORARY = "Temporary chat"  # the title of one, which must not quote its prompt
MAY_BE_TITLED = models.Q(is_temporary=False, trashed_at=None)  # by a model
UNINDEXED_TITLE = ~models.Q(indexed_title=models.F("title"))


class Titled(models.Model):
    """Gives a conversation its title, and records who wrote it."""

    class TitledBy(models.TextChoices):
        PROMPT = "prompt"  # its first words
        MODEL = "model"
        PERSON = "person"

    title = models.CharField(max_length=MAX_TITLE_LENGTH)
    # The title in the search index. If `title` differs from it, the title is to be indexed again.
    indexed_title = models.CharField(max_length=MAX_TITLE_LENGTH, null=True, editable=False)  # noqa: DJ001 - none yet is not an empty one
    titled_by = models.CharField(
        max_length=6, choices=TitledBy, default=TitledBy.PROMPT, db_default=TitledBy.PROMPT
    )

    class Meta:
        abstract = True

    @staticmethod
    def build_title(prompt: str) -> str:
        words = Truncator(" ".join(from_first_visible(prompt).split())).chars(MAX_TITLE_LENGTH)
        return words[:MAX_TITLE_LENGTH]  # `chars` does not count combining characters

    def rename(self, title: str) -> None:
        """Set the title without moving the conversation in its list.

        Does nothing if it was deleted in the meantime.
        """
        self.title, self.titled_by = title, self.TitledBy.PERSON
        stored = type(self)._default_manager.filter(pk=self.pk)
        stored.update(title=title, titled_by=self.titled_by)

    def claim_title(self, first_words: str) -> bool:
        """Reserve the right to have a model write the title; return whether it was granted.

        It is granted once, and only while the title is still the prompt's first words.
        """
        untitled = type(self)._default_manager.filter(
            MAY_BE_TITLED, pk=self.pk, titled_by=self.TitledBy.PROMPT, title=first_words
        )
        return bool(untitled.update(titled_by=self.TitledBy.MODEL))

    def give_title(self, title: str, first_words: str) -> bool:
        """Replace the first words by a model's title; return whether they were still the title."""
        claimed = type(self)._default_manager.filter(
            pk=self.pk, titled_by=self.TitledBy.MODEL, title=first_words
        )
        return bool(claimed.update(title=title))
