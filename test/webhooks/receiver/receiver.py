"""A webhook receiver with nothing but Python's standard library, written from the specification's receiver rules.

Usage: receiver.py <file>. The file holds the subscription's secrets, one a line: the old and the new one while they are rotated. It is read
for each delivery, so a rotation needs no restart. Listens on a free port of loopback; prints {"port": n}, then each record that it
writes, as a line of JSON.
"""

import hashlib
import hmac
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SUITE = "service-webhook-v1"
SIGNATURE_HEADERS = ("X-Service-Signature-256", "X-Service-Signature-256-Next")
SIGNED_HEADERS = ("X-Service-Timestamp", "X-Service-Signature-Max-Age", "X-Service-Delivery", "X-Service-Event")
OWN_CEILING = 300
FUTURE_TOLERANCE = 60
LONGEST_BODY = 256 * 1024


class Refused(Exception):
    """A delivery that is not taken: the status to answer with, and why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status
        self.reason = reason


def only(headers, name):
    """The value of a header that is there exactly once, otherwise None: two of them would be ambiguous."""
    values = headers.get_all(name, [])
    return values[0] if len(values) == 1 else None


def verify(headers, body, secrets, now):
    """Checks a delivery in the order of the rules.

    Returns (delivery id, event type, the second until which the same request would pass again); raises Refused.
    """
    suite = only(headers, "X-Service-Signature-Suite")
    if suite != SUITE:
        raise Refused(401, "unsupported_suite")
    values = [only(headers, name) for name in SIGNED_HEADERS]
    timestamp, max_age, delivery, event = values
    if not all(values) or not all(re.fullmatch("[0-9]{1,15}", value) for value in (timestamp, max_age)):
        raise Refused(401, "malformed_headers")
    canonical = "\n".join((suite, timestamp, max_age, delivery, event)).encode("utf-8") + b"\n" + body
    given = [(only(headers, name) or "").encode("utf-8") for name in SIGNATURE_HEADERS]
    genuine = False
    for secret in secrets:
        expected = b"sha256=" + hmac.new(secret, canonical, hashlib.sha256).hexdigest().encode("ascii")
        for signature in given:
            genuine |= hmac.compare_digest(expected, signature)
    if not genuine:
        raise Refused(401, "invalid_signature")
    window = min(int(max_age), OWN_CEILING)
    if now - int(timestamp) > window:
        raise Refused(401, "stale_timestamp")
    if int(timestamp) - now > FUTURE_TOLERANCE:
        raise Refused(401, "future_timestamp")
    return delivery, event, int(timestamp) + window


class Deliveries:
    """The records of what was accepted, for as long as it could be replayed. A real receiver keeps them in its database."""

    def __init__(self):
        self.lock = threading.Lock()
        self.known = {}

    def accept(self, record, until, now):
        """Records a delivery before any side effect. Returns whether it is new."""
        with self.lock:
            self.known = {key: end for key, end in self.known.items() if end >= now}
            is_new = record["delivery_id"] not in self.known
            self.known[record["delivery_id"]] = max(until, self.known.get(record["delivery_id"], 0))
            if is_new:
                print(json.dumps(record), flush=True)
            return is_new


deliveries = Deliveries()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def take(self):
        try:
            self.answer(200, {"status": self.receive(self.read())})
        except Refused as refused:
            self.answer(refused.status, {"error": refused.reason})
        except OSError:
            # The secrets cannot be read: our own trouble, which passes.
            self.answer(500, {"error": "failed"})

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = take

    def receive(self, body):
        if self.command != "POST":
            raise Refused(405, "method_not_allowed")
        if only(self.headers, "Content-Type") is None or self.headers.get_content_type() != "application/json":
            raise Refused(415, "unsupported_media_type")
        with open(sys.argv[1], "rb") as file:
            secrets = file.read().split()
        now = time.time()
        delivery, event, until = verify(self.headers, body, secrets, now)
        payload = json.loads(body)
        record = {
            "delivery_id": delivery,
            "event_type": event,
            "received_at": now,
            "status": "accepted",
            "event_id": payload.get("event_id"),
        }
        return "processed" if deliveries.accept(record, until, now) else "ignored"

    def read(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > LONGEST_BODY:
            self.close_connection = True
            raise Refused(413, "body_too_large")
        return self.rfile.read(length)

    def answer(self, status, body):
        text = json.dumps(body, separators=(",", ":")).encode("utf-8")
        self.send_response(status)
        if status == 405:
            self.send_header("Allow", "POST")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(json.dumps({"port": server.server_port}), flush=True)
server.serve_forever()
