from __future__ import annotations

import time
from dataclasses import replace

from ._errors import ApiError, TimeLimitError
from ._generated import models
from ._operation import CallOptions

_WAIT_SECONDS = 30


def running_message_id(error: ApiError) -> str | None:
    """The message whose answer goes on, where the service has ended its wait."""
    if error.code != "answer_timeout" or error.details.get("status") != "running":
        return None
    message_id = error.details.get("message_id")
    return message_id if isinstance(message_id, str) else None


def waiting_call(options: CallOptions, ends_at: float | None, request_limit: float) -> CallOptions:
    """The options of a request for an answer. One that waits as long as its own time limit would never get it."""
    left = _WAIT_SECONDS if ends_at is None else ends_at - time.monotonic()
    seconds = max(1, int(min(_WAIT_SECONDS, (options.timeout or request_limit) / 2, left + 1)))
    return replace(options, headers={**options.headers, "prefer": f"wait={seconds}"})


def answer_ended(message: models.ReadMessage) -> bool:
    """False while the answer is pending. Raises for one that failed or was cancelled."""
    if message.status == "cancelled":
        raise ApiError(409, "answer_cancelled", "The answer was cancelled.", type="conflict", details={"message_id": message.id})
    if message.status == "failed":
        remedy = message.content or "The answer failed. No credits were charged. Send the message again."
        raise ApiError(502, "provider_error", remedy, type="provider", details={"message_id": message.id})
    return message.status == "completed"


def pause_between(asked_at: float, ends_at: float | None, message_id: str) -> float:
    """Seconds until the next question: a service that does not wait must not be asked without a pause."""
    now = time.monotonic()
    if ends_at is not None and now >= ends_at:
        raise TimeLimitError(f"The answer {message_id} has not ended in time.")
    return 0.5 if now - asked_at < 0.5 else 0.0
