"""Receives webhooks: WEBHOOK_SECRET=whsec_... python receiver.py. It listens on PORT (3000), behind a proxy that ends TLS."""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGEST_BODY = 1_000_000
TOLERANCE_SECONDS = 300
# An event may come twice under one id. Keep the ids of a day where a restart does not lose them.
seen: set[str] = set()


def key_of(secret: str) -> bytes:
    """The key behind a secret: the base64 after whsec_, or the characters of a secret of another form."""
    encoded = secret.removeprefix("whsec_")
    if encoded not in ("", secret):
        try:
            key = base64.b64decode(encoded, validate=True)
            if base64.b64encode(key).decode() == encoded:
                return key
        except ValueError:
            pass
    return secret.encode()


def is_genuine(secret: str, headers, body: bytes, now: float) -> bool:
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    content = f"{event_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key_of(secret), content, hashlib.sha256).digest())
    return any([hmac.compare_digest(expected, part.encode()) for part in headers.get("webhook-signature", "").split(" ")])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if length > LARGEST_BODY:
            return self.answer(413)
        body = self.rfile.read(length)
        if not is_genuine(os.environ["WEBHOOK_SECRET"], self.headers, body, time.time()):
            return self.answer(400)
        event = json.loads(body)
        if event["id"] not in seen:
            seen.add(event["id"])
            print(event["type"], json.dumps(event["data"]), flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


if __name__ == "__main__":
    if not os.environ.get("WEBHOOK_SECRET"):
        sys.exit("usage: WEBHOOK_SECRET=whsec_... python receiver.py")
    port = int(os.environ.get("PORT", "3000"))
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"listening on {port}", flush=True)
    server.serve_forever()
