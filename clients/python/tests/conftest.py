"""The tests run against a gateway: AGENT_SERVICE_URL, AGENT_SERVICE_KEY and, behind AGENT_SERVICE_PROXY, one that breaks connections."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agent_service import AgentService

URL = os.environ["AGENT_SERVICE_URL"]
PROXY = os.environ["AGENT_SERVICE_PROXY"]
KEY = os.environ["AGENT_SERVICE_KEY"]


class Faults:
    """Plans what the proxy does to the next requests, and reads what it has received."""

    def plan(self, path_end: str, *faults: dict[str, Any]) -> None:
        httpx.post(f"{PROXY}/_plan", content=json.dumps({"pathEnd": path_end, "faults": list(faults)})).raise_for_status()

    def received(self) -> list[dict[str, Any]]:
        requests: list[dict[str, Any]] = httpx.post(f"{PROXY}/_received").json()
        return requests


@pytest.fixture
def faults() -> Faults:
    faults = Faults()
    faults.received()
    return faults


@pytest.fixture
def service() -> Iterator[AgentService]:
    with AgentService(PROXY, api_key=KEY) as service:
        yield service


@pytest.fixture(scope="session")
def agent_id() -> str:
    with AgentService(URL, api_key=KEY) as service:
        agent = service.create_agent({"name": "Python", "system_prompt": "Answer.", "data_scope": {"tables": []}}).data
        service.update_agent(agent.id, {"status": "active"})
        return agent.id
