"""What a receiver answers, tells, records and forgets."""

import asyncio
import hashlib
import hmac
import io
import json
import socket
import threading
import unittest
import warnings
from email.message import Message
from wsgiref.simple_server import WSGIRequestHandler, make_server

from countersign_receiver import MemoryDeliveryLog, Receiver, RejectDelivery, RetryLater, asgi, verify_delivery, wsgi

SECRET = "whsec_current-secret-of-this-subscription"
NOW = 1_800_000_000
BODY = json.dumps({"event_id": "e-1", "type": "a.b", "data": {"text": "grüße"}}, ensure_ascii=False).encode()


def signed(body=BODY, secret=SECRET, delivery="d-1", timestamp=NOW, max_age=300, header="X-Service-Signature-256"):
    lines = ("service-webhook-v1", str(timestamp), str(max_age), delivery, "a.b")
    text = "\n".join(lines).encode() + b"\n" + body
    return {
        "content-type": "application/json; charset=utf-8",
        "x-service-signature-suite": lines[0],
        "X-Service-Timestamp": lines[1],
        "X-Service-Signature-Max-Age": lines[2],
        "X-Service-Delivery": lines[3],
        "X-Service-Event": lines[4],
        header: "sha256=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest(),
    }


class Case(unittest.TestCase):
    def setUp(self):
        self.refused = []
        self.taken = []
        self.now = NOW
        self.log = MemoryDeliveryLog()

    def receiver(self, **options):
        settings = {
            "secrets": SECRET,
            "handler": self.taken.append,
            "log": self.log,
            "on_refused": self.refused.append,
            "clock": lambda: self.now,
        }
        return Receiver(**{**settings, **options})

    def answer(self, receiver=None, method="POST", headers=None, body=BODY):
        found = (receiver or self.receiver()).receive(method, signed() if headers is None else headers, body)
        return found.status, json.loads(found.body).popitem()[1]


class Answers(Case):
    def test_takes_a_delivery_once(self):
        receiver = self.receiver()
        self.assertEqual(self.answer(receiver), (200, "processed"))
        self.assertEqual(self.answer(receiver), (200, "ignored"))
        (delivery,) = self.taken
        self.assertEqual((delivery.delivery_id, delivery.event_id, delivery.event_type), ("d-1", "e-1", "a.b"))
        self.assertEqual(delivery.payload["data"], {"text": "grüße"})
        self.assertEqual([record.status for record in self.log.records()], ["processed"])
        self.assertEqual(self.refused, [])

    def test_takes_either_signature_of_a_rotation(self):
        by_next = signed(secret="whsec_next", header="X-Service-Signature-256-Next")
        headers = {**signed(secret="whsec_old"), **by_next}
        for number, secrets in enumerate(["whsec_old", "whsec_next", ["whsec_other", "whsec_next"], lambda: "whsec_old"]):
            receiver = self.receiver(secrets=secrets, log=MemoryDeliveryLog())
            self.assertEqual(self.answer(receiver, headers=headers), (200, "processed"), number)

    def test_refuses_and_tells_why(self):
        without = {name: value for name, value in signed().items() if name != "X-Service-Delivery"}
        twice = [*signed().items(), ("x-service-timestamp", str(NOW))]
        cases = [
            (405, "method_not_allowed", dict(method="GET")),
            (401, "unsupported_media_type", dict(headers={**signed(), "content-type": "text/plain"})),
            (401, "unsupported_suite", dict(headers={**signed(), "x-service-signature-suite": "service-webhook-v2"})),
            (401, "malformed_headers", dict(headers=without)),
            (401, "malformed_headers", dict(headers=twice)),
            (401, "invalid_signature", dict(headers=signed(secret="whsec_another"))),
            (401, "invalid_signature", dict(body=BODY + b" ")),
            (401, "stale_timestamp", dict(headers=signed(timestamp=NOW - 301))),
            (401, "stale_timestamp", dict(headers=signed(timestamp=NOW - 61, max_age=60))),
            (401, "future_timestamp", dict(headers=signed(timestamp=NOW + 61))),
            (401, "body_too_large", dict(body=b"x" * (257 * 1024 + 1))),
            (400, "malformed_body", dict(headers=signed(b"{"), body=b"{")),
            (400, "malformed_body", dict(headers=signed(b"NaN"), body=b"NaN")),
        ]
        for status, reason, request in cases:
            self.assertEqual(self.answer(**request), (status, reason), request)
            told = self.refused.pop()
            self.assertEqual((told.reason, told.status, told.final), (reason, status, reason == "malformed_body"))
        self.assertEqual(self.taken, [])
        self.assertEqual(self.log.records(), [])

    def test_reads_names_in_any_case_and_a_list_of_one_as_gateways_and_functions_hand_headers_over(self):
        message = Message()
        for name, value in signed().items():
            message[name] = value
        for headers in (
            {name.title(): value for name, value in signed().items()},
            {name.upper(): [value] for name, value in signed().items()},
            [(name.encode(), value.encode()) for name, value in signed().items()],
            message,
        ):
            receiver = self.receiver(log=MemoryDeliveryLog())
            self.assertEqual(self.answer(receiver, headers=headers), (200, "processed"), headers)
        for twice in (["d-1", "d-1"], []):
            headers = {**signed(), "X-Service-Delivery": twice}
            self.assertEqual(self.answer(headers=headers), (401, "malformed_headers"))

    def test_says_that_it_needs_bytes(self):
        for body in ("{}", lambda limit: "{}", {"event_id": "e-1"}, None):
            with self.assertRaisesRegex(TypeError, "^body: .*bytes"):
                self.receiver().receive("POST", signed(), body)
        for body in ("{}", None):
            with self.assertRaisesRegex(TypeError, "^body: .*bytes"):
                verify_delivery("POST", signed(), body, SECRET, now=NOW)
        self.assertEqual(self.refused, [])

    def test_tells_the_difference_of_the_clocks_and_nothing_that_a_header_could_write(self):
        self.answer(headers=signed(timestamp=NOW - 400, delivery="d-9"))
        self.assertEqual((self.refused[-1].skew_seconds, self.refused[-1].delivery_id), (400, "d-9"))
        self.answer(headers={**signed(), "X-Service-Delivery": "d\x1b[31m"})
        self.assertIsNone(self.refused[-1].delivery_id)

    def test_warns_once_a_minute_for_each_reason_unless_told_otherwise(self):
        receiver = self.receiver(on_refused=None)
        with self.assertLogs("countersign_receiver", "WARNING") as logs:
            for _ in range(3):
                self.answer(receiver, headers=signed(secret="whsec_another"))
            self.answer(receiver, headers=signed(timestamp=NOW - 400))
            self.answer(receiver, headers=signed(timestamp=NOW + 3599))
        self.assertEqual(len(logs.output), 3)
        self.assertIn("401 invalid_signature", logs.output[0])
        self.assertIn("The service sends it again.", logs.output[0])
        self.assertIn("signed 400 s ago", logs.output[1])
        self.assertIn("3599 s ahead", logs.output[2])

    def test_a_report_that_fails_changes_no_answer(self):
        def fail(_):
            raise RuntimeError("a report")

        with self.assertLogs("countersign_receiver", "ERROR"):
            self.assertEqual(self.answer(self.receiver(on_refused=fail), headers={})[0], 401)

    def test_answers_as_the_handler_ends(self):
        def ends(error):
            def handle(_):
                raise error

            return handle

        cases = [
            (lambda _: "ignored", (200, "ignored"), "ignored", None),
            (ends(RejectDelivery()), (422, "rejected"), "failed", None),
            (ends(RetryLater(60)), (503, "retry_later"), "failed", "60"),
            (ends(RetryLater(5, only_this_delivery=True)), (500, "retry_later"), "failed", "5"),
        ]
        for handler, answer, status, retry_after in cases:
            log = MemoryDeliveryLog()
            receiver = self.receiver(handler=handler, log=log)
            found = receiver.receive("POST", signed(), BODY)
            self.assertEqual((found.status, json.loads(found.body).popitem()[1]), answer)
            self.assertEqual(found.headers.get("Retry-After"), retry_after)
            self.assertEqual([record.status for record in log.records()], [status])

    def test_a_fault_of_handler_log_or_secrets_is_a_500_and_the_delivery_comes_again(self):
        def fail(*_):
            raise RuntimeError("a fault")

        class Broken(MemoryDeliveryLog):
            accept = fail

        class Forgetful(MemoryDeliveryLog):
            settle = fail

        with self.assertLogs("countersign_receiver", "ERROR"):
            for options in ({"handler": fail}, {"log": Broken()}, {"secrets": fail}, {"secrets": lambda: []}):
                self.assertEqual(self.answer(self.receiver(**options)), (500, "failed"), options)
            self.assertEqual(self.answer(self.receiver(log=Forgetful())), (200, "processed"))
        self.assertEqual(self.answer(), (200, "processed"))

    def test_without_a_handler_the_log_is_an_inbox(self):
        receiver = self.receiver(handler=None)
        self.assertEqual([self.answer(receiver), self.answer(receiver)], [(202, "accepted"), (200, "ignored")])

    def test_another_attempt_meanwhile_is_asked_to_come_again(self):
        def handle(_):
            inner.append(self.answer(receiver))

        inner = []
        receiver = self.receiver(handler=handle)
        self.assertEqual(self.answer(receiver), (200, "processed"))
        self.assertEqual(inner, [(503, "in_progress")])

    def test_a_secret_that_anybody_knows_is_refused_at_the_start(self):
        for secrets in ("", [], [SECRET, ""]):
            with self.assertRaises(ValueError):
                Receiver(secrets=secrets)

    def test_an_event_id_is_what_was_signed(self):
        for body, expected in ((b'{"specversion":"1.0","id":"c-1"}', "c-1"), (b'{"event_id":7}', None), (b"[]", None)):
            self.answer(self.receiver(log=MemoryDeliveryLog()), headers=signed(body), body=body)
            self.assertEqual(self.taken.pop().event_id, expected)
        self.answer(headers={**signed(), "ce-specversion": "1.0"})
        self.assertIsNone(self.taken.pop().event_id)

    def test_the_check_alone(self):
        verified = verify_delivery("POST", signed(), BODY, SECRET, now=NOW + 5)
        self.assertEqual((verified.delivery_id, verified.replay_window_seconds), ("d-1", 300))


class Async(Case):
    def test_takes_a_delivery_within_a_route_that_is_asynchronous(self):
        async def handle(delivery):
            await asyncio.sleep(0)
            self.taken.append((delivery, asyncio.get_running_loop()))

        async def read(limit):
            await asyncio.sleep(0)
            return BODY

        async def main():
            for body in (BODY, read):
                receiver = self.receiver(handler=handle, log=MemoryDeliveryLog())
                answer = await receiver.receive_async("POST", signed(), body)
                self.assertEqual((answer.status, self.taken.pop()[1]), (200, asyncio.get_running_loop()))
            answer = await self.receiver(handler=None).receive_async("POST", signed(secret="whsec_another"), BODY)
            self.assertEqual((answer.status, self.refused.pop().reason), (401, "invalid_signature"))
            with self.assertRaisesRegex(TypeError, "^body: .*bytes"):
                await self.receiver().receive_async("POST", signed(), "{}")

        asyncio.run(main())

    def test_says_what_to_call_where_a_loop_is_running(self):
        async def handle(_):
            raise AssertionError("is not run")

        async def main():
            return self.receiver(handler=handle).receive("POST", signed(), BODY)

        with self.assertLogs("countersign_receiver", "ERROR") as logs, warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(asyncio.run(main()).status, 500)
        self.assertIn("await receiver.receive_async(", logs.output[0])


class Log(Case):
    def take(self, at, delivery="d-1", handler=None):
        self.now = at
        receiver = self.receiver(handler=handler or self.taken.append)
        return self.answer(receiver, headers=signed(delivery=delivery, timestamp=at))

    def test_takes_a_failed_delivery_again(self):
        def fail(_):
            raise RetryLater(1)

        self.assertEqual(self.take(NOW, handler=fail), (503, "retry_later"))
        self.assertEqual(self.take(NOW + 1), (200, "processed"))

    def test_takes_over_from_a_handler_that_must_have_died(self):
        self.log = MemoryDeliveryLog(lease_seconds=100)

        def die(_):
            raise SystemExit

        with self.assertRaises(SystemExit):
            self.take(NOW, handler=die)
        self.assertEqual(self.take(NOW + 99), (503, "in_progress"))
        self.assertEqual(self.take(NOW + 101), (200, "processed"))

    def test_forgets_after_its_time_and_not_before_the_request_is_too_old(self):
        self.log = MemoryDeliveryLog(keep_seconds=100)
        self.take(NOW)
        self.assertEqual(self.take(NOW + 300), (200, "ignored"))
        self.assertEqual(self.take(NOW + 609), (200, "ignored"))
        self.assertEqual(self.take(NOW + 920), (200, "processed"))

    def test_a_full_log_forgets_what_cannot_be_replayed_and_else_asks_for_patience(self):
        self.log = MemoryDeliveryLog(limit=2)
        self.take(NOW, "a")
        self.take(NOW, "b")
        self.assertEqual(self.take(NOW + 100, "c"), (503, "retry_later"))
        self.assertEqual(self.take(NOW + 311, "c"), (200, "processed"))
        self.assertEqual([record.delivery_id for record in self.log.records()], ["b", "c"])


class Adapters(Case):
    def wsgi(self, body=BODY, length=None, **environ):
        started = []
        names = {name.upper().replace("-", "_"): value for name, value in signed(body).items()}
        content_type = names.pop("CONTENT_TYPE")
        full = {
            **{f"HTTP_{name}": value for name, value in names.items()},
            "REQUEST_METHOD": "POST",
            "CONTENT_TYPE": content_type,
            "CONTENT_LENGTH": str(len(body) if length is None else length),
            "wsgi.input": io.BytesIO(body),
            **environ,
        }
        body = b"".join(wsgi(self.receiver())(full, lambda *words: started.append(words)))
        (status, headers), = started
        return status, dict(headers).get("Content-Type"), body

    def test_wsgi(self):
        kind = "application/json"
        self.assertEqual(self.wsgi(), ("200 OK", kind, b'{"status":"processed"}'))
        self.assertEqual(self.wsgi(length=10**7)[0], "401 Unauthorized")
        self.assertEqual(self.wsgi(length=len(BODY) + 1)[0], "408 Request Timeout")
        self.assertEqual(self.wsgi(length="", **{"wsgi.input_terminated": True})[2], b'{"status":"ignored"}')
        self.assertEqual(self.wsgi(REQUEST_METHOD="HEAD"), ("405 Method Not Allowed", kind, b""))

    def test_wsgi_waits_for_no_end_that_its_server_does_not_know(self):
        for length in ("", "-1", "+9", "nine"):
            self.assertEqual(self.wsgi(length=length)[0::2], ("411 Length Required", b'{"error":"length_required"}'))
            self.assertFalse(self.refused.pop().final)

    def test_wsgi_under_wsgiref_refuses_chunks_so_that_they_come_again(self):
        class Quiet(WSGIRequestHandler):
            def log_message(self, *_):
                pass

        server = make_server("127.0.0.1", 0, wsgi(self.receiver()), handler_class=Quiet)
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        try:
            with socket.create_connection(server.server_address, timeout=20) as connection:
                head = "".join(f"{name}: {value}\r\n" for name, value in signed().items())
                chunk = b"%x\r\n%s\r\n" % (len(BODY), BODY)
                connection.sendall(f"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{head}\r\n".encode() + chunk)
                # The last chunk is still to come when the answer is there.
                self.assertRegex(connection.recv(100), b"^HTTP/1.0 411 ")
        finally:
            thread.join()
            server.server_close()

    def asgi(self, messages, handler=None, headers=None):
        sent = []

        async def main():
            incoming = iter(messages)

            async def receive():
                return next(incoming)

            async def send(message):
                sent.append(message)

            pairs = [(name.lower().encode(), value.encode()) for name, value in (headers or signed()).items()]
            scope = {"type": "http", "method": "POST", "headers": pairs}
            await asgi(self.receiver(handler=handler or self.taken.append))(scope, receive, send)

        asyncio.run(main())
        return sent[0]["status"], sent[1]["body"]

    def test_asgi(self):
        parts = [
            {"type": "http.request", "body": BODY[:9], "more_body": True},
            {"type": "http.request", "body": BODY[9:], "more_body": False},
        ]

        async def handle(delivery):
            await asyncio.sleep(0)
            self.taken.append(delivery)

        self.assertEqual(self.asgi(parts, handle), (200, b'{"status":"processed"}'))
        self.assertEqual(len(self.taken), 1)
        self.assertEqual(self.asgi(parts[:1] + [{"type": "http.disconnect"}]), (408, b'{"error":"incomplete_body"}'))
        large = {"type": "http.request", "body": b"x" * 200_000, "more_body": True}
        self.assertEqual(self.asgi([large, large]), (401, b'{"error":"body_too_large"}'))

    def test_asgi_lifespan(self):
        sent = []

        async def main():
            incoming = iter(["lifespan.startup", "lifespan.shutdown"])

            async def receive():
                return {"type": next(incoming)}

            async def send(message):
                sent.append(message["type"])

            await asgi(self.receiver())({"type": "lifespan"}, receive, send)

        asyncio.run(main())
        self.assertEqual(sent, ["lifespan.startup.complete", "lifespan.shutdown.complete"])


if __name__ == "__main__":
    unittest.main()
