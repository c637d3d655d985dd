"""The texts that an agent's key signs, byte for byte as the specification says. The first line names the purpose."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Mapping

_SHORT_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def challenge_payload(challenge: Mapping[str, Any]) -> bytes:
    """Nine lines. Specification: Challenge-response procedure."""
    return _join(
        "SERVICE-CHALLENGE-V1",
        f"nonce:{_escape(challenge['nonce'])}",
        f"timestamp:{_seconds(challenge['timestamp'])}",
        f"expires_at:{_seconds(challenge['expires_at'])}",
        *(
            f"{name}:{_escape(challenge[name])}"
            for name in ("audience", "client_id", "scope_hash", "key_fingerprint", "algorithm")
        ),
    )


def enrollment_payload(tenant_id: str, agent_id: str, fingerprint: str) -> bytes:
    """Four lines: the proof of a key that enrolls."""
    return _join("SERVICE-KEY-PROOF-V1", tenant_id, agent_id, fingerprint)


def rotation_payload(tenant_id: str, agent_id: str, old_fingerprint: str, new_fingerprint: str) -> bytes:
    """Five lines, which the old and the new key sign."""
    return _join("SERVICE-KEY-ROTATION-V1", tenant_id, agent_id, old_fingerprint, new_fingerprint)


def _join(*lines: str) -> bytes:
    return "\n".join(lines).encode()


def _seconds(time: str) -> int:
    return int(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() // 1)


def _escape(text: str) -> str:
    def escape(match: re.Match[str]) -> str:
        character = match.group()
        return _SHORT_ESCAPES.get(character, f"\\u{ord(character):04x}")

    return re.sub("[\\\\\x00-\x1f\x7f]", escape, text)
