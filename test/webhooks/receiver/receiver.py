"""The receiver of packages/python/countersign-receiver in a server of Python's standard library.

Usage: receiver.py <file>. The file holds the subscription's secrets, one a line: the old and the new one while they are
rotated. It is read for each delivery, so a rotation needs no restart. Listens on a free port of loopback; prints
{"port": n}, then each record that it writes, and each refusal, as a line of JSON.
"""

import dataclasses
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "packages/python/countersign-receiver/src"))

from countersign_receiver import MemoryDeliveryLog, Receiver, Refused  # noqa: E402

printing = threading.Lock()


def say(value):
    # Each request has a thread, and print writes the end of a line by itself.
    with printing:
        print(json.dumps(value), flush=True)


class PrintedLog(MemoryDeliveryLog):
    def accept(self, record, body, replayable_until):
        acceptance = super().accept(record, body, replayable_until)
        if acceptance == "accepted":
            say(dataclasses.asdict(record))
        return acceptance


receiver = Receiver(
    secrets=lambda: Path(sys.argv[1]).read_text().split(),
    handler=lambda delivery: None,
    log=PrintedLog(),
    on_refused=lambda refused: say({"refused": dataclasses.asdict(refused)}),
)


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def take(self):
        answer = receiver.receive(self.command, self.headers.items(), self.read)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = take

    def read(self, limit):
        length = int(self.headers.get("Content-Length") or 0)
        if length > limit:
            self.close_connection = True
            raise Refused("body_too_large")
        return self.rfile.read(length)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
say({"port": server.server_port})
server.serve_forever()
