from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel

from ._auth import CallToken, Credential, checked_url
from ._errors import AgentServiceError, ApiError, ConnectionFailedError, TimeLimitError, to_api_error, to_connection_error
from ._generated import models
from ._generated.operations import Operations
from ._operation import Attempts, Body, CallOptions, Operation, Result, checked_headers, list_of, read_answer, report_answer, with_key
from ._settings import Settings
from ._stream import AnswerEvent, EventParser, StreamPosition
from ._waiting import AnswerWait, answer_ended, pause_after, running_message_id

Page = TypeVar("Page", bound=BaseModel)


class AgentService(Operations):
    """The API of one Agent Service. Each operation is a method; threads may share a client."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        oauth: tuple[str, str] | None = None,
        scopes: tuple[str, ...] = (),
        token: str | Callable[[], str] | None = None,
        token_is_one_credential: bool = False,
        settings: Settings | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._credential = Credential(api_key, oauth, scopes, token, token_is_one_credential)
        self._settings = settings or Settings()
        self._http = httpx.Client(base_url=checked_url(base_url), timeout=self._settings.timeout, transport=transport)
        self._renewing = threading.Lock()

    def __enter__(self) -> AgentService:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def pages(self, list_page: Callable[..., Page], *arguments: str, **query: Any) -> Iterator[Page]:
        """Every page of a list, each fetched when it is needed: ``service.pages(service.list_agents, status="active")``."""
        cursor: str | None = None
        while True:
            page = list_page(*arguments, **{**query, **({"cursor": cursor} if cursor else {})})
            yield page
            cursor = list_of(page).meta.next_cursor
            if not cursor:
                return

    def entries(self, list_page: Callable[..., BaseModel], *arguments: str, **query: Any) -> Iterator[Any]:
        """Every entry of a list, over all pages."""
        for page in self.pages(list_page, *arguments, **query):
            yield from list_of(page).data

    def ask(
        self, agent_id: str, message: models.SendMessageRequest | Body | str, *, options: CallOptions | None = None
    ) -> models.Message | models.ReadMessage:
        """Sends a message and returns its answer, however long that takes.

        That holds with a credential that may read no answer as well, unless `token` is a function and `token_is_one_credential` is not set.
        """
        body = {"message": message} if isinstance(message, str) else message
        given = with_key(options or CallOptions())
        while True:
            asked_at = time.monotonic()
            try:
                return self.send_message(agent_id, body, options=given).data
            except ApiError as error:
                message_id = running_message_id(error)
                if message_id is None:
                    raise
            # A failed answer frees its key, so that reading comes before sending the message again.
            try:
                return self.wait_for_answer(agent_id, message_id, options=given)
            except ApiError as error:
                if error.status != 403 or not self._credential.is_one:
                    raise
            time.sleep(pause_after(asked_at))

    def start_answer(
        self, agent_id: str, message: models.SendMessageRequest | Body | str, *, options: CallOptions | None = None
    ) -> models.Message:
        """Sends a message without waiting for its answer. ``wait_for_answer`` gets it later."""
        body = {"message": message} if isinstance(message, str) else message
        given = options or CallOptions()
        headers = {**given.headers, "prefer": "respond-async"}
        asynchronous = replace(given, headers=headers)
        return self.send_message(agent_id, body, options=asynchronous).data

    def wait_for_answer(
        self, agent_id: str, message_id: str, *, timeout: float | None = None, options: CallOptions | None = None
    ) -> models.ReadMessage:
        """Waits until an answer has ended. A failed or cancelled one raises its error."""
        given = options or CallOptions()
        wait = AnswerWait(message_id, timeout, given, self._settings.timeout, lambda: self._attempts(given))
        while True:
            try:
                message = self.get_message(agent_id, message_id, options=wait.next_read()).data
            except AgentServiceError as error:
                time.sleep(wait.pause_after(error))
                continue
            if answer_ended(message):
                return message
            time.sleep(wait.pause())

    def stream_answer(
        self, agent_id: str, message: models.SendMessageRequest | Body | str, *, options: CallOptions | None = None
    ) -> Generator[AnswerEvent, None, None]:
        """Sends a message and yields the events of its answer. A lost connection is taken up again where it ended, so that
        the message is answered and charged once. A failed answer raises its error."""
        given = options or CallOptions()
        position, call = StreamPosition(agent_id, message, given), CallToken(self._credential)
        attempts, failed_at = self._attempts(given), ""
        while not position.has_completed:
            try:
                yield from self._read_stream(position, given, call)
                if not position.has_completed:
                    raise ConnectionFailedError("The stream ended before the answer.")
            except AgentServiceError as error:
                if position.has_failed:
                    raise
                if position.last_event_id != failed_at:
                    attempts, failed_at = self._attempts(given), position.last_event_id
                time.sleep(attempts.pause_after(error))

    def _read_stream(self, position: StreamPosition, options: CallOptions, call: CallToken) -> Generator[AnswerEvent, None, None]:
        parser = EventParser()
        request = self._http.build_request(**position.request(), timeout=options.timeout or self._settings.stream_timeout)
        response = self._send(request, call, stream=True)
        try:
            report_answer(response, options)
            if not response.is_success:
                response.read()
                raise to_api_error(response.status_code, response.headers, response.text)
            for chunk in response.iter_text():
                for event in parser.take(chunk):
                    if (known := position.read(*event)) is not None:
                        yield known
                    if position.has_completed:
                        return
        except httpx.HTTPError as error:
            raise to_connection_error(error) from error
        finally:
            response.close()

    def _call(self, operation: Operation[Result], options: CallOptions | None) -> Result:
        given = options or CallOptions()
        sent, call = operation.request(given), CallToken(self._credential, is_read=operation.method == "GET")
        attempts = self._attempts(given, is_delete=operation.method == "DELETE")
        while True:
            try:
                request = self._http.build_request(**sent, timeout=given.timeout or self._settings.timeout)
                response = self._send(request, call)
                report_answer(response, given)
                if not response.is_success:
                    raise to_api_error(response.status_code, response.headers, response.text)
                return read_answer(operation, response)
            except AgentServiceError as error:
                if attempts.has_been_deleted(error):
                    return operation.parse(b"")
                time.sleep(attempts.pause_after(error))

    def _attempts(self, options: CallOptions, is_delete: bool = False) -> Attempts:
        retries = self._settings.max_retries if options.max_retries is None else options.max_retries
        return Attempts(retries, self._settings.max_retry_wait, is_delete)

    def _send(self, request: httpx.Request, call: CallToken, stream: bool = False) -> httpx.Response:
        """Sends with a token; once more with a new one where the token was refused."""
        limit: float = request.extensions["timeout"]["read"]
        token = call.kept or self._token(limit)
        response = self._send_with(token, request, call, stream)
        if response.status_code != 401 or not call.refuse(token):
            return response
        response.close()
        return self._send_with(self._token(limit), request, call, stream)

    def _send_with(self, token: str, request: httpx.Request, call: CallToken, stream: bool) -> httpx.Response:
        request.headers.update(checked_headers({"authorization": f"Bearer {token.strip()}"}))
        call.attempt(token)
        try:
            response = self._http.send(request, stream=stream)
        except httpx.HTTPError as error:
            raise to_connection_error(error) from error
        call.answer(response.status_code)
        return response

    def _token(self, limit: float) -> str:
        valid = self._credential.valid()
        # While one thread renews a token that is still valid, the others use it.
        if not self._renewing.acquire(timeout=limit if valid is None else 0):
            if valid is None:
                raise TimeLimitError("No token arrived within the time limit.")
            return valid
        try:
            return self._current_token(limit)
        finally:
            self._renewing.release()

    def _current_token(self, limit: float) -> str:
        if (token := self._credential.current()) is not None:
            return token
        try:
            self._renew(limit)
        except AgentServiceError:
            if (token := self._credential.postpone_renewal()) is None:
                raise
            return token
        return self._credential.current() or ""

    def _renew(self, limit: float) -> None:
        requested_at = time.monotonic()
        try:
            response = self._http.request(**self._credential.request(limit))
        except httpx.HTTPError as error:
            raise to_connection_error(error) from error
        self._credential.store(response, requested_at)
