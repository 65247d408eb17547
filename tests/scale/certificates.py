"""An authority of a test's own, and a certificate for every machine that is this one."""

from __future__ import annotations

import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificates(folder: Path) -> Path:
    """ca.pem, cert.pem and key.pem, as `--tls` takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    issuer = _named("tests")
    places = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    root = _signed(issuer, issuer, authority, authority)
    own = _signed(issuer, _named("machine"), key, authority, places)
    (folder / "ca.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    (folder / "cert.pem").write_bytes(own.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(private)
    return folder


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _signed(
    issuer: x509.Name,
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    by: ec.EllipticCurvePrivateKey,
    places: x509.SubjectAlternativeName | None = None,
) -> x509.Certificate:
    today = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=places is None, path_length=None), critical=True)
    )
    if places is not None:
        builder = builder.add_extension(places, critical=False)
    return builder.sign(by, hashes.SHA256())
