"""Checks the signature and the age of webhook deliveries (Standard Webhooks)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._errors import AgentServiceError

_PREFIX = "whsec_"


class WebhookVerificationError(AgentServiceError):
    """The request is not one that the service sent now. Answer 400, and do nothing."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, str(self)), vars(self)


@dataclass(frozen=True)
class WebhookEvent:
    """An event. ``id`` is the same in every delivery of it."""

    id: str
    type: str
    created_at: str
    data: Mapping[str, Any]


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> WebhookEvent:
    """The event of a delivery. ``body`` is exactly what arrived; several secrets may be given while one is replaced."""
    known = [secrets] if isinstance(secrets, str) else list(secrets)
    # Every sender can sign with an empty secret, as that of a missing variable is.
    if not known or "" in known:
        raise ValueError("verify_webhook needs a secret, and none that is empty.")
    found = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp, signatures = (found.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not event_id or not signatures or not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        message = "The headers webhook-id, webhook-timestamp and webhook-signature are needed."
        raise WebhookVerificationError("missing_headers", message)
    raw = _bytes_of(body) if isinstance(body, str) else body
    content = _bytes_of(f"{event_id}.{timestamp}.") + raw
    received = [part.removeprefix("v1,") for part in signatures.split(" ") if part.startswith("v1,")]
    # Every pair is compared, so that the time says nothing about which of them fits.
    matches = [hmac.compare_digest(_sign(secret, content), _bytes_of(one)) for secret in known for one in received]
    if not any(matches):
        raise WebhookVerificationError("wrong_signature", "No signature of the request fits a known secret.")
    age = (time.time() if now is None else now) - int(timestamp)
    if abs(age) > tolerance:
        message = f"The request was signed {age:.0f} s ago; is the clock of this machine right?"
        raise WebhookVerificationError("old_timestamp", message)
    try:
        event = json.loads(raw)
        return WebhookEvent(event["id"], event["type"], event["created_at"], event["data"])
    except (ValueError, KeyError, TypeError) as error:
        raise WebhookVerificationError("invalid_body", "The body is no event.") from error


def _bytes_of(text: str) -> bytes:
    """Servers pass on bytes that are no text as halves of surrogate pairs, which fit no signature."""
    return text.encode(errors="surrogatepass")


def _sign(secret: str, content: bytes) -> bytes:
    return base64.b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest())


def _key(secret: str) -> bytes:
    """The base64 after ``whsec_``, or the characters of a secret in another form."""
    if secret.startswith(_PREFIX):
        encoded = secret.removeprefix(_PREFIX)
        try:
            key = base64.b64decode(encoded, validate=True)
        except ValueError:
            return secret.encode()
        if key and base64.b64encode(key).decode() == encoded:
            return key
    return secret.encode()
