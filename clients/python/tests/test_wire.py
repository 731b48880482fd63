"""Requests of the client, and answers that no gateway gives, against a scripted transport."""

from __future__ import annotations

import functools
from collections.abc import Callable

import httpx
import pytest

from agent_service import AgentService, ApiError, Settings

Script = Callable[[httpx.Request], httpx.Response]


def connect(script: Script, *, max_retries: int = 0) -> AgentService:
    return AgentService("http://service", token="token", settings=Settings(max_retries=max_retries), transport=httpx.MockTransport(script))


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
