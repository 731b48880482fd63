# Generated from the OpenAPI document by generate.py. Any change is lost.

from __future__ import annotations

from typing import Literal

from .._operation import AsyncCaller, Body, Caller, CallOptions, Operation, nothing, segment
from . import models


class Operations(Caller):
    """Every operation of the API."""

    def revoke_key(self, key_id: str, *, options: CallOptions | None = None) -> None:
        """Revoke an API key and every token made from it."""
        return self._call(Operation("DELETE", f"/v1/auth/keys/{segment(key_id)}", {}, None, nothing), options)

    def get_self(self, *, options: CallOptions | None = None) -> models.GetSelfResponse:
        """View who you are, and what you may do."""
        return self._call(Operation("GET", f"/v1/me", {}, None, models.GetSelfResponse.model_validate_json), options)

    def list_keys(self, *, limit: int | None = None, cursor: str | None = None, user_id: str | None = None, status: Literal["active", "ended"] | None = None, options: CallOptions | None = None) -> models.ListKeysResponse:
        """List the API keys of the environment, newest first."""
        return self._call(Operation("GET", f"/v1/keys", {"limit": limit, "cursor": cursor, "user_id": user_id, "status": status}, None, models.ListKeysResponse.model_validate_json), options)

    def create_key(self, body: models.CreateKeyRequest | Body, *, options: CallOptions | None = None) -> models.CreateKeyResponse:
        """Create an API key."""
        return self._call(Operation("POST", f"/v1/keys", {}, body, models.CreateKeyResponse.model_validate_json), options)

    def get_key(self, key_id: str, *, options: CallOptions | None = None) -> models.GetKeyResponse:
        """View an API key."""
        return self._call(Operation("GET", f"/v1/keys/{segment(key_id)}", {}, None, models.GetKeyResponse.model_validate_json), options)

    def update_key(self, key_id: str, body: models.UpdateKeyRequest | Body, *, options: CallOptions | None = None) -> models.UpdateKeyResponse:
        """Change the name, scopes or token lifetime of an API key."""
        return self._call(Operation("PATCH", f"/v1/keys/{segment(key_id)}", {}, body, models.UpdateKeyResponse.model_validate_json), options)

    def rotate_key(self, key_id: str, body: models.RotateKeyRequest | Body | None = None, *, options: CallOptions | None = None) -> models.RotateKeyResponse:
        """Replace an API key."""
        return self._call(Operation("POST", f"/v1/keys/{segment(key_id)}/rotate", {}, body, models.RotateKeyResponse.model_validate_json), options)

    def list_oauth_applications(self, *, limit: int | None = None, cursor: str | None = None, status: Literal["active", "ended"] | None = None, options: CallOptions | None = None) -> models.ListOauthApplicationsResponse:
        """List the OAuth applications of the environment, newest first."""
        return self._call(Operation("GET", f"/v1/oauth-applications", {"limit": limit, "cursor": cursor, "status": status}, None, models.ListOauthApplicationsResponse.model_validate_json), options)

    def create_oauth_application(self, body: models.CreateOauthApplicationRequest | Body, *, options: CallOptions | None = None) -> models.CreateOauthApplicationResponse:
        """Register an OAuth application."""
        return self._call(Operation("POST", f"/v1/oauth-applications", {}, body, models.CreateOauthApplicationResponse.model_validate_json), options)

    def get_oauth_application(self, application_id: str, *, options: CallOptions | None = None) -> models.GetOauthApplicationResponse:
        """View an OAuth application."""
        return self._call(Operation("GET", f"/v1/oauth-applications/{segment(application_id)}", {}, None, models.GetOauthApplicationResponse.model_validate_json), options)

    def update_oauth_application(self, application_id: str, body: models.UpdateOauthApplicationRequest | Body, *, options: CallOptions | None = None) -> models.UpdateOauthApplicationResponse:
        """Change the name or scopes of an OAuth application."""
        return self._call(Operation("PATCH", f"/v1/oauth-applications/{segment(application_id)}", {}, body, models.UpdateOauthApplicationResponse.model_validate_json), options)

    def revoke_oauth_application(self, application_id: str, *, options: CallOptions | None = None) -> None:
        """Revoke an OAuth application and every token issued to it."""
        return self._call(Operation("DELETE", f"/v1/oauth-applications/{segment(application_id)}", {}, None, nothing), options)

    def rotate_oauth_secret(self, application_id: str, body: models.RotateOauthSecretRequest | Body | None = None, *, options: CallOptions | None = None) -> models.RotateOauthSecretResponse:
        """Replace the secret of an OAuth application."""
        return self._call(Operation("POST", f"/v1/oauth-applications/{segment(application_id)}/rotate", {}, body, models.RotateOauthSecretResponse.model_validate_json), options)

    def list_agents(self, *, limit: int | None = None, cursor: str | None = None, category: str | None = None, status: Literal["active", "inactive", "draft"] | None = None, search: str | None = None, options: CallOptions | None = None) -> models.ListAgentsResponse:
        """List the agents, newest first."""
        return self._call(Operation("GET", f"/v1/agents", {"limit": limit, "cursor": cursor, "category": category, "status": status, "search": search}, None, models.ListAgentsResponse.model_validate_json), options)

    def create_agent(self, body: models.CreateAgentRequest | Body, *, options: CallOptions | None = None) -> models.CreateAgentResponse:
        """Create an agent."""
        return self._call(Operation("POST", f"/v1/agents", {}, body, models.CreateAgentResponse.model_validate_json), options)

    def get_agent(self, agent_id: str, *, options: CallOptions | None = None) -> models.GetAgentResponse:
        """View an agent."""
        return self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}", {}, None, models.GetAgentResponse.model_validate_json), options)

    def update_agent(self, agent_id: str, body: models.UpdateAgentRequest | Body, *, options: CallOptions | None = None) -> models.UpdateAgentResponse:
        """Change an agent."""
        return self._call(Operation("PATCH", f"/v1/agents/{segment(agent_id)}", {}, body, models.UpdateAgentResponse.model_validate_json), options)

    def delete_agent(self, agent_id: str, *, options: CallOptions | None = None) -> None:
        """Delete an agent with its conversations."""
        return self._call(Operation("DELETE", f"/v1/agents/{segment(agent_id)}", {}, None, nothing), options)

    def issue_agent_token(self, agent_id: str, body: models.IssueAgentTokenRequest | Body | None = None, *, options: CallOptions | None = None) -> models.IssueAgentTokenResponse:
        """Create a short-lived token with which an end user can talk to this agent."""
        return self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/tokens", {}, body, models.IssueAgentTokenResponse.model_validate_json), options)

    def send_message(self, agent_id: str, body: models.SendMessageRequest | Body, *, options: CallOptions | None = None) -> models.SendMessageResponse:
        """Send a message to an agent."""
        return self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/messages", {}, body, models.SendMessageResponse.model_validate_json), options)

    def get_message(self, agent_id: str, message_id: str, *, options: CallOptions | None = None) -> models.GetMessageResponse:
        """View a message, or the status of its answer."""
        return self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/messages/{segment(message_id)}", {}, None, models.GetMessageResponse.model_validate_json), options)

    def cancel_answer(self, agent_id: str, message_id: str, *, options: CallOptions | None = None) -> models.CancelAnswerResponse:
        """End an answer that has no result yet, without a charge."""
        return self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/messages/{segment(message_id)}/cancel", {}, None, models.CancelAnswerResponse.model_validate_json), options)

    def set_feedback(self, agent_id: str, message_id: str, body: models.SetFeedbackRequest | Body, *, options: CallOptions | None = None) -> models.SetFeedbackResponse:
        """Give feedback on an answer."""
        return self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/messages/{segment(message_id)}/feedback", {}, body, models.SetFeedbackResponse.model_validate_json), options)

    def list_conversations(self, agent_id: str, *, limit: int | None = None, cursor: str | None = None, include: Literal["title"] | None = None, options: CallOptions | None = None) -> models.ListConversationsResponse:
        """List the caller’s own conversations with an agent, the latest message first."""
        return self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/conversations", {"limit": limit, "cursor": cursor, "include": include}, None, models.ListConversationsResponse.model_validate_json), options)

    def get_conversation(self, agent_id: str, conversation_id: str, *, options: CallOptions | None = None) -> models.GetConversationResponse:
        """View a conversation of the caller’s own."""
        return self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}", {}, None, models.GetConversationResponse.model_validate_json), options)

    def update_conversation(self, agent_id: str, conversation_id: str, body: models.UpdateConversationRequest | Body, *, options: CallOptions | None = None) -> models.UpdateConversationResponse:
        """Give a conversation a title."""
        return self._call(Operation("PATCH", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}", {}, body, models.UpdateConversationResponse.model_validate_json), options)

    def delete_conversation(self, agent_id: str, conversation_id: str, *, options: CallOptions | None = None) -> None:
        """Delete a conversation with its messages."""
        return self._call(Operation("DELETE", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}", {}, None, nothing), options)

    def list_messages(self, agent_id: str, conversation_id: str, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.ListMessagesResponse:
        """List the messages of a conversation, newest first."""
        return self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}/messages", {"limit": limit, "cursor": cursor}, None, models.ListMessagesResponse.model_validate_json), options)

    def get_data_source(self, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.GetDataSourceResponse:
        """View the connected database: its state, and its tables with their columns by name."""
        return self._call(Operation("GET", f"/v1/data-source", {"limit": limit, "cursor": cursor}, None, models.GetDataSourceResponse.model_validate_json), options)

    def list_templates(self, *, limit: int | None = None, cursor: str | None = None, category: Literal["finance", "sales", "inventory", "purchasing", "hr"] | None = None, status: Literal["available", "activated"] | None = None, search: str | None = None, options: CallOptions | None = None) -> models.ListTemplatesResponse:
        """List the templates by category and name."""
        return self._call(Operation("GET", f"/v1/templates", {"limit": limit, "cursor": cursor, "category": category, "status": status, "search": search}, None, models.ListTemplatesResponse.model_validate_json), options)

    def get_template(self, template_id: str, *, options: CallOptions | None = None) -> models.GetTemplateResponse:
        """View a template."""
        return self._call(Operation("GET", f"/v1/templates/{segment(template_id)}", {}, None, models.GetTemplateResponse.model_validate_json), options)

    def activate_template(self, template_id: str, body: models.ActivateTemplateRequest | Body | None = None, *, options: CallOptions | None = None) -> models.ActivateTemplateResponse:
        """Make the agent of a template available in the organization."""
        return self._call(Operation("POST", f"/v1/templates/{segment(template_id)}/activate", {}, body, models.ActivateTemplateResponse.model_validate_json), options)

    def deactivate_template(self, template_id: str, *, options: CallOptions | None = None) -> models.DeactivateTemplateResponse:
        """Deactivate the agent of a template."""
        return self._call(Operation("POST", f"/v1/templates/{segment(template_id)}/deactivate", {}, None, models.DeactivateTemplateResponse.model_validate_json), options)

    def duplicate_template(self, template_id: str, body: models.DuplicateTemplateRequest | Body, *, options: CallOptions | None = None) -> models.DuplicateTemplateResponse:
        """Make an agent of one’s own from a template."""
        return self._call(Operation("POST", f"/v1/templates/{segment(template_id)}/duplicate", {}, body, models.DuplicateTemplateResponse.model_validate_json), options)

    def list_users(self, *, limit: int | None = None, cursor: str | None = None, role: Literal["admin", "member"] | None = None, status: Literal["active", "deactivated"] | None = None, options: CallOptions | None = None) -> models.ListUsersResponse:
        """List the users of the organization, newest first."""
        return self._call(Operation("GET", f"/v1/users", {"limit": limit, "cursor": cursor, "role": role, "status": status}, None, models.ListUsersResponse.model_validate_json), options)

    def create_user(self, body: models.CreateUserRequest | Body, *, options: CallOptions | None = None) -> models.CreateUserResponse:
        """Register a user."""
        return self._call(Operation("POST", f"/v1/users", {}, body, models.CreateUserResponse.model_validate_json), options)

    def get_user(self, user_id: str, *, options: CallOptions | None = None) -> models.GetUserResponse:
        """View a user."""
        return self._call(Operation("GET", f"/v1/users/{segment(user_id)}", {}, None, models.GetUserResponse.model_validate_json), options)

    def update_user(self, user_id: str, body: models.UpdateUserRequest | Body, *, options: CallOptions | None = None) -> models.UpdateUserResponse:
        """Change a user."""
        return self._call(Operation("PATCH", f"/v1/users/{segment(user_id)}", {}, body, models.UpdateUserResponse.model_validate_json), options)

    def list_audit_entries(self, *, limit: int | None = None, cursor: str | None = None, actor: str | None = None, action: str | None = None, target: str | None = None, date_from: str | None = None, date_to: str | None = None, options: CallOptions | None = None) -> models.ListAuditEntriesResponse:
        """List the audit log, newest first."""
        return self._call(Operation("GET", f"/v1/audit", {"limit": limit, "cursor": cursor, "actor": actor, "action": action, "target": target, "date_from": date_from, "date_to": date_to}, None, models.ListAuditEntriesResponse.model_validate_json), options)

    def get_balance(self, *, options: CallOptions | None = None) -> models.GetBalanceResponse:
        """View the credit balance of the organization."""
        return self._call(Operation("GET", f"/v1/credits/balance", {}, None, models.GetBalanceResponse.model_validate_json), options)

    def get_user_balance(self, user_id: str, *, options: CallOptions | None = None) -> models.GetUserBalanceResponse:
        """View the credit balance of a user."""
        return self._call(Operation("GET", f"/v1/credits/users/{segment(user_id)}/balance", {}, None, models.GetUserBalanceResponse.model_validate_json), options)

    def set_allocation(self, user_id: str, body: models.SetAllocationRequest | Body, *, options: CallOptions | None = None) -> models.SetAllocationResponse:
        """Allocate credits to a user."""
        return self._call(Operation("PUT", f"/v1/credits/users/{segment(user_id)}/allocation", {}, body, models.SetAllocationResponse.model_validate_json), options)

    def list_usage(self, *, limit: int | None = None, cursor: str | None = None, user_id: str | None = None, agent_id: str | None = None, date_from: str | None = None, date_to: str | None = None, group_by: Literal["day", "week", "month", "user", "agent"] | None = None, options: CallOptions | None = None) -> models.ListUsageResponse:
        """List or aggregate the usage of credits."""
        return self._call(Operation("GET", f"/v1/credits/usage", {"limit": limit, "cursor": cursor, "user_id": user_id, "agent_id": agent_id, "date_from": date_from, "date_to": date_to, "group_by": group_by}, None, models.ListUsageResponse.model_validate_json), options)

    def get_usage_summary(self, *, options: CallOptions | None = None) -> models.GetUsageSummaryResponse:
        """Summarize the usage of the current billing period."""
        return self._call(Operation("GET", f"/v1/credits/summary", {}, None, models.GetUsageSummaryResponse.model_validate_json), options)

    def get_credit_settings(self, *, options: CallOptions | None = None) -> models.GetCreditSettingsResponse:
        """View how the organization’s credits are replenished, watched and given out."""
        return self._call(Operation("GET", f"/v1/credits/settings", {}, None, models.GetCreditSettingsResponse.model_validate_json), options)

    def update_credit_settings(self, body: models.UpdateCreditSettingsRequest | Body, *, options: CallOptions | None = None) -> models.UpdateCreditSettingsResponse:
        """Change how the organization’s credits are replenished, watched and given out."""
        return self._call(Operation("PATCH", f"/v1/credits/settings", {}, body, models.UpdateCreditSettingsResponse.model_validate_json), options)

    def list_signing_keys(self, *, options: CallOptions | None = None) -> models.ListSigningKeysResponse:
        """The public keys that access tokens are signed with (RFC 7517)."""
        return self._call(Operation("GET", f"/.well-known/jwks.json", {}, None, models.ListSigningKeysResponse.model_validate_json), options)

    def list_webhooks(self, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.ListWebhooksResponse:
        """List the webhooks, newest first."""
        return self._call(Operation("GET", f"/v1/webhooks", {"limit": limit, "cursor": cursor}, None, models.ListWebhooksResponse.model_validate_json), options)

    def create_webhook(self, body: models.CreateWebhookRequest | Body, *, options: CallOptions | None = None) -> models.CreateWebhookResponse:
        """Create a webhook."""
        return self._call(Operation("POST", f"/v1/webhooks", {}, body, models.CreateWebhookResponse.model_validate_json), options)

    def update_webhook(self, webhook_id: str, body: models.UpdateWebhookRequest | Body, *, options: CallOptions | None = None) -> models.UpdateWebhookResponse:
        """Change a webhook."""
        return self._call(Operation("PATCH", f"/v1/webhooks/{segment(webhook_id)}", {}, body, models.UpdateWebhookResponse.model_validate_json), options)

    def delete_webhook(self, webhook_id: str, *, options: CallOptions | None = None) -> None:
        """Delete a webhook."""
        return self._call(Operation("DELETE", f"/v1/webhooks/{segment(webhook_id)}", {}, None, nothing), options)

    def rotate_webhook_secret(self, webhook_id: str, body: models.RotateWebhookSecretRequest | Body | None = None, *, options: CallOptions | None = None) -> models.RotateWebhookSecretResponse:
        """Give a webhook a new secret."""
        return self._call(Operation("POST", f"/v1/webhooks/{segment(webhook_id)}/rotate-secret", {}, body, models.RotateWebhookSecretResponse.model_validate_json), options)

    def test_webhook(self, webhook_id: str, *, options: CallOptions | None = None) -> models.TestWebhookResponse:
        """Send a webhook an event to try it."""
        return self._call(Operation("POST", f"/v1/webhooks/{segment(webhook_id)}/test", {}, None, models.TestWebhookResponse.model_validate_json), options)

    def list_webhook_deliveries(self, webhook_id: str, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.ListWebhookDeliveriesResponse:
        """List the deliveries of a webhook, newest first."""
        return self._call(Operation("GET", f"/v1/webhooks/{segment(webhook_id)}/deliveries", {"limit": limit, "cursor": cursor}, None, models.ListWebhookDeliveriesResponse.model_validate_json), options)

    def redeliver_webhook_delivery(self, webhook_id: str, delivery_id: str, *, options: CallOptions | None = None) -> models.RedeliverWebhookDeliveryResponse:
        """Send the event of a delivery again."""
        return self._call(Operation("POST", f"/v1/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery_id)}/redeliver", {}, None, models.RedeliverWebhookDeliveryResponse.model_validate_json), options)


class AsyncOperations(AsyncCaller):
    """Every operation of the API."""

    async def revoke_key(self, key_id: str, *, options: CallOptions | None = None) -> None:
        """Revoke an API key and every token made from it."""
        return await self._call(Operation("DELETE", f"/v1/auth/keys/{segment(key_id)}", {}, None, nothing), options)

    async def get_self(self, *, options: CallOptions | None = None) -> models.GetSelfResponse:
        """View who you are, and what you may do."""
        return await self._call(Operation("GET", f"/v1/me", {}, None, models.GetSelfResponse.model_validate_json), options)

    async def list_keys(self, *, limit: int | None = None, cursor: str | None = None, user_id: str | None = None, status: Literal["active", "ended"] | None = None, options: CallOptions | None = None) -> models.ListKeysResponse:
        """List the API keys of the environment, newest first."""
        return await self._call(Operation("GET", f"/v1/keys", {"limit": limit, "cursor": cursor, "user_id": user_id, "status": status}, None, models.ListKeysResponse.model_validate_json), options)

    async def create_key(self, body: models.CreateKeyRequest | Body, *, options: CallOptions | None = None) -> models.CreateKeyResponse:
        """Create an API key."""
        return await self._call(Operation("POST", f"/v1/keys", {}, body, models.CreateKeyResponse.model_validate_json), options)

    async def get_key(self, key_id: str, *, options: CallOptions | None = None) -> models.GetKeyResponse:
        """View an API key."""
        return await self._call(Operation("GET", f"/v1/keys/{segment(key_id)}", {}, None, models.GetKeyResponse.model_validate_json), options)

    async def update_key(self, key_id: str, body: models.UpdateKeyRequest | Body, *, options: CallOptions | None = None) -> models.UpdateKeyResponse:
        """Change the name, scopes or token lifetime of an API key."""
        return await self._call(Operation("PATCH", f"/v1/keys/{segment(key_id)}", {}, body, models.UpdateKeyResponse.model_validate_json), options)

    async def rotate_key(self, key_id: str, body: models.RotateKeyRequest | Body | None = None, *, options: CallOptions | None = None) -> models.RotateKeyResponse:
        """Replace an API key."""
        return await self._call(Operation("POST", f"/v1/keys/{segment(key_id)}/rotate", {}, body, models.RotateKeyResponse.model_validate_json), options)

    async def list_oauth_applications(self, *, limit: int | None = None, cursor: str | None = None, status: Literal["active", "ended"] | None = None, options: CallOptions | None = None) -> models.ListOauthApplicationsResponse:
        """List the OAuth applications of the environment, newest first."""
        return await self._call(Operation("GET", f"/v1/oauth-applications", {"limit": limit, "cursor": cursor, "status": status}, None, models.ListOauthApplicationsResponse.model_validate_json), options)

    async def create_oauth_application(self, body: models.CreateOauthApplicationRequest | Body, *, options: CallOptions | None = None) -> models.CreateOauthApplicationResponse:
        """Register an OAuth application."""
        return await self._call(Operation("POST", f"/v1/oauth-applications", {}, body, models.CreateOauthApplicationResponse.model_validate_json), options)

    async def get_oauth_application(self, application_id: str, *, options: CallOptions | None = None) -> models.GetOauthApplicationResponse:
        """View an OAuth application."""
        return await self._call(Operation("GET", f"/v1/oauth-applications/{segment(application_id)}", {}, None, models.GetOauthApplicationResponse.model_validate_json), options)

    async def update_oauth_application(self, application_id: str, body: models.UpdateOauthApplicationRequest | Body, *, options: CallOptions | None = None) -> models.UpdateOauthApplicationResponse:
        """Change the name or scopes of an OAuth application."""
        return await self._call(Operation("PATCH", f"/v1/oauth-applications/{segment(application_id)}", {}, body, models.UpdateOauthApplicationResponse.model_validate_json), options)

    async def revoke_oauth_application(self, application_id: str, *, options: CallOptions | None = None) -> None:
        """Revoke an OAuth application and every token issued to it."""
        return await self._call(Operation("DELETE", f"/v1/oauth-applications/{segment(application_id)}", {}, None, nothing), options)

    async def rotate_oauth_secret(self, application_id: str, body: models.RotateOauthSecretRequest | Body | None = None, *, options: CallOptions | None = None) -> models.RotateOauthSecretResponse:
        """Replace the secret of an OAuth application."""
        return await self._call(Operation("POST", f"/v1/oauth-applications/{segment(application_id)}/rotate", {}, body, models.RotateOauthSecretResponse.model_validate_json), options)

    async def list_agents(self, *, limit: int | None = None, cursor: str | None = None, category: str | None = None, status: Literal["active", "inactive", "draft"] | None = None, search: str | None = None, options: CallOptions | None = None) -> models.ListAgentsResponse:
        """List the agents, newest first."""
        return await self._call(Operation("GET", f"/v1/agents", {"limit": limit, "cursor": cursor, "category": category, "status": status, "search": search}, None, models.ListAgentsResponse.model_validate_json), options)

    async def create_agent(self, body: models.CreateAgentRequest | Body, *, options: CallOptions | None = None) -> models.CreateAgentResponse:
        """Create an agent."""
        return await self._call(Operation("POST", f"/v1/agents", {}, body, models.CreateAgentResponse.model_validate_json), options)

    async def get_agent(self, agent_id: str, *, options: CallOptions | None = None) -> models.GetAgentResponse:
        """View an agent."""
        return await self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}", {}, None, models.GetAgentResponse.model_validate_json), options)

    async def update_agent(self, agent_id: str, body: models.UpdateAgentRequest | Body, *, options: CallOptions | None = None) -> models.UpdateAgentResponse:
        """Change an agent."""
        return await self._call(Operation("PATCH", f"/v1/agents/{segment(agent_id)}", {}, body, models.UpdateAgentResponse.model_validate_json), options)

    async def delete_agent(self, agent_id: str, *, options: CallOptions | None = None) -> None:
        """Delete an agent with its conversations."""
        return await self._call(Operation("DELETE", f"/v1/agents/{segment(agent_id)}", {}, None, nothing), options)

    async def issue_agent_token(self, agent_id: str, body: models.IssueAgentTokenRequest | Body | None = None, *, options: CallOptions | None = None) -> models.IssueAgentTokenResponse:
        """Create a short-lived token with which an end user can talk to this agent."""
        return await self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/tokens", {}, body, models.IssueAgentTokenResponse.model_validate_json), options)

    async def send_message(self, agent_id: str, body: models.SendMessageRequest | Body, *, options: CallOptions | None = None) -> models.SendMessageResponse:
        """Send a message to an agent."""
        return await self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/messages", {}, body, models.SendMessageResponse.model_validate_json), options)

    async def get_message(self, agent_id: str, message_id: str, *, options: CallOptions | None = None) -> models.GetMessageResponse:
        """View a message, or the status of its answer."""
        return await self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/messages/{segment(message_id)}", {}, None, models.GetMessageResponse.model_validate_json), options)

    async def cancel_answer(self, agent_id: str, message_id: str, *, options: CallOptions | None = None) -> models.CancelAnswerResponse:
        """End an answer that has no result yet, without a charge."""
        return await self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/messages/{segment(message_id)}/cancel", {}, None, models.CancelAnswerResponse.model_validate_json), options)

    async def set_feedback(self, agent_id: str, message_id: str, body: models.SetFeedbackRequest | Body, *, options: CallOptions | None = None) -> models.SetFeedbackResponse:
        """Give feedback on an answer."""
        return await self._call(Operation("POST", f"/v1/agents/{segment(agent_id)}/messages/{segment(message_id)}/feedback", {}, body, models.SetFeedbackResponse.model_validate_json), options)

    async def list_conversations(self, agent_id: str, *, limit: int | None = None, cursor: str | None = None, include: Literal["title"] | None = None, options: CallOptions | None = None) -> models.ListConversationsResponse:
        """List the caller’s own conversations with an agent, the latest message first."""
        return await self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/conversations", {"limit": limit, "cursor": cursor, "include": include}, None, models.ListConversationsResponse.model_validate_json), options)

    async def get_conversation(self, agent_id: str, conversation_id: str, *, options: CallOptions | None = None) -> models.GetConversationResponse:
        """View a conversation of the caller’s own."""
        return await self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}", {}, None, models.GetConversationResponse.model_validate_json), options)

    async def update_conversation(self, agent_id: str, conversation_id: str, body: models.UpdateConversationRequest | Body, *, options: CallOptions | None = None) -> models.UpdateConversationResponse:
        """Give a conversation a title."""
        return await self._call(Operation("PATCH", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}", {}, body, models.UpdateConversationResponse.model_validate_json), options)

    async def delete_conversation(self, agent_id: str, conversation_id: str, *, options: CallOptions | None = None) -> None:
        """Delete a conversation with its messages."""
        return await self._call(Operation("DELETE", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}", {}, None, nothing), options)

    async def list_messages(self, agent_id: str, conversation_id: str, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.ListMessagesResponse:
        """List the messages of a conversation, newest first."""
        return await self._call(Operation("GET", f"/v1/agents/{segment(agent_id)}/conversations/{segment(conversation_id)}/messages", {"limit": limit, "cursor": cursor}, None, models.ListMessagesResponse.model_validate_json), options)

    async def get_data_source(self, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.GetDataSourceResponse:
        """View the connected database: its state, and its tables with their columns by name."""
        return await self._call(Operation("GET", f"/v1/data-source", {"limit": limit, "cursor": cursor}, None, models.GetDataSourceResponse.model_validate_json), options)

    async def list_templates(self, *, limit: int | None = None, cursor: str | None = None, category: Literal["finance", "sales", "inventory", "purchasing", "hr"] | None = None, status: Literal["available", "activated"] | None = None, search: str | None = None, options: CallOptions | None = None) -> models.ListTemplatesResponse:
        """List the templates by category and name."""
        return await self._call(Operation("GET", f"/v1/templates", {"limit": limit, "cursor": cursor, "category": category, "status": status, "search": search}, None, models.ListTemplatesResponse.model_validate_json), options)

    async def get_template(self, template_id: str, *, options: CallOptions | None = None) -> models.GetTemplateResponse:
        """View a template."""
        return await self._call(Operation("GET", f"/v1/templates/{segment(template_id)}", {}, None, models.GetTemplateResponse.model_validate_json), options)

    async def activate_template(self, template_id: str, body: models.ActivateTemplateRequest | Body | None = None, *, options: CallOptions | None = None) -> models.ActivateTemplateResponse:
        """Make the agent of a template available in the organization."""
        return await self._call(Operation("POST", f"/v1/templates/{segment(template_id)}/activate", {}, body, models.ActivateTemplateResponse.model_validate_json), options)

    async def deactivate_template(self, template_id: str, *, options: CallOptions | None = None) -> models.DeactivateTemplateResponse:
        """Deactivate the agent of a template."""
        return await self._call(Operation("POST", f"/v1/templates/{segment(template_id)}/deactivate", {}, None, models.DeactivateTemplateResponse.model_validate_json), options)

    async def duplicate_template(self, template_id: str, body: models.DuplicateTemplateRequest | Body, *, options: CallOptions | None = None) -> models.DuplicateTemplateResponse:
        """Make an agent of one’s own from a template."""
        return await self._call(Operation("POST", f"/v1/templates/{segment(template_id)}/duplicate", {}, body, models.DuplicateTemplateResponse.model_validate_json), options)

    async def list_users(self, *, limit: int | None = None, cursor: str | None = None, role: Literal["admin", "member"] | None = None, status: Literal["active", "deactivated"] | None = None, options: CallOptions | None = None) -> models.ListUsersResponse:
        """List the users of the organization, newest first."""
        return await self._call(Operation("GET", f"/v1/users", {"limit": limit, "cursor": cursor, "role": role, "status": status}, None, models.ListUsersResponse.model_validate_json), options)

    async def create_user(self, body: models.CreateUserRequest | Body, *, options: CallOptions | None = None) -> models.CreateUserResponse:
        """Register a user."""
        return await self._call(Operation("POST", f"/v1/users", {}, body, models.CreateUserResponse.model_validate_json), options)

    async def get_user(self, user_id: str, *, options: CallOptions | None = None) -> models.GetUserResponse:
        """View a user."""
        return await self._call(Operation("GET", f"/v1/users/{segment(user_id)}", {}, None, models.GetUserResponse.model_validate_json), options)

    async def update_user(self, user_id: str, body: models.UpdateUserRequest | Body, *, options: CallOptions | None = None) -> models.UpdateUserResponse:
        """Change a user."""
        return await self._call(Operation("PATCH", f"/v1/users/{segment(user_id)}", {}, body, models.UpdateUserResponse.model_validate_json), options)

    async def list_audit_entries(self, *, limit: int | None = None, cursor: str | None = None, actor: str | None = None, action: str | None = None, target: str | None = None, date_from: str | None = None, date_to: str | None = None, options: CallOptions | None = None) -> models.ListAuditEntriesResponse:
        """List the audit log, newest first."""
        return await self._call(Operation("GET", f"/v1/audit", {"limit": limit, "cursor": cursor, "actor": actor, "action": action, "target": target, "date_from": date_from, "date_to": date_to}, None, models.ListAuditEntriesResponse.model_validate_json), options)

    async def get_balance(self, *, options: CallOptions | None = None) -> models.GetBalanceResponse:
        """View the credit balance of the organization."""
        return await self._call(Operation("GET", f"/v1/credits/balance", {}, None, models.GetBalanceResponse.model_validate_json), options)

    async def get_user_balance(self, user_id: str, *, options: CallOptions | None = None) -> models.GetUserBalanceResponse:
        """View the credit balance of a user."""
        return await self._call(Operation("GET", f"/v1/credits/users/{segment(user_id)}/balance", {}, None, models.GetUserBalanceResponse.model_validate_json), options)

    async def set_allocation(self, user_id: str, body: models.SetAllocationRequest | Body, *, options: CallOptions | None = None) -> models.SetAllocationResponse:
        """Allocate credits to a user."""
        return await self._call(Operation("PUT", f"/v1/credits/users/{segment(user_id)}/allocation", {}, body, models.SetAllocationResponse.model_validate_json), options)

    async def list_usage(self, *, limit: int | None = None, cursor: str | None = None, user_id: str | None = None, agent_id: str | None = None, date_from: str | None = None, date_to: str | None = None, group_by: Literal["day", "week", "month", "user", "agent"] | None = None, options: CallOptions | None = None) -> models.ListUsageResponse:
        """List or aggregate the usage of credits."""
        return await self._call(Operation("GET", f"/v1/credits/usage", {"limit": limit, "cursor": cursor, "user_id": user_id, "agent_id": agent_id, "date_from": date_from, "date_to": date_to, "group_by": group_by}, None, models.ListUsageResponse.model_validate_json), options)

    async def get_usage_summary(self, *, options: CallOptions | None = None) -> models.GetUsageSummaryResponse:
        """Summarize the usage of the current billing period."""
        return await self._call(Operation("GET", f"/v1/credits/summary", {}, None, models.GetUsageSummaryResponse.model_validate_json), options)

    async def get_credit_settings(self, *, options: CallOptions | None = None) -> models.GetCreditSettingsResponse:
        """View how the organization’s credits are replenished, watched and given out."""
        return await self._call(Operation("GET", f"/v1/credits/settings", {}, None, models.GetCreditSettingsResponse.model_validate_json), options)

    async def update_credit_settings(self, body: models.UpdateCreditSettingsRequest | Body, *, options: CallOptions | None = None) -> models.UpdateCreditSettingsResponse:
        """Change how the organization’s credits are replenished, watched and given out."""
        return await self._call(Operation("PATCH", f"/v1/credits/settings", {}, body, models.UpdateCreditSettingsResponse.model_validate_json), options)

    async def list_signing_keys(self, *, options: CallOptions | None = None) -> models.ListSigningKeysResponse:
        """The public keys that access tokens are signed with (RFC 7517)."""
        return await self._call(Operation("GET", f"/.well-known/jwks.json", {}, None, models.ListSigningKeysResponse.model_validate_json), options)

    async def list_webhooks(self, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.ListWebhooksResponse:
        """List the webhooks, newest first."""
        return await self._call(Operation("GET", f"/v1/webhooks", {"limit": limit, "cursor": cursor}, None, models.ListWebhooksResponse.model_validate_json), options)

    async def create_webhook(self, body: models.CreateWebhookRequest | Body, *, options: CallOptions | None = None) -> models.CreateWebhookResponse:
        """Create a webhook."""
        return await self._call(Operation("POST", f"/v1/webhooks", {}, body, models.CreateWebhookResponse.model_validate_json), options)

    async def update_webhook(self, webhook_id: str, body: models.UpdateWebhookRequest | Body, *, options: CallOptions | None = None) -> models.UpdateWebhookResponse:
        """Change a webhook."""
        return await self._call(Operation("PATCH", f"/v1/webhooks/{segment(webhook_id)}", {}, body, models.UpdateWebhookResponse.model_validate_json), options)

    async def delete_webhook(self, webhook_id: str, *, options: CallOptions | None = None) -> None:
        """Delete a webhook."""
        return await self._call(Operation("DELETE", f"/v1/webhooks/{segment(webhook_id)}", {}, None, nothing), options)

    async def rotate_webhook_secret(self, webhook_id: str, body: models.RotateWebhookSecretRequest | Body | None = None, *, options: CallOptions | None = None) -> models.RotateWebhookSecretResponse:
        """Give a webhook a new secret."""
        return await self._call(Operation("POST", f"/v1/webhooks/{segment(webhook_id)}/rotate-secret", {}, body, models.RotateWebhookSecretResponse.model_validate_json), options)

    async def test_webhook(self, webhook_id: str, *, options: CallOptions | None = None) -> models.TestWebhookResponse:
        """Send a webhook an event to try it."""
        return await self._call(Operation("POST", f"/v1/webhooks/{segment(webhook_id)}/test", {}, None, models.TestWebhookResponse.model_validate_json), options)

    async def list_webhook_deliveries(self, webhook_id: str, *, limit: int | None = None, cursor: str | None = None, options: CallOptions | None = None) -> models.ListWebhookDeliveriesResponse:
        """List the deliveries of a webhook, newest first."""
        return await self._call(Operation("GET", f"/v1/webhooks/{segment(webhook_id)}/deliveries", {"limit": limit, "cursor": cursor}, None, models.ListWebhookDeliveriesResponse.model_validate_json), options)

    async def redeliver_webhook_delivery(self, webhook_id: str, delivery_id: str, *, options: CallOptions | None = None) -> models.RedeliverWebhookDeliveryResponse:
        """Send the event of a delivery again."""
        return await self._call(Operation("POST", f"/v1/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery_id)}/redeliver", {}, None, models.RedeliverWebhookDeliveryResponse.model_validate_json), options)
