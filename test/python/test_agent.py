"""Keys, payloads, the cache of tokens, proofs and refusals, against a service of this file."""

import base64
import hashlib
import json
import os
import stat
import tempfile
import threading
import unittest
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from countersign_agent import ALGORITHMS, Agent, AgentError, Key
from countersign_agent.payloads import challenge_payload, enrollment_payload, rotation_payload
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

CHALLENGE = {
    "challenge_id": "c-1",
    "nonce": "5f0c",
    "timestamp": "2026-01-01T00:00:00.900Z",
    "expires_at": "2026-01-01T00:05:00.900Z",
    "audience": "https://id.example\n",
    "client_id": "service\\agent\x7f",
    "scope_hash": "ab",
    "key_fingerprint": "cd",
    "algorithm": "ed25519",
}


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verifies(jwk, message, signature):
    """Verifies as the service does, from the public key alone."""
    x = decode(jwk["x"])
    try:
        if jwk["kty"] == "OKP":
            ed25519.Ed25519PublicKey.from_public_bytes(x).verify(signature, message)
        else:
            curve = ec.SECP256R1() if jwk["crv"] == "P-256" else ec.SECP256K1()
            public = ec.EllipticCurvePublicKey.from_encoded_point(curve, b"\x04" + x + decode(jwk["y"]))
            r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
            public.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return len(signature) == 64


class Keys(unittest.TestCase):
    def test_sign_and_are_found_again_in_a_pem(self):
        for algorithm in ALGORITHMS:
            key = Key.generate(algorithm)
            again = Key.from_pem(key.to_pem().decode())
            self.assertEqual((again.algorithm, again.fingerprint, again.jwk), (algorithm, key.fingerprint, key.jwk))
            self.assertTrue(verifies(key.jwk, b"text", again.sign(b"text")))
            self.assertFalse(verifies(key.jwk, b"another", again.sign(b"text")))
            raw = decode(key.jwk["x"]) + decode(key.jwk.get("y", ""))
            prefix = b"" if algorithm == "ed25519" else b"\x04"
            self.assertEqual(key.fingerprint, hashlib.sha256(prefix + raw).hexdigest())
            self.assertNotIn("d", key.jwk)
            self.assertNotIn("PRIVATE", repr(key))

    def test_are_stored_for_their_owner_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "agent.pem")
            key = Key.load_or_generate(path)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertEqual(Key.load_or_generate(path).fingerprint, key.fingerprint)
            Key.generate("es256").save(path)
            self.assertEqual(Key.load(path).algorithm, "es256")
            self.assertEqual(os.listdir(folder), ["agent.pem"])

    def test_of_another_kind_are_refused_without_a_word_of_them(self):
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        curve = ec.generate_private_key(ec.SECP384R1())
        pems = [
            private.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            for private in (other, curve)
        ]
        for pem in [*pems, b"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n", b""]:
            with self.assertRaises(AgentError) as refused:
                Key.from_pem(pem)
            self.assertEqual(refused.exception.code, "invalid_key")
            self.assertNotIn("secret", str(refused.exception))
        with self.assertRaises(AgentError):
            Key.generate("bip340")


class Payloads(unittest.TestCase):
    def test_are_the_specified_bytes(self):
        expected = (
            "SERVICE-CHALLENGE-V1\nnonce:5f0c\ntimestamp:1767225600\nexpires_at:1767225900\n"
            "audience:https://id.example\\n\nclient_id:service\\\\agent\\u007f\nscope_hash:ab\n"
            "key_fingerprint:cd\nalgorithm:ed25519"
        )
        self.assertEqual(challenge_payload(CHALLENGE).decode(), expected)
        self.assertEqual(enrollment_payload("t", "a", "f"), b"SERVICE-KEY-PROOF-V1\nt\na\nf")
        self.assertEqual(rotation_payload("t", "a", "o", "n"), b"SERVICE-KEY-ROTATION-V1\nt\na\no\nn")


class Service:
    """What an issuer answers: each test scripts refusals; otherwise the token says how many there were before."""

    def __init__(self, key):
        self.key = key
        self.requests = []
        self.refusals = {}
        self.issued = 0
        self.expires_in = 300
        self.time = 1000.0
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                service.requests.append((self.path, dict(self.headers), body))
                status, headers, answer = service.answer(self.path, self.headers, body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST

            def date_time_string(self, timestamp=None):
                return formatdate(service.time, usegmt=True)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, path, headers, body):
        refusals = self.refusals.get(path)
        if refusals:
            return refusals.pop(0)
        if path == "/auth/agent/challenge":
            key = {"key_fingerprint": self.key.fingerprint, "algorithm": self.key.algorithm}
            return 201, {}, {**CHALLENGE, **key}
        if path == "/auth/agent/verify":
            self.issued += 1
            token_type = "DPoP" if "DPoP" in headers else "Bearer"
            token = {"access_token": f"token-{self.issued}", "token_type": token_type, "scope": "openid"}
            return 200, {}, {**token, "expires_in": self.expires_in}
        return 200, {}, {"authorization": headers.get("Authorization")}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Tokens(unittest.TestCase):
    def setUp(self):
        self.key = Key.generate()
        self.service = Service(self.key)
        self.addCleanup(self.service.close)
        self.now = 1000.0
        self.slept = []

    def agent(self, **options):
        return Agent(self.service.url, self.key, clock=lambda: self.now, sleep=self.slept.append, **options)

    def refuse(self, path, status, error, **headers):
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        body = {"error": error, "detail": "No."}
        self.service.refusals.setdefault(path, []).append((status, fields, body))

    def test_are_kept_and_replaced_ahead_of_their_end(self):
        agent = self.agent()
        self.assertEqual([str(agent.get_token()) for _ in range(3)], ["token-1"] * 3)
        self.now += 269
        self.assertEqual(str(agent.get_token()), "token-1")
        self.now += 2
        self.assertEqual(str(agent.get_token()), "token-2")
        self.assertNotIn("token-2", repr(agent.get_token()))

    def test_are_kept_for_each_scope_and_resource(self):
        agent = self.agent(scope="b a")
        names = [("a b", None), (None, None), ("a", None), (None, "https://x.example")]
        self.assertEqual([str(agent.get_token(*name)) for name in names], ["token-1", "token-1", "token-2", "token-3"])

    def test_are_shared_by_threads_that_ask_concurrently(self):
        agent = self.agent()
        found = []
        threads = [threading.Thread(target=lambda: found.append(str(agent.get_token()))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, ["token-1"] * 20)

    def test_that_still_work_are_handed_out_while_the_service_is_away(self):
        agent = self.agent(max_wait_seconds=0)
        agent.get_token()
        self.now += 280
        self.refuse("/auth/agent/challenge", 503, "temporarily_unavailable", Retry_After="60")
        self.assertEqual(str(agent.get_token()), "token-1")
        self.now += 30
        self.refuse("/auth/agent/challenge", 503, "temporarily_unavailable", Retry_After="60")
        with self.assertRaises(AgentError) as refused:
            agent.get_token()
        self.assertEqual((refused.exception.code, refused.exception.retry_after_seconds), ("temporarily_unavailable", 60))
        self.assertEqual(str(agent.get_token()), "token-2")

    def test_of_an_agent_that_was_suspended_are_not_handed_out(self):
        agent = self.agent()
        agent.get_token()
        self.now += 280
        self.refuse("/auth/agent/challenge", 403, "policy_denied", X_Request_Id="r-1")
        with self.assertRaises(AgentError) as refused:
            agent.get_token()
        self.assertEqual((refused.exception.code, refused.exception.request_id), ("policy_denied", "r-1"))

    def test_are_asked_for_again_after_retry_after(self):
        self.refuse("/auth/agent/challenge", 429, "rate_limited", Retry_After="7")
        self.refuse("/auth/agent/verify", 503, "temporarily_unavailable")
        self.assertEqual(str(self.agent().get_token()), "token-1")
        self.assertEqual(self.slept, [7.0, 0.25])

    def test_are_bound_by_a_proof_with_the_nonce_that_was_asked_for(self):
        self.refuse("/auth/agent/verify", 400, "use_dpop_nonce", DPoP_Nonce="n-1")
        agent = self.agent(dpop=True)
        answer = agent.request("GET", f"{self.service.url}/orders?page=2")
        self.assertEqual(answer.json(), {"authorization": "DPoP token-1"})
        header, claims = self.proof(-1)
        self.assertEqual(header, {"typ": "dpop+jwt", "alg": "EdDSA", "jwk": self.key.jwk})
        self.assertEqual((claims["htm"], claims["htu"]), ("GET", f"{self.service.url}/orders"))
        self.assertEqual((claims["iat"], claims["nonce"]), (1000, "n-1"))
        self.assertEqual(decode(claims["ath"]), hashlib.sha256(b"token-1").digest())
        self.assertNotIn("nonce", self.proof(1)[1])
        self.assertEqual(self.proof(2)[1]["nonce"], "n-1")

    def test_are_bound_by_a_proof_of_the_time_that_its_server_tells(self):
        self.service.time = 5000.0
        agent = self.agent(dpop=True)
        agent.get_token()
        self.assertEqual(self.proof(-1)[1]["iat"], 5000)
        self.service.time = 90000.0
        self.refuse("/orders", 401, "invalid_dpop_proof")
        self.assertEqual(agent.request("GET", f"{self.service.url}/orders").status, 200)
        self.assertEqual([self.proof(index)[1]["iat"] for index in (-2, -1)], [5000, 90000])
        # The time is the same now: only another token is tried.
        self.refuse("/orders", 401, "invalid_dpop_proof")
        self.refuse("/orders", 401, "invalid_dpop_proof")
        self.assertEqual(agent.request("GET", f"{self.service.url}/orders").status, 401)

    def proof(self, index):
        header, claims, signature = self.service.requests[index][1]["Dpop"].split(".")
        self.assertTrue(verifies(self.key.jwk, f"{header}.{claims}".encode(), decode(signature)))
        return json.loads(decode(header)), json.loads(decode(claims))

    def test_that_are_refused_are_replaced_once(self):
        agent = self.agent()
        url = f"{self.service.url}/orders"
        self.refuse("/orders", 401, "invalid_token")
        answer = agent.request("POST", url, json_body={"a": 1})
        self.assertEqual(answer.json(), {"authorization": "Bearer token-2"})
        self.assertEqual(self.service.requests[-1][2], '{"a": 1}')
        self.refuse("/orders", 401, "invalid_token")
        self.refuse("/orders", 401, "invalid_token")
        self.assertEqual(agent.request("GET", url).status, 401)

    def test_go_where_they_were_sent_and_nowhere_else(self):
        agent = self.agent()
        self.service.refusals["/orders"] = [(302, {"Location": f"{self.service.url}/elsewhere"}, {})]
        self.assertEqual(agent.request("GET", f"{self.service.url}/orders").status, 302)
        for url in ("http://orders.example/", "file:///etc/passwd", "ftp://localhost/"):
            with self.assertRaises(ValueError):
                agent.request("GET", url)
        with self.assertRaises(ValueError):
            Agent("http://id.example", self.key)

    def test_need_a_challenge_for_the_own_key(self):
        self.service.key = Key.generate()
        with self.assertRaises(AgentError) as refused:
            self.agent().get_token()
        self.assertEqual(refused.exception.code, "unexpected_answer")

    def test_of_keys_that_sign_no_proofs_need_another_key_for_them(self):
        with self.assertRaises(AgentError):
            Agent(self.service.url, Key.generate("es256k"), dpop=True)
        Agent(self.service.url, Key.generate("es256k"), dpop_key=Key.generate("es256"))

    def test_a_service_that_is_away_is_named(self):
        self.service.close()
        self.service.close = lambda: None
        with self.assertRaises(AgentError) as refused:
            self.agent().get_token()
        self.assertEqual((refused.exception.code, refused.exception.status), ("unreachable", None))


if __name__ == "__main__":
    unittest.main()
