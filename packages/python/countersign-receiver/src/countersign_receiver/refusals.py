"""Tells the program of a receiver why a request was refused, because the sender sees only the reason's name."""

from __future__ import annotations

import logging
import re
import threading
import time
from dataclasses import dataclass
from typing import Optional

from .verification import DELIVERY_HEADER, EVENT_HEADER, TIMESTAMP_HEADER, HeaderReader, Refused

_logger = logging.getLogger("countersign_receiver")

_CHECKS = {
    "method_not_allowed": "deliveries are POST requests",
    "unsupported_media_type": "the content type is not that of a delivery; check what a proxy does with it",
    "unsupported_suite": "X-Service-Signature-Suite is absent or unknown: check that a proxy keeps the X-Service headers,"
    " that `signatures` of the subscription contains service-webhook-v1, and the version of this package",
    "malformed_headers": "an X-Service header is absent, repeated or malformed: check what a proxy does with them",
    "invalid_signature": "no secret of this receiver made the signature: check that it has the secret of this"
    " subscription, and that nothing changes the body on the way",
    "stale_timestamp": "the signature is too old: check the clock of this machine",
    "future_timestamp": "the signature is from the future: check the clock of this machine",
    "length_required": "the request has no Content-Length, and this WSGI server does not decode chunks: take another"
    " server, or have the proxy send the length",
    "body_too_large": "the body is larger than max_body_bytes; a delivery of the service fits the default",
    "incomplete_body": "the connection ended before the body was complete",
    "malformed_body": "the signed body is not JSON",
}


@dataclass(frozen=True)
class RefusedDelivery:
    """A refused request.

    `delivery_id`, `event_type` and `skew_seconds` are from its headers, which anybody can send: nothing has verified
    them, unless the reason is the age or the body.
    """

    reason: str
    status: int
    #: Whether the service gives the delivery up, as it does when the signed body itself is at fault. Otherwise a mended
    #: receiver loses nothing.
    final: bool
    #: What to check, in English.
    message: str
    delivery_id: Optional[str]
    event_type: Optional[str]
    #: This machine's clock minus the time of the signature.
    skew_seconds: Optional[int]


def describe_refusal(refused: Refused, headers: HeaderReader, now: float) -> RefusedDelivery:
    timestamp = headers.get(TIMESTAMP_HEADER) or ""
    return RefusedDelivery(
        reason=refused.reason,
        status=refused.status,
        final=refused.reason == "malformed_body",
        message=_CHECKS[refused.reason],
        delivery_id=_printable(headers.get(DELIVERY_HEADER)),
        event_type=_printable(headers.get(EVENT_HEADER)),
        skew_seconds=round(now - int(timestamp)) if re.fullmatch("[0-9]{1,15}", timestamp) else None,
    )


class RefusalLog:
    """Warns by `logging`, at most once a minute for each reason, so that forged requests do not fill a log."""

    QUIET_SECONDS = 60.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._quiet: dict[str, tuple[float, int]] = {}

    def __call__(self, refused: RefusedDelivery) -> None:
        now = time.monotonic()
        with self._lock:
            until, unprinted = self._quiet.get(refused.reason, (0.0, 0))
            if until > now:
                self._quiet[refused.reason] = (until, unprinted + 1)
                return
            self._quiet[refused.reason] = (now + self.QUIET_SECONDS, 0)
        is_age = refused.reason in ("stale_timestamp", "future_timestamp")
        parts = [
            f"Refused delivery {refused.delivery_id or '(without an id)'}: {refused.status} {refused.reason};"
            f" {refused.message}.",
            _describe_skew(refused.skew_seconds) if is_age and refused.skew_seconds is not None else "",
            "The service does not send it again." if refused.final else "The service sends it again.",
            f"({unprinted} more since the last line.)" if unprinted else "",
        ]
        _logger.warning("%s", " ".join(part for part in parts if part))


def _describe_skew(seconds: int) -> str:
    if seconds < 0:
        return f"Its time is {-seconds} s ahead of this clock."
    return f"By this clock it was signed {seconds} s ago."


def _printable(value: Optional[str]) -> Optional[str]:
    """Only what an id or a type of the service can be, so that no header writes into a log what it likes."""
    return value if value is not None and re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", value) else None
