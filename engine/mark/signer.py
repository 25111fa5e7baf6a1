"""The key that signs Kawari's manifests: made on this computer when it is first needed.

A root and a signing certificate, both ES256 (P-256), with the extensions that C2PA asks for (C2PA
Technical Specification 2.2, section 14.5.1: digitalSignature, an extended key usage, no self-signed
end entity). Nobody else trusts the root; a person or company with a certificate of their own puts it in.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from engine.errors import InputError
from engine.folders import write_private

_VALID = datetime.timedelta(days=10 * 365)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and its certificates, PEM.

    Attributes:
        chain: the signing certificate, then those that lead to the root.
        key: the private key (PKCS #8).
        root: the root certificate, by which a reader recognises the chain.
    """

    chain: bytes
    key: bytes
    root: bytes


def local_signing_key(home: Path) -> SigningKey:
    """This computer's own key, kept in `signing/` readable by its owner only.

    Args:
        home: Kawari's folder.
    """
    folder = home / "signing"
    chain, key, root = folder / "chain.pem", folder / "key.pem", folder / "root.pem"
    if not all(path.is_file() for path in (chain, key, root)):
        made = _make()
        for path, data in ((root, made.root), (chain, made.chain), (key, made.key)):
            write_private(path, data)
    return SigningKey(chain.read_bytes(), key.read_bytes(), root.read_bytes())


def given_signing_key(chain: Path, key: Path) -> SigningKey:
    """A key of the user's own.

    Args:
        chain: PEM file, the signing certificate first.
        key: PEM file, unencrypted PKCS #8.

    Raises:
        InputError: a file is missing, no PEM, or the two do not belong together.
    """
    try:
        certificates = x509.load_pem_x509_certificates(chain.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            "The signing key or certificate can't be read", "Give two PEM files, the key without a password"
        ) from error
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    if certificates[0].public_key().public_bytes(*form) != private.public_key().public_bytes(*form):
        raise InputError(
            "The signing key does not belong to the first certificate", "Put the signer's certificate first"
        )
    root = certificates[-1].public_bytes(serialization.Encoding.PEM)
    return SigningKey(chain.read_bytes(), key.read_bytes(), root)


def _make() -> SigningKey:
    root_key, leaf_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = (
        _certificate("Kawari root of this computer", "Kawari root of this computer", root_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(root_key.public_key()), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    leaf = (
        _certificate("Kawari on this computer", "Kawari root of this computer", leaf_key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(leaf_key.public_key()), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    root_pem, leaf_pem = (each.public_bytes(serialization.Encoding.PEM) for each in (root, leaf))
    key_pem = leaf_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return SigningKey(leaf_pem + root_pem, key_pem, root_pem)


def _certificate(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    # An hour of slack: clocks of other computers may be behind.
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + _VALID)
    )


def _name(common: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Kawari"),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def _usage(*, certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificates,
        crl_sign=certificates,
        encipher_only=False,
        decipher_only=False,
    )
