"""A small OpenID Connect provider on loopback: discovery, authorize, token, userinfo, keys.

It signs its tokens (RS256), wants PKCE and the client's secret, and takes each code once.
"""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "chatapp-client", "provider-secret"
POLL_SECONDS = 0.01  # until it sees that it should stop


class Provider:
    """Signs in whoever `claims` say."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.told: Any = None  # where it is asked, in place of the claims
        self.audience = CLIENT
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

    def get(self, request: BaseHTTPRequestHandler) -> None:
        path = urlsplit(request.path)
        if path.path == "/.well-known/openid-configuration":
            ends = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
            found = {f"{name}_endpoint": f"{self.url}/{end}" for name, end in ends.items()}
            methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
            tell(request, found | methods | {"issuer": self.url, "jwks_uri": f"{self.url}/keys"})
        elif path.path == "/authorize":
            asked = {name: one for name, [one] in parse_qs(path.query).items()}
            code = f"code{len(self.codes)}"
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
        said = self.claims | {"iss": self.url, "aud": self.audience, "iat": now, "exp": now + 60}
        signed = jwt.encode(said, self.key, algorithm="RS256", headers={"kid": "one"})
        tell(request, {"access_token": "access", "token_type": "Bearer", "id_token": signed})


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


@contextmanager
def running() -> Iterator[Provider]:
    provider = Provider()
    thread = Thread(target=provider.server.serve_forever, args=[POLL_SECONDS], daemon=True)
    thread.start()
    yield provider
    provider.server.shutdown()
    provider.server.server_close()
    thread.join()
