"""A receiver as a WSGI or an ASGI application. Mount it before anything that reads the body."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Awaitable, Callable, Iterable, Optional

from .receiver import Receiver
from .verification import Refused

WsgiApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
AsgiApplication = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


def wsgi(receiver: Receiver) -> WsgiApplication:
    """Flask: `DispatcherMiddleware(app, {"/hooks": wsgi(receiver)})`."""

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        headers = [(name[5:].replace("_", "-"), value) for name, value in environ.items() if name.startswith("HTTP_")]
        headers.append(("Content-Type", environ.get("CONTENT_TYPE", "")))

        def read(limit: int) -> bytes:
            length = _length(environ)
            if length is None:
                chunks: bytes = environ["wsgi.input"].read(limit + 1)
                return chunks
            if length > limit:
                raise Refused("body_too_large")
            body: bytes = environ["wsgi.input"].read(length)
            if len(body) < length:
                raise Refused("incomplete_body")
            return body

        answer = receiver.receive(environ["REQUEST_METHOD"], headers, read)
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", list(answer.headers.items()))
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]

    return application


def _length(environ: dict[str, Any]) -> Optional[int]:
    """The length of the body, or None where the server lets the input end with it, as those that decode chunks do.

    Without either, a read would wait for the end of the connection, and wsgiref's only thread with it.
    """
    length = environ.get("CONTENT_LENGTH") or ""
    if re.fullmatch("[0-9]{1,15}", length):
        return int(length)
    if environ.get("wsgi.input_terminated"):
        return None
    raise Refused("length_required")


def asgi(receiver: Receiver) -> AsgiApplication:
    """FastAPI, Starlette: `Route("/hooks", asgi(receiver), methods=["POST"])`.

    The log and a plain handler run in a thread. It is an object, because Starlette takes a function for an endpoint of
    its kind, and `mount` answers what is sent to `/hooks` with a redirect to `/hooks/`, which the service does not
    follow.
    """
    return _Asgi(receiver)


class _Asgi:
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await _live(receive, send)
        if scope["type"] != "http":
            raise RuntimeError(f"a receiver takes http, not {scope['type']}")
        pairs = list(scope["headers"])
        answer = await self._receiver.receive_async(scope["method"], pairs, lambda limit: _read(receive, limit))
        headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})


async def _read(receive: Receive, limit: int) -> bytes:
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused("incomplete_body")
        chunks.append(message.get("body", b""))
        if sum(map(len, chunks)) > limit:
            raise Refused("body_too_large")
        if not message.get("more_body", False):
            return b"".join(chunks)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
