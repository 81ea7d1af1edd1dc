"""A small OpenID Connect provider on loopback: discovery, authorize, token, userinfo, keys.

It signs its tokens (RS256), wants PKCE and the client's secret, and takes each code once. Who has a
session there (`session_since`) is signed in silently, unless the request wants them asked.
"""

import json
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings as configured
from django.test import Client
from pytest_django import Settings

from chatapp.models import User

CLIENT, SECRET = "chatapp-client", "provider-secret"
POLL_SECONDS = 0.01  # until it sees that it should stop


class Provider:
    """Signs in whoever `claims` say."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.told: Any = None  # where it is asked, in place of the claims
        self.audience = CLIENT
        self.session_since: int | None = None
        self.always_silent = False  # whatever the request wants
        self.gives: dict[str, Any] = {}  # in place of its tokens
        self.token_says: dict[str, Any] = {}  # in place of what would stand there; None for nothing
        self.codes: dict[str, dict[str, str]] = {}
        self.key = _key()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.get(self)

            def do_POST(self) -> None:
                provider.token(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.issuer: Any = self.url

    def get(self, request: BaseHTTPRequestHandler) -> None:
        path = urlsplit(request.path)
        if path.path == "/.well-known/openid-configuration":
            ends = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
            found = {f"{name}_endpoint": f"{self.url}/{end}" for name, end in ends.items()}
            methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
            tell(request, found | methods | {"issuer": self.issuer, "jwks_uri": f"{self.url}/keys"})
        elif path.path == "/authorize":
            asked = {name: one for name, [one] in parse_qs(path.query).items()}
            wants_them_asked = asked.get("prompt") == "login" and asked.get("max_age") == "0"
            is_silent = self.session_since and (self.always_silent or not wants_them_asked)
            asked["auth_time"] = str(self.session_since if is_silent else int(time.time()))
            code = f"code{secrets.token_hex(4)}"
            self.codes[code] = asked
            request.send_response(302)
            back = urlencode({"code": code, "state": asked["state"]})
            request.send_header("Location", f"{asked['redirect_uri']}?{back}")
            request.end_headers()
        elif path.path == "/keys":
            public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
            tell(request, {"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]})
        else:
            tell(request, self.claims if self.told is None else self.told)

    def token(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        sent = {name: one for name, [one] in parse_qs(body).items()}
        asked = self.codes.pop(sent["code"], {})
        digest = sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = urlsafe_b64encode(digest).decode().rstrip("=")
        if sent.get("client_secret") != SECRET or asked.get("code_challenge") != challenge:
            tell(request, {"error": "invalid_grant"}, 400)
            return
        now = int(time.time())
        said = self.claims | {"iss": self.issuer, "aud": self.audience, "iat": now, "exp": now + 60}
        said |= {"nonce": asked.get("nonce"), "auth_time": int(asked["auth_time"])}
        said |= self.token_says
        said = {name: value for name, value in said.items() if value is not None}
        signed = jwt.encode(said, self.key, algorithm="RS256", headers={"kid": "one"})
        given = {"access_token": "access", "token_type": "Bearer", "id_token": signed}
        tell(request, given | self.gives)


@cache
def _key() -> rsa.RSAPrivateKey:
    """One for all providers, since it takes a while to find the primes."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def tell(request: BaseHTTPRequestHandler, said: Any, status: int = 200) -> None:
    body = json.dumps(said).encode()
    request.send_response(status)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def trust(settings: Settings, provider: Provider) -> None:
    """Set it up as the organisation's sign-in."""
    app: dict[str, Any] = deepcopy(configured.OIDC_APP) | {"client_id": CLIENT, "secret": SECRET}
    app["settings"]["server_url"] = provider.url
    settings.CHATAPP_OIDC_URL = provider.url
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}


def come(provider: Provider, client: Client | None = None, **claims: Any) -> Client:
    """Somebody's browser, sent there and back to sign in."""
    provider.claims = claims
    client = client or Client(headers={"host": "localhost"})
    there = client.get("/accounts/by/oidc/").headers["location"]
    assert there.startswith(f"{provider.url}/authorize?")
    client.answer = returned(client, there)  # type: ignore[attr-defined]
    return client


def name_of(client: Client) -> str:
    return User.objects.get(pk=client.session["_auth_user_id"]).username


def returned(client: Client, there: str) -> Any:
    """What the browser gets that the provider sends back from its address."""
    back = httpx.get(there, trust_env=False).headers["location"]
    return client.get(back.removeprefix("http://localhost"))


@contextmanager
def running() -> Iterator[Provider]:
    provider = Provider()
    thread = Thread(target=provider.server.serve_forever, args=[POLL_SECONDS], daemon=True)
    thread.start()
    yield provider
    provider.server.shutdown()
    provider.server.server_close()
    thread.join()
