from __future__ import annotations

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class AgentServiceError(Exception):
    """Every error that this package raises."""


class ConnectionFailedError(AgentServiceError):
    """No complete answer arrived. The request may have had its effect; a retry under the same Idempotency-Key is safe."""


class TimeLimitError(ConnectionFailedError):
    """The time limit of the call ended first."""


def to_connection_error(error: httpx.HTTPError) -> ConnectionFailedError:
    if isinstance(error, httpx.TimeoutException):
        return TimeLimitError("Nothing arrived within the time limit.")
    return ConnectionFailedError("The connection failed before the answer was complete.")


class ApiError(AgentServiceError):
    """The service answered, and refused the request or failed at it."""

    def __init__(
        self,
        status: int,
        code: str,
        remedy: str,
        *,
        type: str = "unknown",
        field: str | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {remedy}")
        self.status = status
        #: Which failure this is. Compare with this, never with the message.
        self.code = code
        #: Tells people how to react to the error.
        self.remedy = remedy
        self.type = type
        #: The offending field, such as ``data_scope.tables[0]``.
        self.field = field
        self.details: Mapping[str, Any] = details or {}
        #: Names the request in the logs of the service.
        self.request_id = request_id
        #: Seconds that the service asks to wait.
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies, and for other processes: the default calls the constructor with the text alone."""
        return type(self), (self.status, self.code, self.remedy), vars(self)


def to_api_error(status: int, headers: Mapping[str, str], text: str) -> ApiError:
    """The error that an answer describes, in the form of the API, in that of OAuth, or as a proxy wrote it."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    request_id, retry_after = headers.get("x-request-id"), _seconds(headers.get("retry-after"))
    if isinstance(body, dict) and isinstance(error, dict):
        meta = body.get("meta")
        return ApiError(
            status,
            str(error.get("code", "unknown")),
            str(error.get("message", "The service gave no reason.")),
            type=str(error.get("type", "unknown")),
            field=error.get("param"),
            details=error.get("details"),
            request_id=(meta.get("request_id") if isinstance(meta, dict) else None) or request_id,
            retry_after=retry_after,
        )
    if isinstance(body, dict) and isinstance(error, str):
        remedy = str(body.get("error_description", error))
        return ApiError(status, error, remedy, request_id=request_id, retry_after=retry_after)
    if status == 304:
        remedy = "The resource is unchanged: its ETag is one that If-None-Match names."
        return ApiError(status, "not_modified", remedy, request_id=request_id)
    remedy = f"The answer has no error of the API: {text[:200]}"
    if 300 <= status < 400 and "location" in headers:
        remedy = f"The address redirects to {headers['location']}. Give that of the service itself as base_url."
    return ApiError(status, "unknown", remedy, request_id=request_id, retry_after=retry_after)


def _seconds(text: str | None) -> float | None:
    """Seconds from now, also where a proxy wrote a date. None for text that is neither."""
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


#: Errors that pass by themselves. The ones that are no failures within the service change nothing.
_PASSING_CODES = {
    "rate_limited",
    "too_many_waiting",
    "unavailable",
    "deadline_exceeded",
    "request_timeout",
    "idempotency_in_progress",
}
#: Answers of proxies, which do not say if the request had its effect.
_PASSING_STATUSES = {408, 425, 429, 502, 503, 504}


def may_pass(error: Exception) -> bool:
    """True where the same request may succeed later. Every request of this package may be repeated: writes carry a key."""
    if isinstance(error, ConnectionFailedError):
        return True
    if not isinstance(error, ApiError):
        return False
    if error.type == "unknown":
        return error.status in _PASSING_STATUSES
    return error.code in _PASSING_CODES or error.type == "rate_limit" or _is_failure_within(error)


def may_have_had_its_effect(error: Exception) -> bool:
    """True for a lost answer, and for one that does not say if the request had its effect, as those of proxies do not."""
    if isinstance(error, ApiError):
        # A proxy that limits requests did not pass it on.
        return error.status != 429 if error.type == "unknown" else _is_failure_within(error)
    return isinstance(error, ConnectionFailedError)


def _is_failure_within(error: ApiError) -> bool:
    """True where the answer of a part of the service may have been lost after the effect. The type says so, also of codes that
    only a later version has."""
    return error.type == "internal" and error.status >= 500
