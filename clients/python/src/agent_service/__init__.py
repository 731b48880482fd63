"""Client of the Agent Service API."""

from ._async_client import AsyncAgentService
from ._client import AgentService
from ._errors import AgentServiceError, ApiError, ConnectionFailedError, TimeLimitError
from ._generated import models
from ._operation import CallOptions
from ._settings import Settings
from ._stream import AnswerEvent
from .webhooks import WebhookEvent, WebhookVerificationError, verify_webhook

__all__ = [
    "AgentService",
    "AgentServiceError",
    "AnswerEvent",
    "ApiError",
    "AsyncAgentService",
    "CallOptions",
    "ConnectionFailedError",
    "Settings",
    "TimeLimitError",
    "WebhookEvent",
    "WebhookVerificationError",
    "models",
    "verify_webhook",
]
