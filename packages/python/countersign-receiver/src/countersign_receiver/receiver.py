"""The core of every receiver: verifies a request, records the delivery, calls the handler, and makes the answer."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from dataclasses import dataclass, field, replace
from typing import Any, Awaitable, Callable, Optional, Sequence, Union

from .delivery_log import DeliveryLog, DeliveryRecord, DeliveryStatus, MemoryDeliveryLog
from .errors import RejectDelivery, RetryLater
from .refusals import RefusalLog, RefusedDelivery, describe_refusal
from .verification import (
    DEFAULT_MAX_AGE_SECONDS,
    HeaderReader,
    Headers,
    Refused,
    check_bytes,
    check_secrets,
    read_envelope,
    verify_envelope,
)

_logger = logging.getLogger("countersign_receiver")

#: Added to the replay window: time passes between the check of a delivery's age and its lookup in the log.
_PASSING_SECONDS = 10

#: An event has at most 256 KiB, and the envelope of a CloudEvent adds some 100 bytes.
_MAX_BODY_BYTES = 257 * 1024

Secrets = Union[str, Sequence[str]]


@dataclass(frozen=True)
class Delivery:
    """A verified delivery. `payload` is the parsed body, `timestamp` the Unix seconds of this attempt's signature."""

    delivery_id: str
    event_type: str
    event_id: Optional[str]
    timestamp: int
    received_at: float
    payload: Any
    body: bytes


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[Delivery], Union[None, str, Awaitable[Union[None, str]]]]
#: Reads the body after the headers were checked: raises Refused("body_too_large") or Refused("incomplete_body").
BodyReader = Callable[[int], bytes]
AsyncBodyReader = Callable[[int], Awaitable[bytes]]


class Receiver:
    """Receives deliveries.

    :param secrets: the subscription's secret; during a rotation the old and the new one; or a function that reads them
    :param handler: processes a delivery. It may return "ignored", and may raise RetryLater or RejectDelivery; after any
        other exception the answer is 500, and the delivery comes again. Without one, the log is an inbox.
    :param log: what was accepted; a MemoryDeliveryLog unless given
    :param on_refused: called for each refused request; a warning by `logging` unless given
    """

    def __init__(
        self,
        *,
        secrets: Union[Secrets, Callable[[], Secrets]],
        handler: Optional[Handler] = None,
        log: Optional[DeliveryLog] = None,
        max_age_seconds: int = DEFAULT_MAX_AGE_SECONDS,
        max_body_bytes: int = _MAX_BODY_BYTES,
        on_refused: Optional[Callable[[RefusedDelivery], None]] = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not callable(secrets):
            check_secrets(secrets)
        self._secrets = secrets
        self._handler = handler
        self._log: DeliveryLog = MemoryDeliveryLog() if log is None else log
        self._max_age_seconds = max_age_seconds
        self._max_body_bytes = max_body_bytes
        self._on_refused = RefusalLog() if on_refused is None else on_refused
        self._clock = clock

    def receive(
        self,
        method: str,
        headers: Headers,
        body: Union[bytes, BodyReader],
    ) -> Answer:
        """Receives one request. Where an event loop is running, an asynchronous handler needs `receive_async`.

        :param headers: a mapping, or pairs as they came
        :param body: the raw bytes, or a function that reads at most so many
        :raises TypeError: when the body is not bytes
        """
        return self._take(method, headers, body, _run)

    async def receive_async(
        self,
        method: str,
        headers: Headers,
        body: Union[bytes, AsyncBodyReader],
    ) -> Answer:
        """The same for an asynchronous route: the log and a plain handler run in a thread, an asynchronous one here."""
        loop = asyncio.get_running_loop()

        def wait(coroutine: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

        def read(limit: int) -> bytes:
            raw: bytes = wait(body(limit)) if callable(body) else body
            return raw

        return await asyncio.to_thread(self._take, method, headers, read, wait)

    def _take(
        self, method: str, headers: Headers, body: Union[bytes, BodyReader], wait: Callable[[Any], Any]
    ) -> Answer:
        reader = HeaderReader(headers)
        try:
            envelope = read_envelope(method, reader)
            raw = check_bytes(body(self._max_body_bytes) if callable(body) else body)
            if len(raw) > self._max_body_bytes:
                raise Refused("body_too_large")
            try:
                secrets = check_secrets(self._secrets() if callable(self._secrets) else self._secrets)
            except Exception as error:
                return _answer_error(error)
            now = self._clock()
            verified = verify_envelope(envelope, reader, raw, secrets, self._max_age_seconds, now)
            payload = _parse(raw)
        except Refused as refused:
            self._tell(describe_refusal(refused, reader, self._clock()))
            return _refuse(refused.status, refused.reason)
        delivery = Delivery(
            delivery_id=verified.delivery_id,
            event_type=verified.event_type,
            event_id=_event_id(payload, reader),
            timestamp=verified.timestamp,
            received_at=now,
            payload=payload,
            body=raw,
        )
        return self._accept(delivery, verified.timestamp + verified.replay_window_seconds + _PASSING_SECONDS, wait)

    def _accept(self, delivery: Delivery, replayable_until: float, wait: Callable[[Any], Any]) -> Answer:
        record = DeliveryRecord(
            delivery_id=delivery.delivery_id,
            event_type=delivery.event_type,
            received_at=delivery.received_at,
            status="accepted",
            event_id=delivery.event_id,
        )
        try:
            acceptance = self._log.accept(record, delivery.body, replayable_until)
        except Exception as error:
            return _answer_error(error)
        if acceptance == "in_progress" and self._handler is not None:
            return _refuse(503, "in_progress")
        if acceptance != "accepted":
            return _answer(200, {"status": "ignored"})
        if self._handler is None:
            return _answer(202, {"status": "accepted"})
        try:
            result = self._handler(delivery)
            if inspect.isawaitable(result):
                result = wait(result)
        except Exception as error:
            self._settle(record, "failed")
            return _answer_error(error)
        status: DeliveryStatus = "ignored" if result == "ignored" else "processed"
        self._settle(record, status)
        return _answer(200, {"status": status})

    def _settle(self, record: DeliveryRecord, status: DeliveryStatus) -> None:
        try:
            self._log.settle(replace(record, status=status))
        except Exception:
            # The result of the handler decides the answer, even when its status could not be stored.
            _logger.exception("The status of delivery %s could not be stored", record.delivery_id)

    def _tell(self, refused: RefusedDelivery) -> None:
        """What the program does with the report must not change the answer."""
        try:
            self._on_refused(refused)
        except Exception:
            _logger.exception("on_refused failed")


def _run(awaitable: Any) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaitable)
    if inspect.iscoroutine(awaitable):
        awaitable.close()
    raise RuntimeError(
        "receive() cannot wait for an asynchronous handler where an event loop is running:"
        " call `await receiver.receive_async(method, headers, body)`"
    )


def _answer_error(error: Exception) -> Answer:
    if isinstance(error, RejectDelivery):
        return _refuse(422, "rejected")
    if not isinstance(error, RetryLater):
        _logger.error("A delivery failed and comes again", exc_info=error)
        return _refuse(500, "failed")
    answer = _refuse(500 if error.only_this_delivery else 503, "retry_later")
    answer.headers["Retry-After"] = str(error.seconds)
    return answer


def _refuse(status: int, error: str) -> Answer:
    answer = _answer(status, {"error": error})
    if status == 405:
        answer.headers["Allow"] = "POST"
    return answer


def _answer(status: int, body: dict[str, str]) -> Answer:
    text = json.dumps(body, separators=(",", ":")).encode()
    return Answer(status, text, {"Content-Type": "application/json", "Content-Length": str(len(text))})


def _parse(body: bytes) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Refused("malformed_body") from None


def _event_id(payload: Any, headers: HeaderReader) -> Optional[str]:
    """The id of the event in the service's own body, or in a CloudEvent's. A header is not signed, and says nothing."""
    if headers.get("ce-specversion") is not None or not isinstance(payload, dict):
        return None
    found = payload.get("id" if "specversion" in payload else "event_id")
    return found if isinstance(found, str) else None
