"""Requests by urllib: JSON and forms, proofs of possession with the server's nonces, refusals as AgentError."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Mapping, Optional
from urllib.parse import urlsplit

from .errors import AgentError
from .key import Key, base64url

#: Seconds before the second, third and fourth try of a request that the service refused for now.
_PAUSES = (0.25, 0.5, 1.0)

#: Seconds by which a clock may differ unnoticed: a Date header has whole seconds, and an answer takes time.
_UNNOTICED_SECONDS = 5

#: Servers of which something is remembered; beyond that the oldest is forgotten, which costs one repetition.
_MOST_SERVERS = 100


@dataclass(frozen=True)
class Response:
    """An answer. Header names are in lowercase."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        return json.loads(self.body)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes where it was sent, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Prover:
    """Makes DPoP proofs (RFC 9449), each with the nonce that its server asked for last, by the server's clock."""

    def __init__(self, key: Key, clock: Callable[[], float]) -> None:
        key.sign_jwt({}, {})
        self._key = key
        self._clock = clock
        self._lock = threading.Lock()
        #: The last nonce of each server, and the seconds by which its clock is ahead of the local one.
        self._servers: dict[str, tuple[Optional[str], float]] = {}

    def prove(self, method: str, url: str, access_token: Optional[str]) -> str:
        target = urlsplit(url)
        with self._lock:
            nonce, ahead = self._servers.get(_origin(url), (None, 0.0))
        claims: dict[str, object] = {
            "jti": base64url(os.urandom(16)),
            "htm": method,
            "htu": f"{target.scheme}://{target.netloc}{target.path or '/'}",
            "iat": int(self._clock() + ahead),
        }
        if nonce is not None:
            claims["nonce"] = nonce
        if access_token is not None:
            claims["ath"] = base64url(hashlib.sha256(access_token.encode()).digest())
        return self._key.sign_jwt({"typ": "dpop+jwt"}, claims)

    def learn(self, url: str, response: Response) -> bool:
        """Remembers nonce and time of an answer for the next proof. Says whether that makes a refused one worth a try."""
        sent = response.headers.get("dpop-nonce")
        told = _seconds_ahead(response, self._clock())
        with self._lock:
            nonce, before = self._servers.pop(_origin(url), (None, 0.0))
            ahead = before if told is None else told
            self._servers[_origin(url)] = (sent or nonce, ahead)
            if len(self._servers) > _MOST_SERVERS:
                del self._servers[next(iter(self._servers))]
        if _is_refused_with(response, "invalid_dpop_proof"):
            return abs(ahead - before) > _UNNOTICED_SECONDS
        return sent is not None and _is_refused_with(response, "use_dpop_nonce")


class Client:
    """Sends requests.

    :param prover: makes the proofs of possession; None for bearer tokens
    :param max_wait_seconds: the longest `Retry-After` that is waited for
    """

    def __init__(
        self,
        *,
        prover: Optional[Prover],
        timeout: float,
        max_wait_seconds: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.prover = prover
        self._timeout = timeout
        self._max_wait_seconds = max_wait_seconds
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirect())

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Optional[Mapping[str, str]] = None,
        body: Optional[bytes] = None,
        token: Optional[str] = None,
        token_type: str = "Bearer",
        proved: bool = False,
    ) -> Response:
        """Sends one request, and once more when the server asks for a nonce in the proof, or has another time."""
        for is_last in (False, True):
            fields = {"Accept": "application/json", **(headers or {})}
            is_bound = token is not None and token_type.lower() == "dpop"
            if token is not None:
                fields["Authorization"] = f"{token_type} {token}"
            if self.prover is not None and (proved or is_bound):
                fields["DPoP"] = self.prover.prove(method, url, token if is_bound else None)
            response = self._exchange(method, url, fields, body)
            has_learned = self.prover is not None and self.prover.learn(url, response)
            if is_last or not has_learned:
                return response
        raise AssertionError("unreachable")

    def call(
        self,
        method: str,
        url: str,
        *,
        json_body: Optional[Mapping[str, Any]] = None,
        form: Optional[Mapping[str, Optional[str]]] = None,
        basic: Optional[tuple[str, str]] = None,
        token: Optional[str] = None,
        token_type: str = "Bearer",
        proved: bool = False,
    ) -> dict[str, Any]:
        """Sends a request to the service, again when it is refused for now. Raises AgentError."""
        headers: dict[str, str] = {}
        body = None
        if json_body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps({name: value for name, value in json_body.items() if value is not None}).encode()
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urllib.parse.urlencode({name: value for name, value in form.items() if value is not None}).encode()
        if basic is not None:
            pair = ":".join(urllib.parse.quote_plus(part) for part in basic)
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        for pause in (*_PAUSES, None):
            response = self.send(
                method, url, headers=headers, body=body, token=token, token_type=token_type, proved=proved
            )
            if response.ok:
                return _parse(response)
            error = _error_of(response)
            wait = pause if error.retry_after_seconds is None else error.retry_after_seconds
            if pause is None or wait is None or response.status not in (429, 503) or wait > self._max_wait_seconds:
                raise error
            self._sleep(wait)
        raise AssertionError("unreachable")

    def _exchange(self, method: str, url: str, headers: Mapping[str, str], body: Optional[bytes]) -> Response:
        request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
        try:
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    return _response_of(answer.status, answer.headers, answer.read())
            except urllib.error.HTTPError as refused:
                with refused:
                    return _response_of(refused.code, refused.headers, refused.read())
        except (OSError, http.client.HTTPException) as error:
            raise AgentError("unreachable", f"{_origin(url)} could not be reached: {error}") from error


def _response_of(status: int, headers: Message, body: bytes) -> Response:
    return Response(status, {name.lower(): value for name, value in headers.items()}, body)


def _seconds_ahead(response: Response, now: float) -> Optional[float]:
    """Reads how far a server is ahead; None without a time, and for an answer that a cache has kept."""
    if "age" in response.headers:
        return None
    try:
        ahead = parsedate_to_datetime(response.headers["date"]).timestamp() - now
    except (KeyError, TypeError, ValueError):
        return None
    return ahead if abs(ahead) > _UNNOTICED_SECONDS else 0.0


def _is_refused_with(response: Response, code: str) -> bool:
    if response.status not in (400, 401):
        return False
    if response.status == 401 and code in response.headers.get("www-authenticate", ""):
        return True
    try:
        return bool(response.json()["error"] == code)
    except (ValueError, KeyError, TypeError):
        return False


def _parse(response: Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise AgentError(
            "unexpected_answer", f"The answer {response.status} is not a JSON object.", status=response.status
        )
    return answer


def _error_of(response: Response) -> AgentError:
    try:
        answer = _parse(response)
    except AgentError:
        answer = {}
    code = answer.get("error")
    detail = answer.get("detail") or answer.get("error_description")
    after = response.headers.get("retry-after", "")
    return AgentError(
        code if isinstance(code, str) else "unexpected_answer",
        detail if isinstance(detail, str) else f"The answer is {response.status}.",
        status=response.status,
        retry_after_seconds=float(after) if after.isdecimal() else None,
        request_id=response.headers.get("x-request-id"),
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
