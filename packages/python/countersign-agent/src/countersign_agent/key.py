"""An agent's key: made here, read from a PEM, or kept elsewhere behind a callback."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Literal, Optional, Protocol, Union

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from .errors import AgentError

Algorithm = Literal["ed25519", "es256", "es256k"]

#: The service also knows bip340, for which the dependency has no signatures: see the README.
ALGORITHMS: tuple[Algorithm, ...] = ("ed25519", "es256", "es256k")

#: Of JWS, for proofs of possession. es256k has none that the service takes.
_JWS = {"ed25519": "EdDSA", "es256": "ES256"}

_PrivateKey = Union[ed25519.Ed25519PrivateKey, ec.EllipticCurvePrivateKey]


class Signer(Protocol):
    """What the agent needs of a key: a `Key`, or an object of yours before a KMS, an HSM, a library for bip340."""

    algorithm: str
    #: SHA-256 of the raw public key, in lowercase hex.
    fingerprint: str
    #: What a registration takes: a JWK, a PEM, or the raw key in hex.
    public_key: Union[str, dict[str, str]]

    def sign(self, message: bytes) -> bytes: ...


class Key:
    """A private key in this process."""

    public_key: Union[str, dict[str, str]]

    def __init__(self, private_key: _PrivateKey) -> None:
        self._private_key = private_key
        self.algorithm: Algorithm = _algorithm_of(private_key)
        self.jwk = _jwk_of(private_key)
        self.public_key = self.jwk
        self.fingerprint = hashlib.sha256(_raw_public(private_key)).hexdigest()

    @classmethod
    def generate(cls, algorithm: Algorithm = "ed25519") -> Key:
        if algorithm == "ed25519":
            return cls(ed25519.Ed25519PrivateKey.generate())
        if algorithm in ALGORITHMS:
            return cls(ec.generate_private_key(ec.SECP256R1() if algorithm == "es256" else ec.SECP256K1()))
        raise AgentError("invalid_key", f"{algorithm} is none of {', '.join(ALGORITHMS)}.")

    @classmethod
    def from_pem(cls, pem: Union[str, bytes], password: Optional[bytes] = None) -> Key:
        """Reads a private key in PEM: PKCS #8, or SEC 1 as older OpenSSL writes it."""
        data = pem.encode() if isinstance(pem, str) else pem
        try:
            found = serialization.load_pem_private_key(data, password)
        except (ValueError, TypeError) as error:
            # Without the cause: it could quote the key.
            raise AgentError("invalid_key", f"This is no private key in PEM ({type(error).__name__}).") from None
        if not isinstance(found, (ed25519.Ed25519PrivateKey, ec.EllipticCurvePrivateKey)):
            raise AgentError("invalid_key", f"The key is of none of {', '.join(ALGORITHMS)}.")
        return cls(found)

    @classmethod
    def load(cls, path: Union[str, Path], password: Optional[bytes] = None) -> Key:
        return cls.from_pem(Path(path).read_bytes(), password)

    @classmethod
    def load_or_generate(cls, path: Union[str, Path], algorithm: Algorithm = "ed25519") -> Key:
        """Loads the key, or makes one and stores it, readable by its owner only."""
        if Path(path).exists():
            return cls.load(path)
        key = cls.generate(algorithm)
        key.save(path)
        return key

    def save(self, path: Union[str, Path]) -> None:
        """Stores the key in PEM for its owner only; a file that is there is replaced as a whole."""
        temporary = Path(f"{path}.{os.getpid()}.new")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(self.to_pem())
        os.replace(temporary, path)

    def to_pem(self) -> bytes:
        return self._private_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def sign(self, message: bytes) -> bytes:
        """Signs as the service verifies: 64 bytes, for ECDSA `r‖s` over the SHA-256."""
        if isinstance(self._private_key, ed25519.Ed25519PrivateKey):
            return self._private_key.sign(message)
        r, s = decode_dss_signature(self._private_key.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def sign_jwt(self, header: dict[str, object], claims: dict[str, object]) -> str:
        """Signs a JWT whose header has the public key; raises AgentError for es256k."""
        alg = _JWS.get(self.algorithm)
        if alg is None:
            raise AgentError("invalid_key", f"{self.algorithm} signs no proof of possession: give a dpop_key.")
        parts = ({**header, "alg": alg, "jwk": self.jwk}, claims)
        text = ".".join(base64url(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
        return f"{text}.{base64url(self.sign(text.encode()))}"

    def __repr__(self) -> str:
        return f"Key({self.algorithm}, {self.fingerprint})"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _algorithm_of(key: _PrivateKey) -> Algorithm:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "ed25519"
    if isinstance(key.curve, ec.SECP256R1):
        return "es256"
    if isinstance(key.curve, ec.SECP256K1):
        return "es256k"
    raise AgentError("invalid_key", f"The curve {key.curve.name} is of none of {', '.join(ALGORITHMS)}.")


def _raw_public(key: _PrivateKey) -> bytes:
    public = key.public_key()
    if isinstance(public, ed25519.Ed25519PublicKey):
        return public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def _jwk_of(key: _PrivateKey) -> dict[str, str]:
    raw = _raw_public(key)
    algorithm = _algorithm_of(key)
    if algorithm == "ed25519":
        return {"kty": "OKP", "crv": "Ed25519", "x": base64url(raw)}
    crv = "P-256" if algorithm == "es256" else "secp256k1"
    return {"kty": "EC", "crv": crv, "x": base64url(raw[1:33]), "y": base64url(raw[33:])}


