"""The proxy of a request, by the environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

This machine is always reached directly.
"""

from base64 import b64encode
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import httpx

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SCHEMES = ("http", "https")


class Proxies:
    """The proxies of the environment, read once."""

    def __init__(self) -> None:
        self._urls = getproxies()

    def proxy_for(self, url: httpx.URL) -> "Proxy | None":
        """Return the proxy for a URL, or None. Raises `httpx.ProxyError` if it can't be used."""
        address = self._urls.get(url.scheme) or self._urls.get("all")
        if not address or url.host in _LOOPBACK:
            return None
        if proxy_bypass(url.netloc.decode("ascii"), self._urls):
            return None
        return Proxy(address)


class Proxy:
    """An HTTP proxy. `headers` authenticate a request to it."""

    def __init__(self, address: str) -> None:
        try:
            self.url = httpx.URL(address if "://" in address else f"http://{address}")
        except httpx.InvalidURL as error:
            raise httpx.ProxyError("the proxy in the environment is not an address") from error
        if self.url.scheme not in _SCHEMES or not self.url.host:
            raise httpx.ProxyError("the proxy in the environment is not an http or https address")
        self.headers: list[tuple[bytes, bytes]] = []
        if self.url.userinfo:
            # Basic authentication, RFC 7617, section 2.
            account = unquote(self.url.userinfo.decode("ascii")).encode()
            self.headers.append((b"Proxy-Authorization", b"Basic " + b64encode(account)))
