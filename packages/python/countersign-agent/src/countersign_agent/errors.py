"""The one error that the agent raises."""

from __future__ import annotations

from typing import Optional


class AgentError(Exception):
    """A refusal of the service by its code, or a failure on the way to it.

    `code` is the `error` of the service's answer (docs/errors.md), such as `invalid_scope` or `policy_denied`; or
    `unreachable`, `unexpected_answer`, `invalid_key`. `status` is the answer's, and None where there was none.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: Optional[int] = None,
        retry_after_seconds: Optional[float] = None,
        request_id: Optional[str] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.request_id = request_id
