from tests.models.conftest import carol, conversation, gateway  # noqa: F401 - fixtures
