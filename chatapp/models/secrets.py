"""Text that is stored encrypted, by SECRET_KEY or one of SECRET_KEY_FALLBACKS."""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from encrypted_fields.fields import EncryptedTextField


@lru_cache(maxsize=64)  # each turn reads its upstream's key, and what endpoints have is in memory
def _decrypted(keys: Fernet | MultiFernet, value: str) -> str:
    return str(keys.decrypt(value.encode()), "utf-8")


class Unreadable(str):
    """A secret that none of the keys decrypts. As text it is empty, so that nobody sends anywhere
    what is stored; saved again it stays as it is, for the key may come back."""

    stored: str

    def __new__(cls, stored: str) -> "Unreadable":
        self = super().__new__(cls)
        self.stored = stored
        return self


class SecretField(EncryptedTextField):  # type: ignore[misc]
    """A text, "" or None; or `Unreadable`. The library's own field takes what it can't decrypt for
    the secret itself."""

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        if not value:
            return value
        try:
            return _decrypted(self.f, value)
        except (InvalidToken, UnicodeError):
            return Unreadable(value)

    def to_python(self, value: Any) -> Any:
        """Of a form's text, which is never a stored one."""
        return value if value is None else value if isinstance(value, str) else str(value)

    def get_prep_value(self, value: Any) -> Any:
        return value.stored if isinstance(value, Unreadable) else super().get_prep_value(value)

    def deconstruct(self) -> Any:
        """As the library's in migrations: the column is the same."""
        name, _, arguments, options = super().deconstruct()
        return name, "encrypted_fields.fields.EncryptedTextField", arguments, options
