"""An agent: enrols its key, answers challenges, keeps its tokens fresh, rotates its key."""

from __future__ import annotations

import base64
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional, Union
from urllib.parse import urlsplit

from .errors import AgentError
from .http import Client, Prover, Response
from .key import Key, Signer
from .payloads import challenge_payload, enrollment_payload, rotation_payload

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"


@dataclass(frozen=True)
class Token:
    """An access token. `expires_at` is in Unix seconds of this machine's clock; `token_type` is Bearer or DPoP."""

    access_token: str = field(repr=False)
    token_type: str
    expires_at: float
    scope: str

    def __str__(self) -> str:
        return self.access_token


@dataclass(frozen=True)
class Rotation:
    """A rotation that has begun. The old key works until its sunset."""

    rotation_id: str
    new_key_id: str


@dataclass
class _Slot:
    """One scope and resource: concurrent callers share one request."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    token: Optional[Token] = None


class Agent:
    """The client of one agent. All methods may be called from several threads.

    :param issuer: `{issuer_url}` of the tenant
    :param key: a `Key`, or an object that signs elsewhere
    :param scope: the scopes of its tokens, separated by spaces, where a call names none
    :param dpop: bind the tokens to a key (RFC 9449)
    :param dpop_key: the key of the proofs; `key` itself unless given
    :param renew_ahead_seconds: a token that ends within this time is replaced before it is handed out
    :param max_wait_seconds: the longest `Retry-After` of the service that is waited for
    """

    def __init__(
        self,
        issuer: str,
        key: Union[Key, Signer],
        *,
        scope: str = "openid",
        dpop: bool = False,
        dpop_key: Optional[Key] = None,
        renew_ahead_seconds: float = 30,
        timeout: float = 30,
        max_wait_seconds: float = 10,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        _check_address(issuer)
        self.issuer = issuer.rstrip("/")
        self.key = key
        self.scope = scope
        self._renew_ahead_seconds = renew_ahead_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._slots: dict[tuple[str, str], _Slot] = {}
        prover = None
        if dpop or dpop_key is not None:
            proof_key = dpop_key or key
            if not isinstance(proof_key, Key):
                raise AgentError("invalid_key", "A key that signs elsewhere needs a dpop_key.")
            prover = Prover(proof_key, clock)
        self._client = Client(prover=prover, timeout=timeout, max_wait_seconds=max_wait_seconds, sleep=sleep)

    def enroll(self, handed: Mapping[str, Any], *, label: Optional[str] = None) -> dict[str, Any]:
        """Registers the key by an enrollment token. :param handed: what management handed over, as it is"""
        payload = enrollment_payload(handed["tenant_id"], handed["agent_id"], self.key.fingerprint)
        body = {
            "token": handed["token"],
            "algorithm": self.key.algorithm,
            "public_key": self.key.public_key,
            "label": label,
            "proof": _base64(self.key.sign(payload)),
        }
        return self._client.call("POST", f"{self.issuer}/auth/agent/enroll", json_body=body)

    def get_token(self, scope: Optional[str] = None, resource: Optional[str] = None) -> Token:
        """Gives a token that is good for a while: the one from before, or a new one ahead of its expiry.

        :param scope: scopes, separated by spaces; those of the constructor unless given
        :param resource: what the token is for, one of the agent's audiences (RFC 8707)
        """
        scope = " ".join(sorted((self.scope if scope is None else scope).split()))
        name = (scope, resource or "")
        with self._lock:
            slot = self._slots.setdefault(name, _Slot())
        with slot.lock:
            if slot.token is None or slot.token.expires_at <= self._clock():
                slot.token = self._authenticate(scope, resource)
            elif slot.token.expires_at - self._renew_ahead_seconds <= self._clock():
                try:
                    slot.token = self._authenticate(scope, resource)
                except AgentError as error:
                    # The service is away, and this token still works.
                    if error.code != "unreachable" and error.status not in (429, 500, 502, 503, 504):
                        raise
            return slot.token

    def forget_tokens(self) -> None:
        """The next call of `get_token` authenticates anew: after a 401, or a change of the agent's scopes."""
        with self._lock:
            self._slots.clear()

    def request(
        self,
        method: str,
        url: str,
        *,
        json_body: Any = None,
        body: Optional[bytes] = None,
        headers: Optional[Mapping[str, str]] = None,
        scope: Optional[str] = None,
        resource: Optional[str] = None,
    ) -> Response:
        """Sends a request with the agent's token, and once more with a new one when it is answered by 401."""
        _check_address(url)
        fields = dict(headers or {})
        if json_body is not None:
            body = json.dumps(json_body).encode()
            fields.setdefault("Content-Type", "application/json")
        for is_last in (False, True):
            token = self.get_token(scope, resource)
            response = self._client.send(
                method, url, headers=fields, body=body, token=token.access_token, token_type=token.token_type
            )
            if response.status != 401 or is_last:
                return response
            self.forget_tokens()
        raise AssertionError("unreachable")

    def read_self(self) -> dict[str, Any]:
        """The agent as it sees itself: its name, scopes and keys, and which of them authenticated it."""
        token = self.get_token()
        return self._client.call(
            "GET", f"{self.issuer}/auth/agent/self", token=token.access_token, token_type=token.token_type
        )

    def rotate_key(
        self,
        new_key: Union[Key, Signer],
        *,
        overlap_seconds: Optional[int] = None,
        on_registered: Optional[Callable[[], None]] = None,
    ) -> Rotation:
        """Puts a new key in the place of the present one, and goes on with it.

        Store the new key before: `new_key.save(path)`. The old one works until its sunset (7 days unless said), so a
        process that still has it goes on.

        :param on_registered: called when both keys work, before the new one is used
        """
        old = self.key
        me = self.read_self()
        payload = rotation_payload(me["tenant_id"], me["id"], old.fingerprint, new_key.fingerprint)
        token = self.get_token()
        answer = self._client.call(
            "POST",
            f"{self.issuer}/auth/agent/keys/rotate",
            token=token.access_token,
            token_type=token.token_type,
            json_body={
                "old_key_fingerprint": old.fingerprint,
                "algorithm": new_key.algorithm,
                "public_key": new_key.public_key,
                "overlap_seconds": overlap_seconds,
                "proof": {"old_key": _base64(old.sign(payload)), "new_key": _base64(new_key.sign(payload))},
            },
        )
        if on_registered is not None:
            on_registered()
        self.key = new_key
        self.forget_tokens()
        # The first answered challenge of the new key is the switch.
        self.get_token()
        return Rotation(answer["rotation_id"], answer["new_key_id"])

    def exchange(
        self,
        user_token: str,
        *,
        client: tuple[str, str],
        subject_token_type: str = "access_token",
        scope: Optional[str] = None,
        resource: Optional[str] = None,
    ) -> Token:
        """Exchanges a user's token and the agent's own for a delegated token (RFC 8693).

        :param client: client id and secret of the application that exchanges
        :param subject_token_type: `access_token`, `id_token` or `jwt`
        """
        answer = self._client.call(
            "POST",
            f"{self.issuer}/oauth/token",
            basic=client,
            proved=True,
            form={
                "grant_type": _EXCHANGE,
                "subject_token": user_token,
                "subject_token_type": _TOKEN_TYPE + subject_token_type,
                "actor_token": self.get_token().access_token,
                "actor_token_type": _TOKEN_TYPE + "access_token",
                "scope": scope,
                "resource": resource,
            },
        )
        return self._token_of(answer)

    def _authenticate(self, scope: str, resource: Optional[str]) -> Token:
        key = self.key
        question = {"key_fingerprint": key.fingerprint, "scope": scope, "resource": resource}
        challenge = self._client.call("POST", f"{self.issuer}/auth/agent/challenge", json_body=question)
        if (challenge.get("key_fingerprint"), challenge.get("algorithm")) != (key.fingerprint, key.algorithm):
            raise AgentError("unexpected_answer", "The challenge is for another key.")
        body = {
            "challenge_id": challenge["challenge_id"],
            "algorithm": key.algorithm,
            "signature": _base64(key.sign(challenge_payload(challenge))),
        }
        return self._token_of(
            self._client.call("POST", f"{self.issuer}/auth/agent/verify", json_body=body, proved=True)
        )

    def _token_of(self, answer: Mapping[str, Any]) -> Token:
        return Token(
            access_token=answer["access_token"],
            token_type=answer["token_type"],
            expires_at=self._clock() + float(answer["expires_in"]),
            scope=answer.get("scope", ""),
        )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _check_address(url: str) -> None:
    """A token must not go over the network in the clear, and to nothing but a web server."""
    parts = urlsplit(url)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        raise ValueError(f"{parts.scheme}://{parts.netloc} is not https")
