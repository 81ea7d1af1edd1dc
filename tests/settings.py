"""The app's settings made fast for tests: a weak password hash, no collected static files."""

import os

from chatapp.settings import *  # noqa: F403
from chatapp.settings import CACHES

CACHES["default"]["KEY_PREFIX"] = f"chatapp.tests.{os.getpid()}"  # one Redis, many test processes

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_ROOT = None  # type: ignore[assignment]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "files": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
