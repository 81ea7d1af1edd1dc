"""The app's settings for a server that waits for lists of models and tools as long as a test may
take: until the test lets the other server answer, or a busy machine has started it."""

from django.apps import AppConfig

from chatapp.settings import *  # noqa: F403
from chatapp.settings import INSTALLED_APPS as INSTALLED

SECONDS = 600.0


class Patient(AppConfig):
    name = "tests.browser"

    def ready(self) -> None:
        from chatapp import catalogue  # needs the models
        from chatapp.tools import registry
        from chatapp.upstream import client

        catalogue.PATIENCE_SECONDS = client.LIST_SECONDS = SECONDS
        registry.PATIENCE_SECONDS = SECONDS


INSTALLED_APPS = [*INSTALLED, "tests.browser.patient.Patient"]
