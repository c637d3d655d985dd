# Judges each line of a file of deliveries, and prints how many cases passed and failed.
import base64
import sys

from standardwebhooks.webhooks import Webhook


def accepts(secret, body, headers):
    try:
        Webhook(secret).verify(body, headers)
        return True
    except Exception as refusal:
        # A tampered body may be no JSON: that is found after the signature.
        return type(refusal).__name__ == "JSONDecodeError"


passed = failed = 0
for line in open(sys.argv[1], encoding="utf-8"):
    mode, secrets, message, timestamp, signature, body = line.rstrip("\n").split("\t")
    headers = {"webhook-id": message, "webhook-timestamp": timestamp, "webhook-signature": signature}
    text = base64.b64decode(body).decode()
    results = [accepts(secret, text, headers) for secret in secrets.split(",")]
    if {"each": all(results), "any": any(results), "none": not any(results)}[mode]:
        passed += 1
    else:
        failed += 1
print(passed, failed)
