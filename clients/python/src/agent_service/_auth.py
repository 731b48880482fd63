from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from ._errors import ApiError, to_api_error

#: The longest time before its end at which a token is renewed, in seconds.
_EARLIEST_RENEWAL = 300.0
_RENEWAL_PAUSE = 5.0
#: The longest wait for a token in seconds, also of calls that wait longer for their answers.
_RENEWAL_LIMIT = 20.0


def checked_url(base_url: str) -> httpx.URL:
    """Raises for an address that takes no requests, which would pass for a lost connection."""
    url = httpx.URL(base_url)
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise ValueError("base_url needs the form https://agents.example.com, without a user and a password.")
    return url


@dataclass
class Credential:
    """Where tokens come from: an API key, OAuth client credentials, a token, or a function that returns one."""

    api_key: str | None = field(default=None, repr=False)
    oauth: tuple[str, str] | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = ()
    token: str | Callable[[], Any] | None = field(default=None, repr=False)
    token_is_one_credential: bool = False

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.api_key, self.oauth, self.token)) != 1:
            raise ValueError("Give one of api_key, oauth and token.")
        self._current: str | None = None
        self._renew_at = 0.0
        self._expires_at = 0.0

    @property
    def is_one(self) -> bool:
        """True where all tokens are of one credential. The next one of a function may be another caller's, unless it is said not to be."""
        return self.token_is_one_credential or not callable(self.token)

    @property
    def is_renewable(self) -> bool:
        return self.token is None

    def current(self) -> str | None:
        """The token for the next request; None where one has to be requested first."""
        if callable(self.token):
            return str(self.token())
        if self.token is not None:
            return self.token
        return self._current if time.monotonic() < self._renew_at else None

    def valid(self) -> str | None:
        """The token that was issued last, until it expires; None where there is none. It may be time to renew it."""
        return self._current if time.monotonic() < self._expires_at else None

    def request(self, limit: float) -> dict[str, Any]:
        """The request for a new token within a time limit. The key itself is sent to the token endpoint only."""
        common = {"method": "POST", "timeout": min(limit, _RENEWAL_LIMIT)}
        if self.api_key is not None:
            return {**common, "url": "/v1/auth/token", "json": {"api_key": self.api_key}}
        client_id, client_secret = self.oauth or ("", "")
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
        if self.scopes:
            form["scope"] = " ".join(self.scopes)
        return {**common, "url": "/v1/auth/oauth/token", "data": form}

    def store(self, response: httpx.Response, requested_at: float) -> None:
        """Keeps a token. Its age is measured here on the monotonic clock, so that a wrong time of day does not matter."""
        if not response.is_success:
            raise to_api_error(response.status_code, response.headers, response.text)
        try:
            answer = response.json()
            issued = answer.get("data", answer)
            token, lifetime = str(issued["access_token"]), float(issued["expires_in"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ApiError(response.status_code, "unknown", "The answer of the token endpoint has no token.") from error
        self._current = token
        self._expires_at = requested_at + lifetime
        self._renew_at = self._expires_at - min(lifetime / 5, _EARLIEST_RENEWAL)

    def postpone_renewal(self) -> str | None:
        """The token that is still valid after its renewal failed, which is tried again after a pause; None without one."""
        self._renew_at = min(time.monotonic() + _RENEWAL_PAUSE, self._expires_at)
        return self.valid()

    def refuse(self, token: str) -> bool:
        """Forgets a token that the service refused. False if the client has no other token."""
        if callable(self.token):
            return True
        if self._current == token:
            self._current, self._renew_at, self._expires_at = None, 0.0, 0.0
        return self.is_renewable


class CallToken:
    """The token of the attempts of one call. Where the next one may be another caller's, under which a repeated message is a new
    message, they keep their token unless the service has refused all of them. Reads have no effect, and may go on with the next
    token."""

    def __init__(self, credential: Credential, *, is_read: bool = False) -> None:
        self._credential = credential
        self._is_read = is_read
        self._token: str | None = None
        #: The attempts that may have had an effect.
        self._effects = 0

    @property
    def kept(self) -> str | None:
        """The token of the next attempt; None where the credential gives it."""
        return None if self._credential.is_one else self._token

    def attempt(self, token: str) -> None:
        """An attempt begins. It may have had an effect until its answer says otherwise."""
        self._token = token
        self._effects += 1

    def answer(self, status: int) -> None:
        """An attempt ends with an answer. Every one but a refusal may be one of a proxy, or come after the effect."""
        if status in (401, 429):
            self._effects -= 1

    def refuse(self, token: str) -> bool:
        """Forgets a token that the service refused. False if the call has no other token."""
        return self._credential.refuse(token) and (self._credential.is_one or self._is_read or self._effects == 0)
