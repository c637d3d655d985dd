"""Verifies and receives the deliveries of Countersign. Standard library only."""

from .adapters import asgi, wsgi
from .delivery_log import Acceptance, DeliveryLog, DeliveryRecord, DeliveryStatus, MemoryDeliveryLog
from .errors import RejectDelivery, RetryLater
from .receiver import Answer, Delivery, Receiver
from .refusals import RefusedDelivery
from .verification import Headers, Refused, Verified, verify_delivery

__all__ = [
    "Acceptance",
    "Answer",
    "Delivery",
    "DeliveryLog",
    "DeliveryRecord",
    "DeliveryStatus",
    "Headers",
    "MemoryDeliveryLog",
    "Receiver",
    "Refused",
    "RefusedDelivery",
    "RejectDelivery",
    "RetryLater",
    "Verified",
    "asgi",
    "verify_delivery",
    "wsgi",
]
