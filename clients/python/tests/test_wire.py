"""Requests of the client, and answers that no gateway gives, against a scripted transport."""

from __future__ import annotations

import asyncio
import copy
import functools
import itertools
import json
import pickle
import runpy
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_service import (
    AgentService,
    AgentServiceError,
    ApiError,
    AsyncAgentService,
    CallOptions,
    ConnectionFailedError,
    Settings,
    TimeLimitError,
    WebhookVerificationError,
    models,
)

Script = Callable[[httpx.Request], httpx.Response]


def connect(script: Script, *, max_retries: int = 0) -> AgentService:
    return AgentService("http://service", token="token", settings=Settings(max_retries=max_retries), transport=httpx.MockTransport(script))


def connect_async(script: Script) -> AsyncAgentService:
    return AsyncAgentService("http://service", token="token", settings=Settings(max_retries=0), transport=httpx.MockTransport(script))


def test_a_stream_has_the_headers_of_its_caller_in_place_of_its_own() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(400)

    options = CallOptions(headers={"Idempotency-Key": "order-7", "Accept": "text/html"})
    with connect(answer) as service, pytest.raises(ApiError), closing(service.stream_answer("agt_1", "x", options=options)) as events:
        next(events)
    assert sent[0].headers.get_list("idempotency-key") == ["order-7"]
    assert sent[0].headers.get_list("accept") == ["text/event-stream"]


@pytest.mark.parametrize("id", [".", ".."])
def test_an_id_that_a_url_would_resolve_is_sent_nowhere(id: str) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(204)

    with connect(answer) as service, pytest.raises(ValueError, match="cannot be"):
        service.delete_conversation("agt_1", id)
    assert sent == []


def test_a_redirect_is_an_error_that_names_its_place() -> None:
    def redirect(request: httpx.Request) -> httpx.Response:
        return httpx.Response(301, headers={"location": f"https://elsewhere{request.url.path}"})

    keyed = AgentService("http://service", api_key="sa_live_1", transport=httpx.MockTransport(redirect))
    for service in (connect(redirect), keyed):
        for call in (service.get_self, functools.partial(service.delete_agent, "agt_1")):
            with pytest.raises(ApiError, match="redirects to https://elsewhere/v1/") as refused:
                call()
            assert refused.value.status == 301


@pytest.mark.parametrize(
    "base_url", ["127.0.0.1:8080", "localhost:8080", "agents.example.com", "", "ftp://a.example", "https://ann:secret@a.example"]
)
def test_an_unusable_address_is_refused_when_the_client_is_made(base_url: str) -> None:
    with pytest.raises(ValueError, match="base_url needs the form") as refused:
        AgentService(base_url, token="t")
    assert "secret" not in str(refused.value)


def test_a_token_that_no_header_can_hold_is_refused_without_a_retry_and_is_in_no_error() -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["authorization"])
        return httpx.Response(503)

    transport = httpx.MockTransport(answer)
    for token in ("sa_live_1\nsecret", "sa_live_1\x00secret", "sa_live_1…secret"):
        with pytest.raises(AgentServiceError, match="value of authorization has a character that headers cannot") as refused:
            AgentService("http://service", token=token, transport=transport).get_self()
        assert "secret" not in "".join(traceback.format_exception(refused.value))
    with pytest.raises(ApiError):
        AgentService("http://service", token="sa_live_1\n", settings=Settings(max_retries=0), transport=transport).get_self()
    assert sent == ["Bearer sa_live_1"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (CallOptions(idempotency_key="注文-1"), "idempotency-key"),
        (CallOptions(idempotency_key="order-7\nx"), "idempotency-key"),
        (CallOptions(headers={"X-Trace": "a\0b"}), "x-trace"),
    ],
)
def test_a_value_that_no_header_can_hold_is_refused_without_a_retry(options: CallOptions, name: str) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        raise httpx.ReadError("", request=request)

    refusal = f"^The value of {name} has a character that headers cannot hold"
    with connect(answer, max_retries=4) as service:
        for call in (service.ask, lambda *words, **named: next(service.stream_answer(*words, **named))):
            with pytest.raises(AgentServiceError, match=refusal) as refused:
                call("agt_1", "x", options=options)
            assert not isinstance(refused.value, ConnectionFailedError)

    async def use() -> None:
        transport = httpx.MockTransport(answer)
        async with AsyncAgentService("http://service", token="token", transport=transport) as service:
            with pytest.raises(AgentServiceError, match=refusal):
                await service.ask("agt_1", "x", options=options)
            with pytest.raises(AgentServiceError, match=refusal):
                await anext(service.stream_answer("agt_1", "x", options=options))

    asyncio.run(use())
    assert sent == []


def test_the_line_break_at_the_end_of_a_value_is_left_out() -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["idempotency-key"])
        return httpx.Response(200, json={"data": MESSAGE})

    with connect(answer) as service:
        service.ask("agt_1", "x", options=CallOptions(idempotency_key="order-7\n"))
    assert sent == ["order-7"]


def test_a_secret_is_not_in_what_error_reports_print() -> None:
    for service in (AgentService("http://service", api_key="secret"), AgentService("http://service", oauth=("id", "secret"))):
        assert "secret" not in repr(vars(service))


MESSAGE: dict[str, Any] = {
    **dict.fromkeys(("id", "conversation_id", "content", "model_used"), "x"),
    "role": "assistant",
    "content_type": "text",
    "credits_consumed": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "status": "completed",
    "queries": [],
}
COMPLETED = f"id: 1\nevent: completed\ndata: {json.dumps(MESSAGE)}\n\n".encode()


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of a stream that the service does not end. Reading beyond its parts is an error, as a lost connection is."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.parts
        raise httpx.ReadTimeout("Nothing arrived.")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.close()


def test_a_stream_ends_with_its_answer_while_its_connection_stays_open() -> None:
    body = Body(COMPLETED)
    with connect(lambda _: httpx.Response(200, stream=body)) as service:
        assert [event.type for event in service.stream_answer("agt_1", "x")] == ["completed"]
    assert body.is_closed


def test_the_message_of_a_stream_has_the_result_and_the_usage_of_its_answer() -> None:
    usage = {"model": "gpt-5-mini", "input_tokens": 2_140, "output_tokens": 64, "latency_ms": 1_250}
    result = {"columns": [{"name": "count", "type": "number"}], "rows": [[120]], "row_count": 1, "truncated": False, "chart": None}
    completed = f"event: completed\ndata: {json.dumps({**MESSAGE, 'usage': usage, 'result': result})}\n\n".encode()
    with connect(lambda _: httpx.Response(200, stream=Body(completed))) as service:
        message = list(service.stream_answer("agt_1", "x"))[-1].message
    assert message is not None
    assert message.usage is not None
    assert message.usage.input_tokens == 2_140
    assert message.result is not None
    assert message.result.rows == [[120]]


def test_a_stream_of_coroutines_ends_with_its_answer_while_its_connection_stays_open() -> None:
    async def use() -> None:
        body = Body(COMPLETED)
        async with connect_async(lambda _: httpx.Response(200, stream=body)) as service:
            assert [event.type async for event in service.stream_answer("agt_1", "x")] == ["completed"]
        assert body.is_closed

    asyncio.run(use())


def test_usage_is_read_to_its_end() -> None:
    record: dict[str, Any] = dict.fromkeys(("user_id", "agent_id", "conversation_id", "model", "query_summary"), "x")
    record |= {"credits_consumed": 1, "timestamp": "2026-01-01T00:00:00Z"}

    def answer(request: httpx.Request) -> httpx.Response:
        is_first = "cursor" not in request.url.params
        meta = {"total": 2, "next_cursor": "next" if is_first else None, "request_id": "x"}
        return httpx.Response(200, json={"data": [{**record, "id": "use_1" if is_first else "use_2"}], "meta": meta})

    with connect(answer) as service:
        assert [one.id for one in service.entries(service.list_usage)] == ["use_1", "use_2"]

    async def use() -> None:
        async with connect_async(answer) as service:
            assert [one.id async for one in service.entries(service.list_usage)] == ["use_1", "use_2"]

    asyncio.run(use())


@pytest.mark.parametrize("text", ["<h1>Sign in</h1>", "[]", "{}", ""])
def test_a_success_that_is_none_of_the_api_is_an_error_of_this_package(text: str) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=text)

    for service in (connect(answer), AgentService("http://service", api_key="k", transport=httpx.MockTransport(answer))):
        with pytest.raises(ApiError) as refused:
            service.get_self()
        assert (refused.value.status, refused.value.code) == (200, "unknown")


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7), (format_datetime(datetime.now(timezone.utc) + timedelta(hours=1), usegmt=True), 3_600), ("soon", None)]
)
def test_retry_after_may_be_a_date(text: str, seconds: float | None) -> None:
    with connect(lambda _: httpx.Response(503, headers={"retry-after": text})) as service, pytest.raises(ApiError) as refused:
        service.get_self()
    assert refused.value.retry_after == (None if seconds is None else pytest.approx(seconds, abs=60))


def test_a_renewal_that_fails_leaves_the_valid_token_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, issued = time.monotonic, httpx.Response(200, json={"data": {"access_token": "first", "expires_in": 3_600}})
    tokens, bearers = [issued, *[httpx.Response(503)] * 3], list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/auth/token":
            return tokens.pop(0)
        bearers.append(request.headers["authorization"])
        return httpx.Response(404)

    def get_self() -> int:
        with pytest.raises(ApiError) as refused:
            service.get_self()
        return refused.value.status

    settings = Settings(max_retries=0)
    service = AgentService("http://service", api_key="k", settings=settings, transport=httpx.MockTransport(answer))
    seen = []
    for age in (0, 3_400, 3_401, 3_406, 3_601):
        monkeypatch.setattr(time, "monotonic", lambda age=age: monotonic() + age)
        seen.append((get_self(), len(tokens)))
    # The renewal is tried again after 5 s, and its failure is reported once the token has expired.
    assert seen == [(404, 3), (404, 2), (404, 2), (404, 1), (503, 0)]
    assert bearers == ["Bearer first"] * 4


RUNNING = {"error": {"type": "provider", "code": "answer_timeout", "details": {"message_id": "msg_1", "status": "running"}}}


def test_an_answer_is_waited_for_with_the_options_of_the_call_in_requests_that_end_in_time() -> None:
    sent: list[tuple[str, str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(504, json=RUNNING)
        sent.append((request.headers["prefer"], request.headers["x-request-id"], request.extensions["timeout"]["read"]))
        return httpx.Response(200, json={"data": {**MESSAGE, "result": None, "usage": None}})

    options = CallOptions(timeout=10, headers={"x-request-id": "mine"})
    with connect(answer) as service:
        service.ask("agt_1", "x", options=options)

    async def use() -> None:
        async with connect_async(answer) as service:
            await service.ask("agt_1", "x", options=options)

    asyncio.run(use())
    assert sent == [("wait=5", "mine", 10)] * 2


def test_an_answer_is_waited_for_with_the_message_itself_where_the_credential_reads_none() -> None:
    sent: list[tuple[str, str | None, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, request.headers.get("idempotency-key"), request.content))
        if request.method == "GET":
            return httpx.Response(403, json={"error": {"type": "permission", "code": "insufficient_scope"}})
        if [method for method, *_ in sent].count("POST") < 3:
            return httpx.Response(504, json=RUNNING)
        return httpx.Response(200, json={"data": MESSAGE})

    def sent_once() -> list[str]:
        methods, keys, bodies = zip(*sent, strict=True)
        assert len({*keys} - {None}) == 1
        assert len({*bodies} - {b""}) == 1
        sent.clear()
        return list(methods)

    with connect(answer) as service:
        assert service.ask("agt_1", "x").status == "completed"
    assert sent_once() == ["POST", "GET", "POST", "GET", "POST"]

    async def use() -> None:
        async with connect_async(answer) as service:
            assert (await service.ask("agt_1", "x", options=CallOptions(idempotency_key="mine"))).status == "completed"

    asyncio.run(use())
    assert sent[0][1] == "mine"
    assert sent_once() == ["POST", "GET", "POST", "GET", "POST"]


def test_a_function_whose_next_token_may_be_another_caller_never_sends_a_message_again() -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        if request.method == "GET":
            return httpx.Response(403, json={"error": {"type": "permission", "code": "insufficient_scope"}})
        return httpx.Response(504, json=RUNNING)

    settings = Settings(max_retries=0)
    service = AgentService("http://service", token=lambda: "t", settings=settings, transport=httpx.MockTransport(answer))
    with service, pytest.raises(ApiError) as raised:
        service.ask("agt_1", "x")
    assert raised.value.status == 403

    async def use() -> None:
        async with AsyncAgentService(
            "http://service", token=lambda: "t", settings=settings, transport=httpx.MockTransport(answer)
        ) as service:
            with pytest.raises(ApiError) as raised:
                await service.ask("agt_1", "x")
        assert raised.value.status == 403

    asyncio.run(use())
    assert sent == ["POST", "GET"] * 2


STARTED = b'id: 1\nevent: started\ndata: {"message_id": "m", "conversation_id": "c", "attempt": 1}\n\n'


def treat(treatments: list[int | str], bearers: list[str]) -> Script:
    """Treats the first requests as listed, by a status, a lost connection or a stream that is cut after its first event."""

    def answer(request: httpx.Request) -> httpx.Response:
        is_stream = request.url.path.endswith("/stream")
        bearers.append(request.headers["authorization"].removeprefix("Bearer "))
        treatment = treatments[len(bearers) - 1] if len(bearers) <= len(treatments) else 200
        if treatment == "lost":
            raise httpx.ReadError("", request=request)
        if treatment == "cut":
            return httpx.Response(200, stream=Body(STARTED))
        if treatment != 200:
            return httpx.Response(int(treatment))
        return httpx.Response(200, stream=Body(COMPLETED)) if is_stream else httpx.Response(200, json={"data": MESSAGE})

    return answer


def bearers_of(call: str, treatments: list[int | str], *, token_is_one_credential: bool = False) -> tuple[list[str], list[str]]:
    """The tokens that a call sends with threads and with coroutines, and the statuses with which it ends where it fails."""
    numbers = itertools.count(1)
    given: Any = {"settings": Settings(max_retries=2), "token_is_one_credential": token_is_one_credential}
    bearers: tuple[list[str], list[str]] = [], []

    def token() -> str:
        return f"token-{next(numbers)}"

    transport = httpx.MockTransport(treat(treatments, bearers[0]))
    with AgentService("http://service", token=token, transport=transport, **given) as service:
        try:
            if call == "stream":
                list(service.stream_answer("agt_1", "x"))
            elif call == "read":
                service.get_message("agt_1", "msg_1")
            else:
                service.ask("agt_1", "x")
        except ApiError as error:
            bearers[0].append(str(error.status))
    numbers = itertools.count(1)

    async def use() -> None:
        transport = httpx.MockTransport(treat(treatments, bearers[1]))
        async with AsyncAgentService("http://service", token=token, transport=transport, **given) as service:
            try:
                if call == "stream":
                    async for _ in service.stream_answer("agt_1", "x"):
                        pass
                elif call == "read":
                    await service.get_message("agt_1", "msg_1")
                else:
                    await service.ask("agt_1", "x")
            except ApiError as error:
                bearers[1].append(str(error.status))

    asyncio.run(use())
    return bearers


@pytest.mark.parametrize(
    ("call", "treatments", "expected"),
    [
        ("message", ["lost"], ["token-1", "token-1"]),
        ("message", [503], ["token-1", "token-1"]),
        ("message", [429, 401], ["token-1", "token-1", "token-2"]),
        ("message", [401, "lost"], ["token-1", "token-2", "token-2"]),
        ("message", ["lost", 401], ["token-1", "token-1", "401"]),
        ("stream", ["lost"], ["token-1", "token-1"]),
        ("stream", ["cut"], ["token-1", "token-1"]),
        ("stream", [401, "cut"], ["token-1", "token-2", "token-2"]),
        ("stream", ["cut", 401], ["token-1", "token-1", "401"]),
        # A read has no effect, so that the token of another caller repeats nothing.
        ("read", ["lost", 401], ["token-1", "token-1", "token-2"]),
        ("read", [503, 401], ["token-1", "token-1", "token-2"]),
    ],
)
def test_a_call_keeps_the_token_of_a_function_since_with_a_new_token_it_would_be_a_second_message(
    call: str, treatments: list[int | str], expected: list[str]
) -> None:
    assert bearers_of(call, treatments) == (expected, expected)


@pytest.mark.parametrize("call", ["message", "stream"])
def test_a_function_whose_tokens_are_of_one_credential_gives_each_attempt_its_token(call: str) -> None:
    expected = ["token-1", "token-2", "token-3"]
    assert bearers_of(call, ["lost", 401], token_is_one_credential=True) == (expected, expected)


def test_a_call_goes_on_with_a_renewed_token_of_one_credential() -> None:
    numbers, bearers = itertools.count(1), list[str]()
    script = treat(["lost", 401], bearers)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/auth/token":
            return httpx.Response(200, json={"data": {"access_token": f"token-{next(numbers)}", "expires_in": 3_600}})
        return script(request)

    settings = Settings(max_retries=2)
    with AgentService("http://service", api_key="k", settings=settings, transport=httpx.MockTransport(answer)) as service:
        service.ask("agt_1", "x")
    assert bearers == ["token-1", "token-1", "token-2"]


def test_a_stream_that_is_closed_closes_its_connection_and_has_the_time_limit_of_its_call() -> None:
    limits: list[float] = []

    def answer_with(body: Body) -> Script:
        def answer(request: httpx.Request) -> httpx.Response:
            limits.append(request.extensions["timeout"]["read"])
            return httpx.Response(200, stream=body)

        return answer

    body = Body(STARTED)
    with connect(answer_with(body)) as service, closing(service.stream_answer("agt_1", "x", options=CallOptions(timeout=7))) as events:
        assert next(events).type == "started"
    assert body.is_closed

    async def use() -> None:
        body = Body(STARTED)
        service = connect_async(answer_with(body))
        async with aclosing(service.stream_answer("agt_1", "x", options=CallOptions(timeout=7))) as events:
            assert (await anext(events)).type == "started"
        assert body.is_closed

    asyncio.run(use())
    assert limits == [7, 7]


@pytest.mark.parametrize(
    ("code", "type", "status"),
    [
        ("answer_cancelled", "conflict", 409),
        ("agent_deleted", "not_found", 404),
        ("provider_error", "provider", 502),
        ("a_later_one", "provider", 502),
        ("data_source_unavailable", "provider", 503),
        ("data_scope_empty", "provider", 503),
        ("answer_timeout", "provider", 504),
        ("unavailable", "internal", 503),
        ("deadline_exceeded", "internal", 503),
        ("internal", "internal", 500),
    ],
)
def test_an_answer_that_fails_has_the_same_error_streamed_and_read_later(code: str, type: str, status: int) -> None:
    error = {"type": type, "code": code, "message": "Why.", "param": None, "details": {"message_id": "msg_1"}}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(200, stream=Body(f"event: failed\ndata: {json.dumps({'error': error})}\n\n".encode()))
        return httpx.Response(200, json={"data": {**MESSAGE, "status": "failed", "error": error}})

    with connect(answer) as service:
        for call in (lambda: list(service.stream_answer("agt_1", "x")), lambda: [service.wait_for_answer("agt_1", "msg_1")]):
            with pytest.raises(ApiError, match=f"{status} {code}: Why.") as failed:
                call()
            assert (failed.value.type, failed.value.details) == (type, {"message_id": "msg_1"})


@pytest.mark.parametrize(("status", "has_ended"), [("completed", True), ("running", False)])
def test_only_the_status_says_that_an_answer_has_failed(status: str, has_ended: bool) -> None:
    error: dict[str, Any] = {"type": "provider", "code": "provider_error", "message": "Why.", "param": None, "details": {}}
    read = httpx.Response(200, json={"data": {**MESSAGE, "status": status, "error": error}})
    with connect(lambda _: read) as service:
        if has_ended:
            assert service.wait_for_answer("agt_1", "msg_1").status == status
        else:
            with pytest.raises(TimeLimitError):
                service.wait_for_answer("agt_1", "msg_1", timeout=0)


@pytest.mark.parametrize(
    ("status", "content", "text"),
    [
        ("failed", "Why.", "502 provider_error: Why."),
        ("cancelled", "Cancelled.", "409 answer_cancelled: Cancelled."),
        ("cancelled", "", "409 answer_cancelled: The answer was cancelled."),
    ],
)
def test_the_text_of_an_ended_answer_is_the_error_of_a_service_that_does_not_say_why(status: str, content: str, text: str) -> None:
    ended = httpx.Response(200, json={"data": {**MESSAGE, "status": status, "content": content}})
    with connect(lambda _: ended) as service, pytest.raises(ApiError, match=f"^{text}$"):
        service.wait_for_answer("agt_1", "msg_1")


def test_the_example_of_a_stream_prints_the_whole_text_where_deltas_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def example_prints(body: bytes) -> str:
        monkeypatch.setattr("agent_service.AgentService", lambda *_, **__: connect(lambda _: httpx.Response(200, stream=Body(body))))
        runpy.run_path(str(Path(__file__).parent.parent / "examples" / "stream_answer.py"), run_name="__main__")
        return capsys.readouterr().out

    for name in ("AGENT_SERVICE_URL", "AGENT_SERVICE_KEY", "AGENT_ID"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setattr("sys.argv", ["stream_answer.py"])
    completed = f"event: completed\ndata: {json.dumps({**MESSAGE, 'content': 'One two'})}\n\n".encode()
    delta = b'event: delta\ndata: {"text": "One"}\n\n'
    assert example_prints(STARTED + completed) == "One two\n1 credits\n"
    assert example_prints(STARTED + delta + completed) == "One two\n1 credits\n"
    # The text of a former attempt has been printed.
    assert example_prints(STARTED + delta + STARTED + completed) == "OneOne two\n1 credits\n"


def test_a_function_of_coroutines_gives_the_token() -> None:
    bearers: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bearers.append(request.headers["authorization"])
        return httpx.Response(401 if len(bearers) == 1 else 404)

    async def fetch_token() -> str:
        await asyncio.sleep(0)
        return f"token-{len(bearers)}"

    async def use() -> None:
        async with AsyncAgentService("http://service", token=fetch_token, transport=httpx.MockTransport(answer)) as service:
            with pytest.raises(ApiError):
                await service.get_self()

    asyncio.run(use())
    assert bearers == ["Bearer token-0", "Bearer token-1"]


def test_the_end_of_a_time_limit_differs_from_a_lost_connection() -> None:
    def time_out(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    def disconnect(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("", request=request)

    for script, is_limit in ((time_out, True), (disconnect, False)):
        with connect(script) as service, pytest.raises(ConnectionFailedError) as failed:
            service.get_self()
        assert isinstance(failed.value, TimeLimitError) is is_limit
    running = httpx.Response(200, json={"data": {**MESSAGE, "status": "running"}})
    with connect(lambda _: running) as service, pytest.raises(TimeLimitError, match="msg_1"):
        service.wait_for_answer("agt_1", "msg_1", timeout=0)


def test_fields_of_later_versions_are_sent_and_kept() -> None:
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        agent = {"id": "agt_1", "name": "x", "status": "active", "model": "Fast", "updated_at": "2026-01-01T00:00:00Z"}
        return httpx.Response(200, json={"data": {**agent, "later": {"nested": 1}}})

    with connect(answer) as service:
        changed = service.update_agent("agt_1", models.UpdateAgentRequest.model_validate({"name": "x", "later": [1]}))
    assert sent == [{"name": "x", "later": [1]}]
    assert changed.data.model_extra == {"later": {"nested": 1}}


def refused_then_missing(status: int, code: str, type: str = "internal") -> Script:
    answers = itertools.cycle([(status, {"type": type, "code": code}), (404, {"type": "not_found", "code": "not_found"})])

    def answer(_: httpx.Request) -> httpx.Response:
        answer_status, error = next(answers)
        return httpx.Response(answer_status, json={"error": error})

    return answer


@pytest.mark.parametrize("code", ["unavailable", "deadline_exceeded", "internal", "a_later_one"])
def test_what_a_deletion_that_may_have_taken_place_does_not_find_is_deleted(code: str) -> None:
    answer = refused_then_missing(503, code)
    with connect(answer, max_retries=1) as service:
        service.delete_agent("agt_1")

    async def use() -> None:
        settings, transport = Settings(max_retries=1), httpx.MockTransport(answer)
        async with AsyncAgentService("http://service", token="token", settings=settings, transport=transport) as service:
            await service.delete_agent("agt_1")

    asyncio.run(use())


@pytest.mark.parametrize("code", ["rate_limited", "a_later_one"])
def test_what_a_deletion_after_a_refusal_does_not_find_is_an_error(code: str) -> None:
    with connect(refused_then_missing(429, code, "rate_limit"), max_retries=1) as service, pytest.raises(ApiError) as missing:
        service.delete_agent("agt_1")
    assert missing.value.status == 404


@pytest.mark.parametrize(
    ("status", "type", "is_repeated"),
    [(429, "rate_limit", True), (503, "internal", True), (400, "internal", False), (503, "provider", False), (409, "conflict", False)],
)
def test_a_code_of_a_later_version_is_judged_by_its_type(status: int, type: str, is_repeated: bool) -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        if len(sent) > 1:
            return httpx.Response(200, json={"data": MESSAGE})
        return httpx.Response(status, json={"error": {"type": type, "code": "a_later_one"}})

    with connect(answer, max_retries=1) as service:
        if is_repeated:
            assert service.ask("agt_1", "x").status == "completed"
        else:
            with pytest.raises(ApiError) as refused:
                service.ask("agt_1", "x")
            assert refused.value.status == status
    assert len(sent) == (2 if is_repeated else 1)


@pytest.mark.parametrize(
    ("period", "name"), [({}, "UsageOfDay"), ({"week": "2026-W02"}, "UsageOfWeek"), ({"month": "2026-01"}, "UsageOfMonth")]
)
def test_usage_of_a_period_has_the_model_of_its_period(period: dict[str, str], name: str) -> None:
    dates = {"from": "2026-01-01", "to": "2026-01-31"}
    meta = {"total_credits": 1, "total_queries": 1, "date_range": dates, "total": 1, "next_cursor": None, "request_id": "x"}
    usage = {"date": "2026-01-05", "total_credits": 1, "query_count": 1, "unique_users": 1, "breakdown_by_model": {"Fast": 1}, **period}
    with connect(lambda _: httpx.Response(200, json={"data": [usage], "meta": meta})) as service:
        assert [type(one).__name__ for one in service.entries(service.list_usage)] == [name]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the clock is ahead of the machine's. A test moves it on."""
    monotonic, ahead = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + ahead[0])
    return ahead


def test_the_wait_for_an_answer_also_ends_where_the_service_is_silent(clock: list[float]) -> None:
    def be_silent(request: httpx.Request) -> httpx.Response:
        clock[0] += request.extensions["timeout"]["read"]
        raise httpx.ReadTimeout("", request=request)

    settings, transport = Settings(max_retries=4), httpx.MockTransport(be_silent)
    began = time.monotonic()
    with (
        AgentService("http://service", token="token", settings=settings, transport=transport) as service,
        pytest.raises(TimeLimitError, match="The answer msg_1 has not ended in time"),
    ):
        service.wait_for_answer("agt_1", "msg_1", timeout=0.1)

    async def use() -> None:
        async with AsyncAgentService("http://service", token="token", settings=settings, transport=transport) as service:
            with pytest.raises(TimeLimitError, match="The answer msg_1 has not ended in time"):
                await service.wait_for_answer("agt_1", "msg_1", timeout=0.1)

    asyncio.run(use())
    assert time.monotonic() - began < 20


def test_an_answer_is_waited_for_also_with_a_time_limit_that_has_no_room_for_the_shortest_wait_of_the_service() -> None:
    sent: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers.get("prefer"))
        return httpx.Response(200, json={"data": {**MESSAGE, "result": None, "usage": None}})

    with connect(answer) as service:
        service.wait_for_answer("agt_1", "msg_1", options=CallOptions(timeout=0.9))

    async def use() -> None:
        async with connect_async(answer) as service:
            await service.wait_for_answer("agt_1", "msg_1", options=CallOptions(timeout=0.9))

    asyncio.run(use())
    assert sent == [None, None]


def test_a_silent_token_endpoint_holds_a_request_no_longer_than_its_time_limit(clock: list[float]) -> None:
    limits: list[float] = []

    def be_silent(request: httpx.Request) -> httpx.Response:
        limits.append(request.extensions["timeout"]["read"])
        raise httpx.ReadTimeout("", request=request)

    settings, transport = Settings(max_retries=0), httpx.MockTransport(be_silent)
    with AgentService("http://service", api_key="k", settings=settings, transport=transport) as service:
        for options in (CallOptions(timeout=1.5), None):
            with pytest.raises(TimeLimitError):
                service.get_self(options=options)
        with pytest.raises(TimeLimitError):
            service.wait_for_answer("agt_1", "msg_1", timeout=0)

    async def use() -> None:
        async with AsyncAgentService("http://service", api_key="k", settings=settings, transport=transport) as service:
            with pytest.raises(TimeLimitError):
                await service.get_self(options=CallOptions(timeout=1.5))

    asyncio.run(use())
    assert limits == [1.5, 20, pytest.approx(2, abs=0.1), 1.5]


def test_tasks_that_wait_for_the_token_of_another_one_end_with_their_own_time_limit() -> None:
    sent: list[str] = []

    async def be_silent(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        await asyncio.sleep(request.extensions["timeout"]["read"])
        raise httpx.ReadTimeout("", request=request)

    async def use() -> None:
        settings, transport = Settings(timeout=0.2, max_retries=0), httpx.MockTransport(be_silent)
        async with AsyncAgentService("http://service", api_key="k", settings=settings, transport=transport) as service:
            outcomes = await asyncio.gather(*(service.get_self() for _ in range(10)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [TimeLimitError] * 10

    asyncio.run(use())
    # The next task may get its turn at the moment in which the limits of all others end.
    assert len(sent) <= 2


def test_requests_go_on_with_the_valid_token_while_another_one_renews_it(clock: list[float]) -> None:
    issued = httpx.Response(200, json={"data": {"access_token": "first", "expires_in": 3_600}})
    is_renewing, may_answer, tokens = threading.Event(), threading.Event(), [issued]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/v1/auth/token":
            return httpx.Response(404)
        if tokens:
            return tokens.pop()
        is_renewing.set()
        may_answer.wait(10)
        return httpx.Response(503)

    settings, transport = Settings(max_retries=0), httpx.MockTransport(answer)

    def get_self() -> int:
        with pytest.raises(ApiError) as refused:
            service.get_self()
        return refused.value.status

    with AgentService("http://service", api_key="k", settings=settings, transport=transport) as service, ThreadPoolExecutor() as threads:
        assert get_self() == 404
        clock[0] += 3_400
        renewing = threads.submit(get_self)
        assert is_renewing.wait(10)
        assert threads.submit(get_self).result(5) == 404
        may_answer.set()
        assert renewing.result(10) == 404


def test_an_event_that_cannot_be_read_is_taken_up_again_like_a_lost_connection() -> None:
    unreadable = [b"event: delta\ndata: <h1>\n\n", b"event: delta\ndata: {}\n\n", b"event: completed\ndata: {}\n\n"]
    # Each stream gets further, so that the pauses do not grow.
    starts = [STARTED.replace(b"id: 1", f"id: {number}".encode()) for number in (1, 2, 3)]
    bodies = [*(start + one for start, one in zip(starts, unreadable, strict=True)), COMPLETED]
    sent: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers.get("last-event-id"))
        return httpx.Response(200, stream=Body(bodies[len(sent) - 1]))

    with connect(answer, max_retries=4) as service:
        assert [event.type for event in service.stream_answer("agt_1", "x")] == ["started"] * 3 + ["completed"]
    assert sent == [None, "1", "2", "3"]
    sent.clear()

    async def use() -> None:
        settings, transport = Settings(max_retries=4), httpx.MockTransport(answer)
        async with AsyncAgentService("http://service", token="token", settings=settings, transport=transport) as service:
            assert [event.type async for event in service.stream_answer("agt_1", "x")] == ["started"] * 3 + ["completed"]

    asyncio.run(use())


@pytest.mark.parametrize(
    "error",
    [
        ApiError(429, "rate_limited", "Wait.", type="rate_limit", field="name", details={"limit": 1}, request_id="req_1", retry_after=2.0),
        ApiError(404, "not_found", "There is none."),
        WebhookVerificationError("missing_headers", "The headers are needed."),
        AgentServiceError("No."),
        ConnectionFailedError("Lost."),
        TimeLimitError("Late."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_whole_after_it_was_copied_or_came_from_another_process(error: AgentServiceError) -> None:
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))


def test_a_call_is_told_the_status_and_the_headers_of_every_answer() -> None:
    told: list[tuple[int, str | None]] = []
    options = CallOptions(on_response=lambda status, headers: told.append((status, headers.get("ETag"))))

    def answer(request: httpx.Request) -> httpx.Response:
        if len(told) % 3 == 0:
            return httpx.Response(503, json={"error": {"type": "internal", "code": "unavailable"}})
        if request.url.path.endswith("/stream"):
            return httpx.Response(200, stream=Body(COMPLETED))
        return httpx.Response(200, headers={"etag": '"7"'}, json={"data": MESSAGE})

    with connect(answer, max_retries=1) as service:
        service.start_answer("agt_1", "x", options=options)
        list(service.stream_answer("agt_1", "x", options=options))

    async def use() -> None:
        settings, transport = Settings(max_retries=1), httpx.MockTransport(answer)
        async with AsyncAgentService("http://service", token="token", settings=settings, transport=transport) as service:
            await service.start_answer("agt_1", "x", options=options)
            assert [event.type async for event in service.stream_answer("agt_1", "x", options=options)] == ["completed"]

    asyncio.run(use())
    assert told == [(503, None), (200, '"7"'), (200, None)] * 2


def test_an_unchanged_resource_is_an_error_that_says_so() -> None:
    options = CallOptions(headers={"If-None-Match": '"7"'})
    with connect(lambda _: httpx.Response(304, headers={"etag": '"7"'})) as service, pytest.raises(ApiError) as unchanged:
        service.get_agent("agt_1", options=options)
    text = "304 not_modified: The resource is unchanged: its ETag is one that If-None-Match names."
    assert (str(unchanged.value), unchanged.value.code) == (text, "not_modified")
