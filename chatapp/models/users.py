"""People."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A person. Ours from the first migration, so that it can grow."""
