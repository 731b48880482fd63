from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from ._errors import ApiError, TimeLimitError
from ._generated import models
from ._operation import Attempts, CallOptions
from ._stream import failed_error

_WAIT_SECONDS = 30
#: How much later than it may a wait ends where the service is silent: the time of the last read.
_LAST_READ = 2.0


def running_message_id(error: ApiError) -> str | None:
    """The message whose answer goes on, where the service has ended its wait."""
    if error.code != "answer_timeout" or error.details.get("status") != "running":
        return None
    message_id = error.details.get("message_id")
    return message_id if isinstance(message_id, str) else None


def pause_after(asked_at: float) -> float:
    """Seconds until the next request: a service that does not wait must not be asked without a pause."""
    return 0.5 if time.monotonic() - asked_at < 0.5 else 0.0


class AnswerWait:
    """The reads of one message until its answer has ended, and the pauses between them."""

    def __init__(self, message_id: str, timeout: float | None, options: CallOptions, limit: float, begin: Callable[[], Attempts]) -> None:
        self._message_id = message_id
        self._ends_at = math.inf if timeout is None else time.monotonic() + timeout
        self._options = options
        #: The time limit of a request.
        self._limit = options.timeout or limit
        self._begin = begin
        self._attempts = begin()
        self._asked_at = 0.0

    def next_read(self) -> CallOptions:
        """The options of the next read, which is sent once: its repetitions have less time. One that waits as long as its own
        time limit would never get its answer; one without room for a second does not wait."""
        self._asked_at = time.monotonic()
        left = max(0.0, self._left())
        seconds = int(min(_WAIT_SECONDS, self._limit / 2, left + 1))
        headers = {**self._options.headers, **({"prefer": f"wait={seconds}"} if seconds > 0 else {})}
        return replace(self._options, headers=headers, timeout=min(self._limit, left + _LAST_READ), max_retries=0)

    def pause_after(self, error: Exception) -> float:
        """Seconds until the read is repeated; raises where that would not help, or the time is over."""
        pause = math.inf if isinstance(error, TimeLimitError) and self._left() <= 0 else self._attempts.pause_after(error)
        if pause <= self._left():
            return pause
        raise (self._not_ended() if isinstance(error, TimeLimitError) else error) from error

    def pause(self) -> float:
        """Seconds until the next read after one that succeeded."""
        self._attempts = self._begin()
        if self._left() <= 0:
            raise self._not_ended()
        return pause_after(self._asked_at)

    def _left(self) -> float:
        return self._ends_at - time.monotonic()

    def _not_ended(self) -> TimeLimitError:
        return TimeLimitError(f"The answer {self._message_id} has not ended in time.")


def answer_ended(message: models.ReadMessage) -> bool:
    """False while the answer is pending. Raises for one that failed or was cancelled."""
    if message.status not in ("failed", "cancelled"):
        return message.status == "completed"
    if message.error:
        raise failed_error(message.model_dump_json(include={"error"}))
    # A service of an earlier version does not say why.
    if message.status == "cancelled":
        remedy = message.content or "The answer was cancelled."
        raise ApiError(409, "answer_cancelled", remedy, type="conflict", details={"message_id": message.id})
    remedy = message.content or "The answer failed. No credits were charged. Send the message again."
    raise ApiError(502, "provider_error", remedy, type="provider", details={"message_id": message.id})
