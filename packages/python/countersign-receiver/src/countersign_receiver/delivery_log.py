"""The record of accepted deliveries, which prevents that a delivery is processed twice."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from typing import Literal, Optional, Protocol

from .errors import RetryLater

DeliveryStatus = Literal["accepted", "processed", "failed", "ignored"]

#: `accepted`: the delivery is new, or must be handled again. `in_progress`: a handler has not finished it.
#: `duplicate`: it needs no further processing.
Acceptance = Literal["accepted", "in_progress", "duplicate"]

_FOUR_DAYS = 4 * 24 * 60 * 60


@dataclass(frozen=True)
class DeliveryRecord:
    """What is stored of a delivery. `received_at` is in Unix seconds; `event_id` is absent when the payload has none."""

    delivery_id: str
    event_type: str
    received_at: float
    status: DeliveryStatus
    event_id: Optional[str] = None


class DeliveryLog(Protocol):
    """Records deliveries. Both methods return only when the change is durable; after an exception the answer is 5xx."""

    def accept(self, record: DeliveryRecord, body: bytes, replayable_until: float) -> Acceptance:
        """Records a delivery before any side effect, in one atomic step.

        Of concurrent calls with one `delivery_id` exactly one gets `accepted`. A call also gets it, and replaces the
        record, when the status is `failed`, or when it has been `accepted` for so long that the handler must have died.
        Keep a record at least until the latest `replayable_until` (Unix seconds), and better for a week.
        """

    def settle(self, record: DeliveryRecord) -> None:
        """Stores the status in which a handler ended, unless another `received_at` has replaced the record."""


@dataclass
class _Entry:
    record: DeliveryRecord
    replayable_until: float


class MemoryDeliveryLog:
    """A log that is lost when its process ends: for tests, and for receivers of one process that may lose it.

    A full log removes the oldest record that cannot be replayed any more. When there is none it raises RetryLater.
    """

    def __init__(
        self, *, limit: int = 100_000, keep_seconds: float = _FOUR_DAYS, lease_seconds: float = 300
    ) -> None:
        self._limit = limit
        self._keep_seconds = keep_seconds
        self._lease_seconds = lease_seconds
        self._lock = threading.Lock()
        # In the order of receipt: a dict keeps the order of insertion.
        self._entries: dict[str, _Entry] = {}

    def accept(self, record: DeliveryRecord, body: bytes, replayable_until: float) -> Acceptance:
        now = record.received_at
        with self._lock:
            known = self._entries.get(record.delivery_id)
            if known is not None:
                acceptance = self._judge(known, now)
                known.replayable_until = replayable_until = max(known.replayable_until, replayable_until)
                if acceptance != "accepted":
                    return acceptance
                del self._entries[record.delivery_id]
            self._make_room(now)
            self._entries[record.delivery_id] = _Entry(record, replayable_until)
            return "accepted"

    def settle(self, record: DeliveryRecord) -> None:
        with self._lock:
            entry = self._entries.get(record.delivery_id)
            if entry is not None and entry.record.received_at == record.received_at:
                entry.record = replace(record)

    def records(self) -> list[DeliveryRecord]:
        """All records, in the order of receipt."""
        with self._lock:
            return [entry.record for entry in self._entries.values()]

    def _lease_end(self, entry: _Entry) -> float:
        return entry.record.received_at + self._lease_seconds

    def _keep_end(self, entry: _Entry) -> float:
        return entry.record.received_at + self._keep_seconds

    def _needed_until(self, entry: _Entry) -> float:
        """Until when removing the record could cause a second run of its handler; 0 for a failed delivery."""
        if entry.record.status == "failed":
            return 0
        return max(entry.replayable_until, self._lease_end(entry) if entry.record.status == "accepted" else 0)

    def _judge(self, entry: _Entry, now: float) -> Acceptance:
        if entry.record.status == "failed":
            return "accepted"
        if entry.record.status == "accepted":
            return "in_progress" if self._lease_end(entry) > now else "accepted"
        return "duplicate" if max(self._keep_end(entry), entry.replayable_until) > now else "accepted"

    def _make_room(self, now: float) -> None:
        for key, entry in list(self._oldest(now)):
            del self._entries[key]
        if len(self._entries) < self._limit:
            return
        soonest = math.inf
        for key, entry in self._entries.items():
            needed_until = self._needed_until(entry)
            if needed_until <= now:
                del self._entries[key]
                return
            soonest = min(soonest, needed_until)
        raise RetryLater(math.ceil(soonest - now))

    def _oldest(self, now: float) -> list[tuple[str, _Entry]]:
        ended = []
        for key, entry in self._entries.items():
            if max(self._keep_end(entry), self._needed_until(entry)) > now:
                break
            ended.append((key, entry))
        return ended
