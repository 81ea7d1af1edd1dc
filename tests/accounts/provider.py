"""A small OpenID Connect provider on loopback: discovery, authorize, token, userinfo, keys.

It signs its tokens (RS256), requires PKCE and the client's secret, and accepts each code once. A
person with a session there (`session_since`) is signed in silently, unless the request forces a
sign-in.
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
POLL_SECONDS = 0.01  # how often the server checks whether to stop


class Provider:
    """Signs in the person in `claims`."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.userinfo: Any = None  # the userinfo, if it differs from the claims
        self.audience = CLIENT
        self.session_since: int | None = None
        self.always_silent = False  # even if the request forces a sign-in
        self.token_response: dict[str, Any] = {}  # overrides, e.g. of the tokens
        self.token_claims: dict[str, Any] = {}  # overrides in the ID token; None removes a claim
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
        url = urlsplit(request.path)
        if url.path == "/.well-known/openid-configuration":
            paths = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
            endpoints = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in paths.items()}
            methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
            respond(
                request,
                endpoints | methods | {"issuer": self.issuer, "jwks_uri": f"{self.url}/keys"},
            )
        elif url.path == "/authorize":
            query = {
                name: parameter_value for name, [parameter_value] in parse_qs(url.query).items()
            }
            forces_sign_in = query.get("prompt") == "login" and query.get("max_age") == "0"
            is_silent = self.session_since and (self.always_silent or not forces_sign_in)
            query["auth_time"] = str(self.session_since if is_silent else int(time.time()))
            code = f"code{secrets.token_hex(4)}"
            self.codes[code] = query
            request.send_response(302)
            back = urlencode({"code": code, "state": query["state"]})
            request.send_header("Location", f"{query['redirect_uri']}?{back}")
            request.end_headers()
        elif url.path == "/keys":
            public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
            respond(request, {"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]})
        else:
            respond(request, self.claims if self.userinfo is None else self.userinfo)

    def token(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        sent = {name: parameter_value for name, [parameter_value] in parse_qs(body).items()}
        query = self.codes.pop(sent["code"], {})
        digest = sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = urlsafe_b64encode(digest).decode().rstrip("=")
        if sent.get("client_secret") != SECRET or query.get("code_challenge") != challenge:
            respond(request, {"error": "invalid_grant"}, 400)
            return
        now = int(time.time())
        claims = self.claims | {
            "iss": self.issuer,
            "aud": self.audience,
            "iat": now,
            "exp": now + 60,
        }
        claims |= {"nonce": query.get("nonce"), "auth_time": int(query["auth_time"])}
        claims |= self.token_claims
        claims = {name: value for name, value in claims.items() if value is not None}
        signed = jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})
        tokens = {"access_token": "access", "token_type": "Bearer", "id_token": signed}
        respond(request, tokens | self.token_response)


@cache
def _key() -> rsa.RSAPrivateKey:
    """Return one key for all providers, since generating it is slow."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def respond(request: BaseHTTPRequestHandler, content: Any, status: int = 200) -> None:
    body = json.dumps(content).encode()
    request.send_response(status)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def trust(settings: Settings, provider: Provider) -> None:
    """Configure the provider as the organisation's sign-in."""
    app: dict[str, Any] = deepcopy(configured.OIDC_APP) | {"client_id": CLIENT, "secret": SECRET}
    app["settings"]["server_url"] = provider.url
    settings.CHATAPP_OIDC_URL = provider.url
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}


def sign_in(provider: Provider, client: Client | None = None, **claims: Any) -> Client:
    """Sign in at the provider with these claims and return the browser."""
    provider.claims = claims
    client = client or Client(headers={"host": "localhost"})
    there = client.get("/accounts/by/oidc/").headers["location"]
    assert there.startswith(f"{provider.url}/authorize?")
    client.answer = follow_return(client, there)  # type: ignore[attr-defined]
    return client


def get_signed_in_name(client: Client) -> str:
    return User.objects.get(pk=client.session["_auth_user_id"]).username


def follow_return(client: Client, there: str) -> Any:
    """Return the response to the redirect back from the provider's `there` address."""
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
