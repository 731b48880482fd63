from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How a client waits, in seconds."""

    #: The longest wait for an answer, for each attempt: longer than the service itself waits.
    timeout: float = 90.0
    #: The longest silence of a stream. The service writes every 15 s.
    stream_timeout: float = 45.0
    #: Attempts after the first one, with growing pauses.
    max_retries: int = 4
    #: The longest pause that the service may ask for before a call fails with its error.
    max_retry_wait: float = 60.0
