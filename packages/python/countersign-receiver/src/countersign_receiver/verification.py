"""Verifies a delivery in the order of the specification: the signature over the raw bytes before the age, no parsing."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Protocol, Sequence, Tuple, Union, runtime_checkable

SUITE = "service-webhook-v1"
SUITE_HEADER = "X-Service-Signature-Suite"
SIGNATURE_HEADERS = ("X-Service-Signature-256", "X-Service-Signature-256-Next")
TIMESTAMP_HEADER = "X-Service-Timestamp"
MAX_AGE_HEADER = "X-Service-Signature-Max-Age"
DELIVERY_HEADER = "X-Service-Delivery"
EVENT_HEADER = "X-Service-Event"

DEFAULT_MAX_AGE_SECONDS = 300
FUTURE_TOLERANCE_SECONDS = 60

#: The reasons to refuse a request, each with its answer. All but the last may come from the set-up (a wrong secret, a
#: clock that is off, a proxy), and have a status after which the service sends the delivery again.
REFUSALS = {
    "method_not_allowed": 405,
    "unsupported_media_type": 401,
    "unsupported_suite": 401,
    "malformed_headers": 401,
    "invalid_signature": 401,
    "stale_timestamp": 401,
    "future_timestamp": 401,
    "length_required": 411,
    "body_too_large": 401,
    "incomplete_body": 408,
    "malformed_body": 400,
}

Text = Union[str, bytes]
Value = Union[Text, Sequence[Text]]


@runtime_checkable
class Items(Protocol):
    """A mapping, or the headers of the standard library, which have a name as often as it came."""

    def items(self) -> Iterable[Tuple[str, Any]]: ...


#: Names are in any case (RFC 9110, section 5.1). A value may be a list, as gateways and functions have it.
Headers = Union[Mapping[str, Value], Items, Iterable[Tuple[Text, Value]]]


class Refused(Exception):
    """A request that is not accepted as a delivery."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = REFUSALS[reason]


@dataclass(frozen=True)
class Verified:
    """What the signature vouches for. The caller drops an id that it recorded within the replay window."""

    delivery_id: str
    event_type: str
    timestamp: int
    replay_window_seconds: int


@dataclass(frozen=True)
class Envelope:
    """The signed values of the headers, before they are verified."""

    timestamp: str
    max_age: str
    delivery_id: str
    event_type: str


class HeaderReader:
    """Headers by name in any case. A header that is there twice is ambiguous, and counts as absent."""

    def __init__(self, headers: Headers) -> None:
        pairs = headers.items() if isinstance(headers, Items) else headers
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            values = [value] if isinstance(value, (str, bytes)) else value
            self._values.setdefault(_text(name).lower(), []).extend(map(_text, values))

    def get(self, name: str) -> Optional[str]:
        values = self._values.get(name.lower(), [])
        return values[0] if len(values) == 1 else None


def verify_delivery(
    method: str,
    headers: Headers,
    body: bytes,
    secrets: Union[str, Sequence[str]],
    *,
    max_age_seconds: int = DEFAULT_MAX_AGE_SECONDS,
    now: float,
) -> Verified:
    """Verifies one request; raises Refused.

    :param body: the raw bytes, before any parsing
    :param secrets: the subscription's secret; during a rotation the old and the new one, of which either may have made
        the main signature or the `-Next` signature
    :param max_age_seconds: the receiver's limit; the sender's applies when it is smaller
    :param now: Unix seconds
    :raises ValueError: without a secret, or with an empty one, with which anybody could sign
    :raises TypeError: when the body is not bytes
    """
    keys = check_secrets(secrets)
    check_bytes(body)
    reader = HeaderReader(headers)
    return verify_envelope(read_envelope(method, reader), reader, body, keys, max_age_seconds, now)


def read_envelope(method: str, headers: HeaderReader) -> Envelope:
    """Makes the checks that need no body: method, content type, suite, presence of the signed values."""
    if method != "POST":
        raise Refused("method_not_allowed")
    media_type = (headers.get("Content-Type") or "").split(";")[0].strip().lower()
    if media_type not in ("application/json", "application/cloudevents+json"):
        raise Refused("unsupported_media_type")
    if headers.get(SUITE_HEADER) != SUITE:
        raise Refused("unsupported_suite")
    envelope = Envelope(
        timestamp=headers.get(TIMESTAMP_HEADER) or "",
        max_age=headers.get(MAX_AGE_HEADER) or "",
        delivery_id=headers.get(DELIVERY_HEADER) or "",
        event_type=headers.get(EVENT_HEADER) or "",
    )
    seconds = all(re.fullmatch("[0-9]{1,15}", text) for text in (envelope.timestamp, envelope.max_age))
    lines = all(re.fullmatch("[^\r\n]+", text) for text in (envelope.delivery_id, envelope.event_type))
    if not seconds or not lines:
        raise Refused("malformed_headers")
    return envelope


def verify_envelope(
    envelope: Envelope, headers: HeaderReader, body: bytes, secrets: Sequence[str], max_age_seconds: int, now: float
) -> Verified:
    """Verifies signature and age of a request whose headers were read."""
    values = (SUITE, envelope.timestamp, envelope.max_age, envelope.delivery_id, envelope.event_type)
    signed = "\n".join(values).encode() + b"\n" + body
    given = [(headers.get(name) or "").encode("utf-8", "replace") for name in SIGNATURE_HEADERS]
    genuine = False
    for secret in secrets:
        expected = b"sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
        for signature in given:
            genuine |= hmac.compare_digest(expected, signature)
    if not genuine:
        raise Refused("invalid_signature")
    timestamp = int(envelope.timestamp)
    window = min(int(envelope.max_age), max_age_seconds)
    if now - timestamp > window:
        raise Refused("stale_timestamp")
    if timestamp - now > FUTURE_TOLERANCE_SECONDS:
        raise Refused("future_timestamp")
    return Verified(envelope.delivery_id, envelope.event_type, timestamp, window)


def check_secrets(secrets: Union[str, Sequence[str]]) -> Sequence[str]:
    """Gives the secrets as a list; raises ValueError without one, or with an empty one."""
    keys = [secrets] if isinstance(secrets, str) else list(secrets)
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise ValueError("a secret is missing")
    return keys


def check_bytes(body: object) -> bytes:
    """Gives the body; raises TypeError when it is anything else, with what to give instead."""
    if isinstance(body, bytes):
        return body
    raise TypeError(
        "body: the raw bytes of the request are needed, because the signature is over them."
        " Give them as they came, and no text or parsed object."
    )


def _text(value: Text) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
