"""A receiver by Python's standard library alone, written from what the service serves: /docs/guides/receiving.

Usage: WEBHOOK_SECRET=... receiver.py. Listens on a free port of loopback and prints its number.
"""

import hashlib
import hmac
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
SUITE = "service-webhook-v1"
MOST_BYTES = 257 * 1024
CEILING = 300

taken = {}
taking = threading.Lock()


def is_genuine(headers, body):
    named = [headers.get(f"X-Service-{name}", "") for name in ("Timestamp", "Signature-Max-Age", "Delivery", "Event")]
    signed = "\n".join([SUITE, *named, ""]).encode() + body
    made = "sha256=" + hmac.new(SECRET, signed, hashlib.sha256).hexdigest()
    sent = [headers.get(f"X-Service-Signature-256{end}", "") for end in ("", "-Next")]
    if not any([hmac.compare_digest(made.encode(), one.encode()) for one in sent]):
        return False
    timestamp, max_age = named[:2]
    if not (timestamp.isdigit() and max_age.isdigit()):
        return False
    age = time.time() - int(timestamp)
    return -60 <= age <= min(int(max_age), CEILING)


def is_first(delivery_id):
    now = time.time()
    with taking:
        for known, at in list(taken.items()):
            if at < now - 2 * CEILING:
                del taken[known]
        return taken.setdefault(delivery_id, now) == now


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        media = (self.headers.get("Content-Type") or "").split(";")[0].strip().lower()
        if length > MOST_BYTES or media not in ("application/json", "application/cloudevents+json"):
            return self.answer(401)
        if self.headers.get("X-Service-Signature-Suite") != SUITE:
            return self.answer(401)
        body = self.rfile.read(length)
        if not is_genuine(self.headers, body):
            return self.answer(401)
        if is_first(self.headers["X-Service-Delivery"]):
            print(json.loads(body)["type"], flush=True)
        self.answer(204)

    def refuse(self):
        self.answer(405)

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = refuse

    def answer(self, status):
        self.close_connection = True
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
