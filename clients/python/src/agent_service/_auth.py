from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: The longest time before its end at which a token is renewed, in seconds.
_EARLIEST_RENEWAL = 300.0


@dataclass
class Credential:
    """Where tokens come from: an API key, OAuth client credentials, a token, or a function that returns one."""

    api_key: str | None = None
    oauth: tuple[str, str] | None = None
    scopes: tuple[str, ...] = ()
    token: str | Callable[[], str] | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.api_key, self.oauth, self.token)) != 1:
            raise ValueError("Give one of api_key, oauth and token.")
        self._current: str | None = None
        self._renew_at = 0.0

    @property
    def is_renewable(self) -> bool:
        return self.token is None

    def current(self) -> str | None:
        """The token for the next request; None where one has to be requested first."""
        if callable(self.token):
            return self.token()
        if self.token is not None:
            return self.token
        return self._current if time.monotonic() < self._renew_at else None

    def request(self) -> dict[str, Any]:
        """The request for a new token. The key itself is sent to the token endpoint only."""
        if self.api_key is not None:
            return {"method": "POST", "url": "/v1/auth/token", "json": {"api_key": self.api_key}}
        client_id, client_secret = self.oauth or ("", "")
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
        if self.scopes:
            form["scope"] = " ".join(self.scopes)
        return {"method": "POST", "url": "/v1/auth/oauth/token", "data": form}

    def store(self, answer: dict[str, Any], requested_at: float) -> None:
        """Keeps a token. Its age is measured here on the monotonic clock, so that a wrong time of day does not matter."""
        issued = answer.get("data", answer)
        lifetime = float(issued["expires_in"])
        self._current = str(issued["access_token"])
        self._renew_at = requested_at + lifetime - min(lifetime / 5, _EARLIEST_RENEWAL)

    def refuse(self, token: str) -> bool:
        """Forgets a token that the service refused. False if the client has no other token."""
        if callable(self.token):
            return True
        if self._current == token:
            self._current, self._renew_at = None, 0.0
        return self.is_renewable
