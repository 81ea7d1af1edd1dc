"""A certificate authority made for the tests."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates. Clients trust it if SSL_CERT_FILE names its `file`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("An authority of the tests")
        certificate = (
            _builder(self._name, self._name, self._key.public_key(), 365)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = directory / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def context(self, host: str = "localhost", days: float = 90) -> ssl.SSLContext:
        """Return a server's TLS context with a certificate for this host, valid for `days` more
        days."""
        return self._context(host, days, is_self_signed=False)

    def self_signed(self, host: str = "localhost") -> ssl.SSLContext:
        return self._context(host, 90, is_self_signed=True)

    def _context(self, host: str, days: float, *, is_self_signed: bool) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = _name(host) if is_self_signed else self._name
        certificate = (
            _builder(_name(host), issuer, key.public_key(), days)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(key if is_self_signed else self._key, hashes.SHA256())
        )
        file = self._directory / "server.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        return context


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=365))
        .not_valid_after(now + timedelta(days=days))
    )
