"""A webhook receiver with nothing but Python's standard library, written from the specification's receiver rules.

Usage: receiver.py <secret>. Listens on a free port of loopback and prints it.
"""

import hashlib
import hmac
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = sys.argv[1].encode("utf-8")
OWN_MAX_AGE = 300
seen = {}


def refusal(headers, body):
    """The status and the reason to refuse a delivery with, in the order of the rules; None when it is genuine."""
    suite = headers.get("X-Service-Signature-Suite")
    if suite != "service-webhook-v1":
        return 400, "suite"
    names = ("X-Service-Timestamp", "X-Service-Signature-Max-Age", "X-Service-Delivery", "X-Service-Event")
    values = [headers.get(name, "") for name in names]
    canonical = "\n".join([suite, *values]).encode("utf-8") + b"\n" + body
    expected = "sha256=" + hmac.new(SECRET, canonical, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, headers.get("X-Service-Signature-256", "")):
        return 401, "signature"
    timestamp, max_age = int(values[0]), int(values[1])
    if time.time() - timestamp > min(max_age, OWN_MAX_AGE):
        return 400, "stale"
    return None


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get_content_type() != "application/json":
            return self.answer(415, "type")
        refused = refusal(self.headers, body)
        if refused is not None:
            return self.answer(*refused)
        delivery = self.headers["X-Service-Delivery"]
        if delivery in seen:
            return self.answer(200, "duplicate")
        seen[delivery] = time.time()
        return self.answer(202, "accepted")

    def answer(self, status, reason):
        self.send_response(status)
        self.send_header("Content-Length", str(len(reason)))
        self.end_headers()
        self.wfile.write(reason.encode("ascii"))

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
