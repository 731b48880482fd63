from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from agent_service import AgentService, ApiError, AsyncAgentService, CallOptions, ConnectionFailedError, Settings, models

from .conftest import KEY, PROXY, URL, Faults

CLIENT_ID, CLIENT_SECRET = os.environ["AGENT_SERVICE_CLIENT_ID"], os.environ["AGENT_SERVICE_CLIENT_SECRET"]
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def new_agent(name: str) -> models.CreateAgentRequest:
    return models.CreateAgentRequest.model_validate({"name": name, "system_prompt": "x", "data_scope": {"tables": []}})


def test_a_key_is_exchanged_once_and_renewed_after_a_refusal(service: AgentService, faults: Faults) -> None:
    assert service.get_self().data.environment == "live"
    faults.plan("/v1/me", {"kind": "answer", "status": 401, "code": "token_expired"})
    assert service.get_self().data.environment == "live"
    paths = [request["path"] for request in faults.received()]
    assert paths == ["/v1/auth/token", "/v1/me", "/v1/me", "/v1/auth/token", "/v1/me"]


def test_a_token_is_renewed_before_it_expires(service: AgentService, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, lifetime = time.monotonic, 3_600
    service.get_self()
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + lifetime - 310)
    service.get_self()
    assert [request["path"] for request in faults.received()] == ["/v1/auth/token", "/v1/me", "/v1/me"]
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + lifetime - 290)
    service.get_self()
    service.get_self()
    renewed = faults.received()
    assert [request["path"] for request in renewed] == ["/v1/auth/token", "/v1/me", "/v1/me"]


def test_oauth_tokens_have_the_requested_scopes() -> None:
    with AgentService(URL, oauth=(CLIENT_ID, CLIENT_SECRET), scopes=("agents:read",)) as service:
        assert service.get_self().data.scopes == ["agents:read"]
        with pytest.raises(ApiError) as refused:
            service.create_agent(new_agent("x"))
    assert (refused.value.status, refused.value.code) == (403, "insufficient_scope")


def test_a_refusal_has_code_field_and_remedy(service: AgentService) -> None:
    with pytest.raises(ApiError) as refused:
        service.create_agent(new_agent(""))
    assert (refused.value.code, refused.value.field) == ("invalid_request", "name")
    assert refused.value.remedy
    assert refused.value.request_id


def test_lists_are_read_to_the_end(service: AgentService) -> None:
    names = {f"paged {uuid.uuid4()}" for _ in range(3)}
    for name in names:
        service.create_agent(new_agent(name))
    found = [agent.name for agent in service.entries(service.list_agents, limit=2)]
    assert names <= set(found)
    assert len(found) == len(set(found)) == service.list_agents().meta.total


def test_passing_failures_are_repeated_and_others_are_not(service: AgentService, faults: Faults) -> None:
    faults.plan(
        "/v1/agents",
        {"kind": "answer", "status": 429, "code": "rate_limited", "headers": {"retry-after": "1"}},
        {"kind": "answer", "status": 503, "code": "unavailable"},
        {"kind": "answer", "status": 502},
    )
    assert service.list_agents().data
    refused_at, repeated_at, *_ = [request["at"] for request in faults.received() if request["path"] == "/v1/agents"]
    assert repeated_at - refused_at > 998
    faults.plan("/v1/agents", {"kind": "answer", "status": 429, "code": "rate_limited", "headers": {"retry-after": "3600"}})
    with pytest.raises(ApiError) as refused:
        service.list_agents()
    assert refused.value.retry_after == 3600


def test_pauses_grow_and_differ_at_random(faults: Faults) -> None:
    def pauses() -> list[float]:
        faults.plan("/v1/me", *[{"kind": "answer", "status": 503, "code": "unavailable"}] * 3)
        with AgentService(PROXY, token=KEY) as service:
            service.get_self()
        times = [float(request["at"]) for request in faults.received()]
        return [after - before for before, after in itertools.pairwise(times)]

    one, other = pauses(), pauses()
    for pause, shortest in zip(one + other, [125, 250, 500] * 2, strict=True):
        assert pause > shortest - 2
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 1


def test_a_write_whose_answer_was_lost_has_its_effect_once(service: AgentService, faults: Faults, agent_id: str) -> None:
    name = f"once {uuid.uuid4()}"
    faults.plan("/v1/agents", {"kind": "lost-answer"})
    service.create_agent(new_agent(name))
    assert service.list_agents(search=name).meta.total == 1
    before = service.list_usage().root.meta.total
    faults.plan("/messages", {"kind": "lost-answer"})
    assert service.ask(agent_id, "How much?").status == "completed"
    assert service.list_usage().root.meta.total == before + 1
    for lost in ({}, {"status": 504}):
        agent = service.create_agent(new_agent("gone")).data
        faults.plan(agent.id, {"kind": "lost-answer", **lost})
        service.delete_agent(agent.id)


def test_a_stream_goes_on_where_it_was_cut(service: AgentService, faults: Faults, agent_id: str) -> None:
    before = service.list_usage().root.meta.total
    faults.plan("/stream", {"kind": "cut", "afterText": "hundred"}, {"kind": "cut", "afterText": "started"})
    events = list(service.stream_answer(agent_id, "slow"))
    last = events[-1]
    assert last.message is not None
    assert last.message.content == last.content
    assert all(last.content.startswith(event.content) for event in events)
    assert service.list_usage().root.meta.total == before + 1
    sent = [request["headers"] for request in faults.received() if request["path"].endswith("/stream")]
    assert "last-event-id" in sent[1]
    assert len({headers["idempotency-key"] for headers in sent}) == 1


def test_a_failed_answer_raises_its_error(service: AgentService, agent_id: str) -> None:
    with pytest.raises(ApiError) as failed:
        list(service.stream_answer(agent_id, "fail"))
    assert failed.value.code == "provider_error"


def test_answers_are_waited_for_and_read_later(service: AgentService, agent_id: str) -> None:
    assert service.ask(agent_id, "very slow").status == "completed"
    with AgentService(URL, oauth=(CLIENT_ID, CLIENT_SECRET), scopes=("agents:chat",)) as sender:
        assert sender.ask(agent_id, "very slow").status == "completed"
    started = service.start_answer(agent_id, "later", options=CallOptions(idempotency_key=str(uuid.uuid4())))
    assert service.wait_for_answer(agent_id, started.id, timeout=30).status == "completed"


def test_an_unreachable_service_is_a_connection_error() -> None:
    with AgentService("http://127.0.0.1:9", token="x", settings=Settings(max_retries=1)) as service, pytest.raises(ConnectionFailedError):
        service.get_self()


def test_coroutines_do_the_same(faults: Faults, agent_id: str) -> None:
    async def use() -> None:
        async with AsyncAgentService(PROXY, api_key=KEY) as service:
            one, other = await asyncio.gather(service.get_self(), service.get_self())
            assert one.data == other.data
            faults.plan("/v1/agents", {"kind": "answer", "status": 503, "code": "unavailable"})
            names = [agent.name async for agent in service.entries(service.list_agents, limit=2)]
            assert len(names) == (await service.list_agents()).meta.total
            faults.plan("/stream", {"kind": "cut", "afterText": "hundred"})
            events = [event async for event in service.stream_answer(agent_id, "slow")]
            assert events[-1].message is not None
            assert (await service.ask(agent_id, "very slow")).status == "completed"
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(service.ask(agent_id, "very slow"), 0.2)
        tokens = [request for request in faults.received() if request["path"] == "/v1/auth/token"]
        assert len(tokens) == 1

    asyncio.run(use())


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_the_examples_run(example: Path, agent_id: str) -> None:
    environment = {**os.environ, "AGENT_ID": agent_id}
    result = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=60, env=environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
