from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random

import pytest

from agent_service import WebhookVerificationError, verify_webhook
from agent_service._stream import EventParser

TEXT = (
    ": c\r\n\r\nevent: a\rdata: 1\rdata:2\r\rid: 7\ndata\n\ndata:  spaced\n"
    "retry: 5\n\nid: bad\0\nevent: b\ndata: ü🦊\n\nevent: cut\ndata: never"
)
EXPECTED = [("a", "1\n2", ""), ("message", "", "7"), ("message", " spaced", "7"), ("b", "ü🦊", "7")]


def test_events_are_read_wherever_chunks_end() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(300):
        cuts = sorted(chance.sample(range(len(TEXT)), chance.randrange(10)))
        parser, events = EventParser(), []
        for start, end in zip([0, *cuts], [*cuts, len(TEXT)], strict=True):
            events += parser.take(TEXT[start:end])
        assert events == EXPECTED, f"seed {seed}"


SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ....").decode()
BODY = json.dumps({"id": "evt_1", "type": "agent.created", "created_at": "2026-01-01T00:00:00Z", "data": {"organization_id": "org_1"}})
SENT_AT = 1_767_225_600


def headers(key: bytes = b"a secret of thirty-two bytes ....", at: int = SENT_AT) -> dict[str, str]:
    signature = base64.b64encode(hmac.new(key, f"evt_1.{at}.{BODY}".encode(), hashlib.sha256).digest()).decode()
    return {"Webhook-Id": "evt_1", "Webhook-Timestamp": str(at), "Webhook-Signature": f"v1,AAAA v1,{signature}"}


def test_a_genuine_delivery_gives_its_event() -> None:
    assert verify_webhook(BODY.encode(), headers(), ["whsec_b3RoZXI=", SECRET], now=SENT_AT + 10).type == "agent.created"
    for own in ("my own secret words", "whsec_mein geheimes Wörterbuch"):
        assert verify_webhook(BODY, headers(own.encode()), own, now=SENT_AT).id == "evt_1"


@pytest.mark.parametrize(
    ("body", "sent", "reason"),
    [
        (BODY.replace("org_1", "org_2"), headers(), "wrong_signature"),
        (BODY, headers(b"other"), "wrong_signature"),
        (BODY, headers(at=SENT_AT - 400), "old_timestamp"),
        (BODY, {}, "missing_headers"),
        # Bytes that are no text, as servers pass them on.
        (BODY, {**headers(), "Webhook-Id": "evt_\udcff"}, "wrong_signature"),
        (BODY, {**headers(), "Webhook-Signature": "v1,\udcff"}, "wrong_signature"),
        (BODY + "\udcff", headers(), "wrong_signature"),
    ],
)
def test_everything_else_is_refused(body: str, sent: dict[str, str], reason: str) -> None:
    with pytest.raises(WebhookVerificationError) as refused:
        verify_webhook(body, sent, SECRET, now=SENT_AT)
    assert refused.value.reason == reason


@pytest.mark.parametrize("secrets", ["", [], [SECRET, ""]])
def test_a_receiver_without_a_secret_takes_nothing(secrets: str | list[str]) -> None:
    with pytest.raises(ValueError, match="needs a secret"):
        verify_webhook(BODY, headers(b""), secrets, now=SENT_AT)
