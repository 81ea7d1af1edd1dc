"""nginx and Caddy on the configurations shipped in deploy/, changed only in addresses, ports,
certificates and log destinations. Their TLS is real, on https://localhost:PORT."""

import os
import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.support.live import ROOT, Address, free_port
from tests.support.program import WAIT_SECONDS, Program

DEPLOY = ROOT / "deploy"
NAME = "localhost"
NOTHING: Mapping[str, str] = {}


class Proxy(Program, Address):
    """One proxy in front of some servers; `url` is what the browser opens."""

    name = ""

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        super().__init__()
        self.folder = folder
        self.ports = ports
        self.http_port, self.https_port = free_port(), free_port()
        self.url = f"https://{NAME}:{self.https_port}"

    def check_configuration(self) -> str:
        """Return what the program reports about its configuration.

        Raises `CalledProcessError` if it rejects it.
        """
        raise NotImplementedError

    def reload(self) -> None:
        """Reload its configuration without restarting."""
        raise NotImplementedError

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command,
            env=self.child_environment(),
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.stdout


class Nginx(Proxy):
    name = "nginx"
    ready = r"start worker process"

    def __init__(
        self, folder: Path, ports: Sequence[int], changes: Mapping[str, str] = NOTHING
    ) -> None:
        super().__init__(folder, ports)
        certificate, key = folder / "fullchain.pem", folder / "privkey.pem"
        make_certificate(certificate, key)
        self.tls = ssl.create_default_context(cafile=certificate)
        self._configuration = folder / "nginx.conf"
        self._configuration.write_text(self._build_configuration(changes))

    def command(self) -> list[str]:
        return ["nginx", "-c", str(self._configuration), "-g", "daemon off;"]

    def check_configuration(self) -> str:
        return self._run([*self.command(), "-t"])

    def reload(self) -> None:
        since = len(self.lines)
        self.process.send_signal(signal.SIGHUP)
        self.wait_for(r"start worker process", since)

    def _build_configuration(self, changes: Mapping[str, str]) -> str:
        text = (DEPLOY / "nginx.conf").read_text()
        for shipped, ours in {
            "/run/nginx.pid": f"{self.folder}/nginx.pid",
            "/var/log/nginx/error.log warn": "stderr notice",
            "/var/log/nginx/access.log": f"{self.folder}/access.log",
            "/etc/ssl/chatapp/": f"{self.folder}/",
            "chat.example.org": NAME,
            "listen [::]:80;": "",
            "listen [::]:443 ssl http2;": "",
            "listen 80;": f"listen 127.0.0.1:{self.http_port};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.https_port} ssl",
            **changes,
            **self._temporary_files(),
        }.items():
            assert shipped in text, f"deploy/nginx.conf has no {shipped!r} any more"
            text = text.replace(shipped, ours)
        shipped_servers = re.compile(r"(?: *server 127\.0\.0\.1:\d+(.*)\n)+")
        [options] = shipped_servers.findall(text)
        servers = "".join(f"server 127.0.0.1:{port}{options}\n" for port in self.ports)
        return shipped_servers.sub(servers, text)

    def _temporary_files(self) -> dict[str, str]:
        """Return directories for a user who is not root and cannot write to nginx's own."""
        if os.geteuid() == 0:
            return {}
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        lines = [f"{kind}_temp_path {self.folder}/{kind};" for kind in kinds]
        return {"server_tokens off;": "\n".join(["server_tokens off;", *lines])}


class Caddy(Proxy):
    """A Caddy whose certificate comes from its own authority, its default for `localhost`."""

    name = "caddy"
    ready = r"serving initial configuration"

    def __init__(self, folder: Path, ports: Sequence[int], **variables: str) -> None:
        super().__init__(folder, ports)
        self._variables = variables

    def command(self) -> list[str]:
        return ["caddy", "run", *self._configuration()]

    def check_configuration(self) -> str:
        return self._run(["caddy", "validate", *self._configuration()])

    def child_environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SITE_ADDRESS": NAME,
            "ADMIN_ADDRESS": f"unix/{self.folder / 'admin.sock'}",
            "HTTP_PORT": str(self.http_port),
            "HTTPS_PORT": str(self.https_port),
            "APP_SERVERS": " ".join(f"127.0.0.1:{port}" for port in self.ports),
            **self._variables,
        }

    def start(self) -> Self:
        """Start it and wait until it has a certificate, too."""
        storage = self.folder / ".local/share/caddy"
        # When it starts, Caddy deletes the folder of a site if it is empty. If that happens between
        # creating it and writing the key to it, Caddy tries again only after a minute.
        site = storage / "certificates/local" / NAME
        site.mkdir(parents=True, exist_ok=True)
        (site / "not-empty").touch()
        super().start()
        root = storage / "pki/authorities/local/root.crt"
        until_tls_answers(self.https_port, root)
        self.tls = ssl.create_default_context(cafile=root)
        return self

    def reload(self) -> None:
        since = len(self.lines)
        self._run(["caddy", "reload", "--force", *self._configuration()])
        self.wait_for(r"load complete|autosaved config", since)

    def _configuration(self) -> list[str]:
        return ["--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]


PROXIES: list[type[Nginx] | type[Caddy]] = [Nginx, Caddy]


def make_certificate(certificate: Path, key: Path) -> None:
    """Write a self-signed certificate for localhost."""
    key_options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    paths = ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", *key_options, *subject, *paths],
        check=True,
        capture_output=True,
    )


def until_tls_answers(port: int, root: Path) -> None:
    give_up_at = time.monotonic() + WAIT_SECONDS
    while True:
        assert time.monotonic() < give_up_at, "it gets no certificate"
        with suppress(OSError):  # no certificate yet, which is an SSLError and so an OSError
            context = ssl.create_default_context(cafile=root)
            with (
                socket.create_connection(("127.0.0.1", port)) as plain,
                context.wrap_socket(plain, server_hostname=NAME),
            ):
                return
        time.sleep(0.02)
