from __future__ import annotations

import json
import random
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, RootModel, ValidationError

from ._errors import AgentServiceError, ApiError, may_have_had_its_effect, may_pass, to_api_error

#: A body as a mapping, for those who do not want the models.
Body = Mapping[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True)
class CallOptions:
    """The options of every call."""

    #: Made at random for each write unless given. Give one that is stored with the order that the call carries out.
    idempotency_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Seconds to wait for an answer, for each attempt; of a stream the longest silence.
    timeout: float | None = None
    #: Attempts after the first one.
    max_retries: int | None = None
    #: Called with the status and the headers of each answer, also of one that is refused or repeated: for an ``ETag``, for example.
    on_response: Callable[[int, Mapping[str, str]], None] | None = None


def with_key(options: CallOptions) -> CallOptions:
    """The options with one Idempotency-Key for several calls."""
    return replace(options, idempotency_key=key_of(options))


def key_of(options: CallOptions) -> str:
    """The caller's Idempotency-Key, or one made at random."""
    return options.idempotency_key or secrets.token_hex(18)


@dataclass(frozen=True)
class Operation(Generic[Result]):
    method: str
    path: str
    query: Mapping[str, Any]
    body: BaseModel | Body | None
    #: Reads the body of the answer.
    parse: Callable[[bytes], Result]

    def request(self, options: CallOptions) -> dict[str, Any]:
        """The parts of the request. The same for every attempt, with one Idempotency-Key."""
        headers = {"accept": "application/json"}
        if self.method in ("POST", "PUT", "PATCH"):
            headers["idempotency-key"] = key_of(options)
        if self.body is not None:
            headers["content-type"] = "application/json"
        headers.update({name.lower(): value for name, value in options.headers.items()})
        content = None if self.body is None else body_text(self.body)
        query = {name: _query_text(value) for name, value in self.query.items() if value is not None}
        return {"method": self.method, "url": self.path, "params": query, "headers": checked_headers(headers), "content": content}


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Raises before httpx does, whose error would quote a token or pass for a lost connection. Leaves out a line break at the end, as
    that of a file with a token."""
    checked = {name: value.strip() for name, value in headers.items()}
    for name, value in checked.items():
        if re.search(r"[^\t\x20-\x7e]", value):
            raise AgentServiceError(f"The value of {name} has a character that headers cannot hold, such as a line break.")
    return checked


def nothing(_: bytes) -> None:
    """The body of an answer that has none."""


def body_text(body: BaseModel | Body) -> str:
    """Fields that were not set are left out, which the API distinguishes from null."""
    return body.model_dump_json(exclude_unset=True, by_alias=True) if isinstance(body, BaseModel) else json.dumps(body)


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def segment(value: str) -> str:
    """A part of a path, whichever characters it has. URLs resolve ``.`` and ``..``, which would lead to another path."""
    if value in ("", ".", ".."):
        raise ValueError(f'A parameter of the path cannot be "{value}".')
    return quote(value, safe="")


def list_of(page: BaseModel) -> Any:
    """The object with ``data`` and ``meta``, which a list of one of several forms wraps."""
    return page.root if isinstance(page, RootModel) else page


def report_answer(response: httpx.Response, options: CallOptions) -> None:
    """Tells the caller of an answer."""
    if options.on_response:
        options.on_response(response.status_code, response.headers)


def read_answer(operation: Operation[Result], response: httpx.Response) -> Result:
    """Raises an ApiError for a success that is none of the API, such as the page of a proxy."""
    try:
        return operation.parse(response.content)
    except ValidationError as error:
        raise to_api_error(response.status_code, response.headers, response.text) from error


class Caller:
    """The calls that the generated operations make."""

    def _call(self, operation: Operation[Result], options: CallOptions | None) -> Result:
        raise NotImplementedError


class AsyncCaller:
    """The calls that the generated operations await."""

    async def _call(self, operation: Operation[Result], options: CallOptions | None) -> Result:
        raise NotImplementedError


@dataclass
class Attempts:
    """Decides after each failure how long to wait for the next attempt."""

    max_retries: int
    max_wait: float
    is_delete: bool = False
    failures: int = 0
    is_outcome_unknown: bool = False

    def pause_after(self, error: Exception) -> float:
        """Seconds; raises the error where another attempt would not help. Their random part keeps clients apart."""
        self.failures += 1
        self.is_outcome_unknown = self.is_outcome_unknown or may_have_had_its_effect(error)
        retry_after = (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
        if self.failures > self.max_retries or not may_pass(error) or retry_after > self.max_wait:
            raise error
        whole = min(8.0, 0.25 * 2.0 ** (self.failures - 1))
        return retry_after + whole / 2 + random.random() * whole / 2

    def has_been_deleted(self, error: Exception) -> bool:
        """True where an attempt whose answer was lost has deleted what is missing now."""
        return self.is_delete and self.is_outcome_unknown and isinstance(error, ApiError) and error.status == 404
