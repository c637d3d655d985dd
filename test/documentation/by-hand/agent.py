"""An agent by Python's standard library and OpenSSL, written from what the service serves: /docs/guides/agents.

Usage: ISSUER=... HANDED=... agent.py <algorithm>. HANDED is the answer of management with an enrollment token. The agent
enrolls a key of its own, authenticates with it, and prints what the service says of it.
"""

import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from datetime import datetime

ISSUER = os.environ["ISSUER"]
HANDED = json.loads(os.environ["HANDED"])
ALGORITHM = sys.argv[1]
KINDS = {
    "ed25519": ("ed25519", [], 32),
    "es256": ("EC", ["-pkeyopt", "ec_paramgen_curve:P-256"], 65),
    "es256k": ("EC", ["-pkeyopt", "ec_paramgen_curve:secp256k1"], 65),
}
folder = tempfile.mkdtemp()
key, message = os.path.join(folder, "agent.pem"), os.path.join(folder, "message")


def openssl(*words):
    return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout


def sign(text):
    with open(message, "wb") as file:
        file.write(text.encode())
    if ALGORITHM == "ed25519":
        signature = openssl("pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", message)
    else:
        signature = openssl("dgst", "-sha256", "-sign", key, message)
    return base64.b64encode(signature).decode()


def send(url, body=None, token=None):
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


def seconds(time):
    return int(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp())


kind, options, raw_length = KINDS[ALGORITHM]
openssl("genpkey", "-algorithm", kind, *options, "-out", key)
public = openssl("pkey", "-in", key, "-pubout")
raw = openssl("pkey", "-in", key, "-pubout", "-outform", "DER")[-raw_length:]
fingerprint = hashlib.sha256(raw).hexdigest()

proof = "\n".join(["SERVICE-KEY-PROOF-V1", HANDED["tenant_id"], HANDED["agent_id"], fingerprint])
enrollment = {"token": HANDED["token"], "algorithm": ALGORITHM, "public_key": public.decode(), "proof": sign(proof)}
send(HANDED["enroll_url"], enrollment)

challenge = send(f"{ISSUER}/auth/agent/challenge", {"key_fingerprint": fingerprint, "scope": "openid"})
lines = [
    "SERVICE-CHALLENGE-V1",
    f"nonce:{challenge['nonce']}",
    f"timestamp:{seconds(challenge['timestamp'])}",
    f"expires_at:{seconds(challenge['expires_at'])}",
    *(f"{name}:{challenge[name]}" for name in ("audience", "client_id", "scope_hash", "key_fingerprint", "algorithm")),
]
answer = {"challenge_id": challenge["challenge_id"], "algorithm": ALGORITHM, "signature": sign("\n".join(lines))}
tokens = send(f"{ISSUER}/auth/agent/verify", answer)
print(json.dumps(send(f"{ISSUER}/auth/agent/self", token=tokens["access_token"])))
