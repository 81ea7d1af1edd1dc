"""An upstream's address, key and known features, as a value from which requests are built."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from chatapp.upstream.wire.requests.dialects import AUTO, ChatMessage, Dialect, RequestOptions


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An upstream: its base URL (with `/v1`), API key, dialect, and known features."""

    base_url: str
    api_key: str = field(default="", repr=False)
    dialect: Dialect = AUTO
    takes_usage_option: bool = True  # False after a `UsageOptionRefused` event
    silence_seconds: float | None = None  # timeout between bytes; None: the client's default

    @property
    def secret(self) -> str:
        return self.api_key.strip()

    @property
    def asks_for_usage(self) -> bool:
        return self.takes_usage_option and not self.dialect.always_reports_usage

    def request_body(
        self, model: str, messages: Sequence[ChatMessage], options: RequestOptions
    ) -> dict[str, object]:
        return self.dialect.request_body(model, messages, options, self.takes_usage_option)

    def url(self, path: str) -> str:
        return f"{self.base_url.strip().rstrip('/')}/{path}"

    def headers(self) -> dict[bytes, bytes]:
        return {b"Authorization": f"Bearer {self.secret}".encode()} if self.secret else {}
