"""A text field that is stored encrypted, with SECRET_KEY or one of SECRET_KEY_FALLBACKS."""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from encrypted_fields.fields import EncryptedTextField


@lru_cache(maxsize=64)  # each turn reads its upstream's key; endpoints keep theirs in memory anyway
def _decrypt_secret(keys: Fernet | MultiFernet, value: str) -> str:
    return str(keys.decrypt(value.encode()), "utf-8")


class UnreadableSecret(str):
    """A secret that none of the keys decrypts.

    As text it is empty, so the ciphertext is never sent anywhere. Saving it again keeps the stored
    value, since the key may come back.
    """

    ciphertext: str

    def __new__(cls, ciphertext: str) -> "UnreadableSecret":
        self = super().__new__(cls)
        self.ciphertext = ciphertext
        return self


class SecretField(EncryptedTextField):  # type: ignore[misc]
    """A text, "" or None; or `UnreadableSecret`.

    The library's own field returns what it can't decrypt as if it were the secret.
    """

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        if not value:
            return value
        try:
            return _decrypt_secret(self.f, value)
        except (InvalidToken, UnicodeError):
            return UnreadableSecret(value)

    def to_python(self, value: Any) -> Any:
        """Convert a form's text, which is never an encrypted one."""
        return value if value is None else value if isinstance(value, str) else str(value)

    def get_prep_value(self, value: Any) -> Any:
        return (
            value.ciphertext
            if isinstance(value, UnreadableSecret)
            else super().get_prep_value(value)
        )

    def deconstruct(self) -> Any:
        """Appear as the library's field in migrations, since the column is the same."""
        name, _, arguments, options = super().deconstruct()
        return name, "encrypted_fields.fields.EncryptedTextField", arguments, options
