from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from ._errors import ApiError, ConnectionFailedError, to_api_error
from ._generated import models
from ._operation import Body, CallOptions, body_text, checked_headers, key_of, segment

_MAX_BUFFERED = 16 * 1024 * 1024


#: The statuses that a caller who waits for the answer gets. Neither the event nor the message names them.
_FAILED_STATUS = 502
_STATUS_OF_TYPE = {"conflict": 409, "not_found": 404, "internal": 500}
_STATUS_OF_CODE = {
    "data_source_unavailable": 503,
    "data_scope_empty": 503,
    "answer_timeout": 504,
    "unavailable": 503,
    "deadline_exceeded": 503,
}


def failed_error(data: str) -> ApiError:
    error = to_api_error(_FAILED_STATUS, {}, data)
    status = _STATUS_OF_CODE.get(error.code) or _STATUS_OF_TYPE.get(error.type, _FAILED_STATUS)
    return to_api_error(status, {}, data)


@dataclass(frozen=True)
class AnswerEvent:
    """An event of an answer while it is made. ``content`` is all of its text so far, so that showing it is always right."""

    type: Literal["started", "delta", "tool", "completed"]
    #: The new text of a delta.
    text: str = ""
    content: str = ""
    #: Fields of ``tool``: name, detail, rows, duration_ms and error. Fields of ``started``: message_id, conversation_id and attempt.
    data: dict[str, Any] = field(default_factory=dict)
    #: The message of ``completed``, the last event: the answer is charged and stored.
    message: models.ListedMessage | None = None


class EventParser:
    """Reads server-sent events as the HTML standard says, wherever chunks end."""

    def __init__(self) -> None:
        self._buffered = ""
        self._event, self._data, self._id = "", list[str](), ""

    def take(self, chunk: str) -> list[tuple[str, str, str]]:
        """The events that this text completes: type, data and id. A CR at the end may be the first half of a CRLF."""
        text = self._buffered + chunk
        held = "\r" if text.endswith("\r") else ""
        text = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n")
        *lines, rest = text.split("\n")
        self._buffered = rest + held
        if len(self._buffered) > _MAX_BUFFERED:
            raise ConnectionFailedError("A line of the event stream is too long.")
        return [event for line in lines if (event := self._read_line(line))]

    def _read_line(self, line: str) -> tuple[str, str, str] | None:
        if line == "":
            complete = (self._event or "message", "\n".join(self._data), self._id) if self._data else None
            self._event, self._data = "", []
            return complete
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None


class StreamPosition:
    """The request of a stream, and the place up to which it has been read."""

    def __init__(self, agent_id: str, message: models.SendMessageRequest | Body | str, options: CallOptions) -> None:
        body = {"message": message} if isinstance(message, str) else message
        self.path = f"/v1/agents/{segment(agent_id)}/messages/stream"
        self.content_to_send = body_text(body)
        self.key = key_of(options)
        self.extra = {name.lower(): value for name, value in options.headers.items()}
        self.last_event_id = ""
        #: The answer itself has failed, and the same message would be a new one.
        self.has_failed = False
        self.has_completed = False
        self._content = ""

    def request(self) -> dict[str, Any]:
        headers = {
            "idempotency-key": self.key,
            "content-type": "application/json",
            **self.extra,
            "accept": "text/event-stream",
        }
        if self.last_event_id:
            headers["last-event-id"] = self.last_event_id
        return {"method": "POST", "url": self.path, "headers": checked_headers(headers), "content": self.content_to_send}

    def read(self, event: str, data: str, event_id: str) -> AnswerEvent | None:
        """The event for the reader; None for one that it need not know. One that cannot be read is no event of the service."""
        try:
            known = self._read(event, data)
        except (ValueError, KeyError, TypeError) as error:
            raise ConnectionFailedError("An event of the stream cannot be read.") from error
        self.last_event_id = event_id or self.last_event_id
        return known

    def _read(self, event: str, data: str) -> AnswerEvent | None:
        if event == "started":
            self._content = ""
            return AnswerEvent("started", data=json.loads(data))
        if event == "delta":
            text = str(json.loads(data)["text"])
            self._content += text
            return AnswerEvent("delta", text, self._content)
        if event == "tool":
            return AnswerEvent("tool", content=self._content, data=json.loads(data))
        if event == "completed":
            message = models.ListedMessage.model_validate_json(data)
            self.has_completed = True
            return AnswerEvent("completed", content=message.content, message=message)
        if event == "failed":
            self.has_failed = True
            raise failed_error(data)
        return None
