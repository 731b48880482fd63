# Generated from the OpenAPI document by generate.py. Any change is lost.

from __future__ import annotations

from datetime import date as date_aliased
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, RootModel


class AccessToken(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    access_token: str
    token_type: Literal['Bearer']
    expires_in: Annotated[int, Field(description='Seconds.')]
    expires_at: AwareDatetime


class ActivateTemplateRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name_override: str | None = None
    model_override: Literal['Fast', 'Smart', 'Expert', 'Premium'] | None = None


class AgentSummary(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    description: str
    category: str
    status: Literal['active', 'inactive', 'draft'] | str
    model: Literal['Fast', 'Smart', 'Expert', 'Premium'] | str
    created_at: AwareDatetime
    updated_at: AwareDatetime


class AgentToken(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    access_token: str
    token_type: Literal['Bearer']
    expires_in: Annotated[int, Field(description='Seconds.')]
    expires_at: AwareDatetime
    agent_id: str


class AnswerQuery(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    statement: str
    tables: list[str]
    rows: int
    duration_ms: int


class AnswerResultColumn(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    type: Literal['boolean', 'number', 'date', 'timestamp', 'json', 'text'] | str


class AnswerStep(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    detail: Annotated[str, Field(description='The statement, the table, or the change.')]
    rows: int
    duration_ms: int
    error: Annotated[str | None, Field(description='Null when it went well.')]


class AnswerUsage(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    model: Annotated[str, Field(description='As the provider names it; `built-in` without a language model.')]
    input_tokens: Annotated[int, Field(description='The tokens of all calls of the model, with the instructions and the results of tools.')]
    output_tokens: int
    latency_ms: Annotated[int, Field(description='From when a worker began the answer until the text was whole, with its queries.')]


class ApiKey(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: Annotated[str, Field(description='Empty where none was given.')]
    hint: Annotated[str, Field(description='The first and last characters of the key.')]
    user_id: Annotated[str, Field(description='The user whom its requests are charged to.')]
    scopes: Annotated[list[str], Field(description='Limited to the present role of the user.')]
    status: Annotated[
        Literal['active', 'ended'] | str,
        Field(description='`active`: no end is set. `ended`: it was revoked, or replaced by a rotation and is refused from `ends_at` on.'),
    ]
    created_at: AwareDatetime
    last_used_at: Annotated[AwareDatetime | None, Field(description='To the minute; null if it was never used.')]
    ends_at: Annotated[AwareDatetime | None, Field(description='From then on it is refused; null while no end is set.')]
    admin: Annotated[bool, Field(description='True if it may do what needs an administrator key.')]
    token_ttl_seconds: Annotated[int | None, Field(description='Lifetime of tokens made from it; null: the default.')]
    replaced_by: Annotated[str | None, Field(description='The key that a rotation made from it.')]


class AuditActor(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    type: Annotated[str, Field(description='user, service or operator.')]
    id: str
    key_id: Annotated[str | None, Field(description='The API key or OAuth application, where there was one.')]


class AuditTarget(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    type: str
    id: str


class BillingPeriod(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    start: AwareDatetime
    end: Annotated[AwareDatetime, Field(description='Not included.')]


class Conversation(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    agent_id: str
    message_count: Annotated[int, Field(description='The number of messages of both sides.')]
    total_credits: Annotated[int, Field(description='The cost of its answers.')]
    created_at: AwareDatetime
    last_message_at: AwareDatetime
    title: Annotated[str | None, Field(description='Only with `include=title`; empty until one is set.')] = None


class CreateKeyRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    user_id: Annotated[str | None, Field(description='The caller’s own user unless said.')] = None
    scopes: list[Literal['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'templates:write', 'credits:read', 'credits:write', 'users:read', 'users:write', 'webhooks:read', 'webhooks:write', 'audit:read']] | None = (
        None
    )
    admin: Annotated[bool | None, Field(description='An administrator key; only of an administrator.')] = None
    token_ttl_seconds: Annotated[int | None, Field(description='Lifetime of the tokens made from it, in seconds.')] = None


class CreateOauthApplicationRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    user_id: Annotated[str | None, Field(description='An existing user, whose role then limits the scopes.')] = None
    scopes: list[Literal['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'templates:write', 'credits:read', 'credits:write', 'users:read', 'users:write', 'webhooks:read', 'webhooks:write', 'audit:read']] | None = (
        None
    )


class CreateUserRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    email: str
    role: Literal['admin', 'member'] | None = None


class CreateWebhookRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    url: Annotated[str, Field(description='Where events are sent: an HTTPS URL of the public internet.')]
    events: list[Literal['agent.created', 'agent.updated', 'agent.deleted', 'conversation.completed', 'credits.low_balance', 'credits.depleted', 'credits.replenished', 'user.registered', 'user.deactivated']]
    secret: Annotated[str | None, Field(description='The secret that signs deliveries; generated if it is absent.')] = None
    description: str | None = None
    active: bool | None = None


class CreatedAgent(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    status: Literal['active', 'inactive', 'draft'] | str
    created_at: AwareDatetime


class CreatedApiKey(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: Annotated[str, Field(description='Empty where none was given.')]
    hint: Annotated[str, Field(description='The first and last characters of the key.')]
    user_id: Annotated[str, Field(description='The user whom its requests are charged to.')]
    scopes: Annotated[list[str], Field(description='Limited to the present role of the user.')]
    status: Annotated[
        Literal['active', 'ended'] | str,
        Field(description='`active`: no end is set. `ended`: it was revoked, or replaced by a rotation and is refused from `ends_at` on.'),
    ]
    created_at: AwareDatetime
    last_used_at: Annotated[AwareDatetime | None, Field(description='To the minute; null if it was never used.')]
    ends_at: Annotated[AwareDatetime | None, Field(description='From then on it is refused; null while no end is set.')]
    admin: Annotated[bool, Field(description='True if it may do what needs an administrator key.')]
    token_ttl_seconds: Annotated[int | None, Field(description='Lifetime of tokens made from it; null: the default.')]
    replaced_by: Annotated[str | None, Field(description='The key that a rotation made from it.')]
    api_key: Annotated[str, Field(description='The key itself, shown this once.')]


class CreatedWebhook(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    url: str
    events: list[Literal['agent.created', 'agent.updated', 'agent.deleted', 'conversation.completed', 'credits.low_balance', 'credits.depleted', 'credits.replenished', 'user.registered', 'user.deactivated'] | str]
    secret: Annotated[str, Field(description='Shown here and never again.')]
    active: bool
    created_at: AwareDatetime


class CreditSettings(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    organization_id: str
    balance: Annotated[int, Field(description='All credits that remain.')]
    allocated: Annotated[int, Field(description='Credits assigned to users, what is held for their answers included.')]
    unallocated: Annotated[int, Field(description='Credits that can be allocated.')]
    auto_replenish: bool
    replenish_threshold: Annotated[int, Field(description='The balance below which credits are added.')]
    replenish_amount: Annotated[int, Field(description='How many are added at a time.')]
    updated_at: AwareDatetime
    low_balance_threshold: Annotated[int | None, Field(description='Null: a tenth of the last purchase.')]
    default_monthly_limit: Annotated[int, Field(description='The limit of users without an allocation.')]


class DataScope(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    tables: Annotated[list[str], Field(description='The tables that the agent can read.')]
    read_only: bool


class DataScopeChanges(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    tables: list[str] | None = None
    read_only: bool | None = None


class DataScopeInput(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    tables: Annotated[
        list[str] | None, Field(description='The tables that the agent can read, or tables with their columns. None: no data.')
    ] = None
    read_only: bool | None = None


class DataSourceColumn(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    type: Annotated[str, Field(description='As PostgreSQL writes it.')]
    nullable: bool
    primary_key: bool
    comment: Annotated[str, Field(description='Its first 500 characters.')]


class DataSourceTable(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: Annotated[str, Field(description='As a `data_scope` names it.')]
    schema_: Annotated[str, Field(alias='schema')]
    kind: Literal['table', 'view'] | str
    comment: Annotated[str, Field(description='Its first 500 characters.')]
    row_estimate: Annotated[int | None, Field(description='The planner’s estimate; null where there is none.')]
    columns: list[DataSourceColumn]


class DuplicateTemplateRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    description: str | None = None


class DuplicatedAgent(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    description: str
    status: Literal['draft']
    source_template_id: str
    created_at: AwareDatetime


class EndedCredentials(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    api_keys: int
    oauth_applications: int


class ErrorDescription(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    type: Annotated[
        Literal['invalid_request', 'authentication', 'conflict', 'permission', 'not_found', 'credits', 'provider', 'rate_limit', 'internal'] | str,
        Field(description='The kind of failure.'),
    ]
    code: Annotated[str, Field(description='Which failure this is, for programs.')]
    message: Annotated[str, Field(description='Tells people how to react to the error.')]
    param: Annotated[str | None, Field(description='The offending field, as `data_scope.tables[0]`.')]
    details: Annotated[dict[str, Any], Field(description='More for programs; several faulty fields are listed in `errors`.')]


class ErrorMeta(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    request_id: str


class Feedback(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    score: Annotated[int, Field(description='1 is useless, 5 is excellent.')]
    comment: str
    updated_at: AwareDatetime


class GetCreditSettingsResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: CreditSettings


class GetKeyResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: ApiKey


class IssueAgentTokenRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    expires_in: Annotated[int | None, Field(description='Seconds; 900, or as long as the credential lasts, unless given.')] = None


class IssueAgentTokenResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: AgentToken


class IssueOauthTokenRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    grant_type: Literal['client_credentials']
    client_id: Annotated[str, Field(description='In the body or by HTTP Basic.')]
    client_secret: Annotated[str, Field(description='In the body or by HTTP Basic.')]
    scope: Annotated[str | None, Field(description='Scope names with spaces between them; without it every scope of the application.')] = (
        None
    )


class IssueOauthTokenResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    access_token: str
    token_type: Literal['Bearer']
    expires_in: Annotated[int, Field(description='Seconds.')]
    scope: Annotated[str, Field(description='The granted scopes.')]


class IssueTokenRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    api_key: Annotated[str, Field(description='A live or test API key.')]


class IssueTokenResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: AccessToken


class ListMeta(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    total: Annotated[
        int,
        Field(
            description='How many entries there are under the same filters. A search for agents with 1,000 matches or more, and a list of audit entries under filters, keep the count of their first page.'
        ),
    ]
    next_cursor: Annotated[str | None, Field(description='Null on the last page.')]
    request_id: str


class Message(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    conversation_id: str
    role: Literal['user', 'assistant'] | str
    content: Annotated[str, Field(description='Empty until the answer has ended.')]
    content_type: Annotated[
        Literal['text', 'markdown'] | str,
        Field(description='`markdown` of answers, unless the agent’s `default_format` was `text`; `text` of what a user wrote.'),
    ]
    credits_consumed: Annotated[int, Field(description='The cost of the answer; nothing unless it completed.')]
    model_used: Annotated[
        Literal['Fast', 'Smart', 'Expert', 'Premium', ''] | str, Field(description='The tier; empty for what a user wrote.')
    ]
    created_at: AwareDatetime
    status: Annotated[
        Literal['queued', 'running', 'completed', 'failed', 'cancelled'] | str, Field(description='Beyond the specification.')
    ]
    queries: Annotated[
        list[AnswerQuery] | None, Field(description='The queries from which the answer was computed. Beyond the specification.')
    ] = None


class MessageFeedback(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    message_id: str
    score: Annotated[int, Field(description='1 is useless, 5 is excellent.')]
    comment: str
    updated_at: AwareDatetime


class ModelUse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    credits: int
    queries: int


class MostUsedAgent(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    agent_id: str
    name: Annotated[str, Field(description='As it was at the agent’s last answer; kept beyond the agent’s life.')]
    credits_used: int
    query_count: int


class OAuthApplication(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: Annotated[str, Field(description='The `client_id`.')]
    name: Annotated[str, Field(description='Empty where none was given.')]
    user_id: Annotated[str, Field(description='The user whom its requests are charged to.')]
    scopes: Annotated[list[str], Field(description='Limited to the present role of the user.')]
    status: Annotated[
        Literal['active', 'ended'] | str,
        Field(description='`active`: no end is set. `ended`: it was revoked, or replaced by a rotation and is refused from `ends_at` on.'),
    ]
    created_at: AwareDatetime
    last_used_at: Annotated[AwareDatetime | None, Field(description='To the minute; null if it was never used.')]
    ends_at: Annotated[AwareDatetime | None, Field(description='From then on it is refused; null while no end is set.')]
    previous_secret_ends_at: Annotated[
        AwareDatetime | None, Field(description='Until then the secret from before the last rotation is accepted too; null if it is not.')
    ]


class OAuthApplicationWithSecret(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: Annotated[str, Field(description='The `client_id`.')]
    name: Annotated[str, Field(description='Empty where none was given.')]
    user_id: Annotated[str, Field(description='The user whom its requests are charged to.')]
    scopes: Annotated[list[str], Field(description='Limited to the present role of the user.')]
    status: Annotated[
        Literal['active', 'ended'] | str,
        Field(description='`active`: no end is set. `ended`: it was revoked, or replaced by a rotation and is refused from `ends_at` on.'),
    ]
    created_at: AwareDatetime
    last_used_at: Annotated[AwareDatetime | None, Field(description='To the minute; null if it was never used.')]
    ends_at: Annotated[AwareDatetime | None, Field(description='From then on it is refused; null while no end is set.')]
    previous_secret_ends_at: Annotated[
        AwareDatetime | None, Field(description='Until then the secret from before the last rotation is accepted too; null if it is not.')
    ]
    client_secret: Annotated[str, Field(description='Shown this once.')]


class OAuthError(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    error: str
    error_description: str


class OrganizationBalance(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    organization_id: str
    balance: Annotated[int, Field(description='All credits that remain.')]
    allocated: Annotated[int, Field(description='Credits assigned to users, what is held for their answers included.')]
    unallocated: Annotated[int, Field(description='Credits that can be allocated.')]
    auto_replenish: bool
    replenish_threshold: Annotated[int, Field(description='The balance below which credits are added.')]
    replenish_amount: Annotated[int, Field(description='How many are added at a time.')]
    updated_at: AwareDatetime


class OutputPreferences(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    default_format: Annotated[
        Literal['markdown', 'table', 'text', 'json'] | str,
        Field(description='How answers are written: `text` has no markup, `json` is one fenced block in markdown.'),
    ]
    chart_enabled: bool


class OutputPreferencesChanges(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    default_format: Literal['markdown', 'table', 'text', 'json'] | None = None
    chart_enabled: bool | None = None


class OutputPreferencesInput(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    default_format: Annotated[
        Literal['markdown', 'table', 'text', 'json'] | None,
        Field(description='How answers are written: `text` has no markup, `json` is one fenced block in markdown.'),
    ] = None
    chart_enabled: Annotated[
        bool | None,
        Field(
            description='True if answers in `markdown` or `table` may hold fenced `vega-lite` blocks; `text` and `json` have no place for them.'
        ),
    ] = None


class RateLimit(BaseModel):
    """
    Requests of this credential, and of all of the organization.
    """

    model_config = ConfigDict(
        extra='allow',
    )
    credential: int
    organization: int


class ReplacedApiKey(BaseModel):
    """
    The replaced key, which was or will be refused from `ends_at` on.
    """

    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    ends_at: AwareDatetime


class RoleGate(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    active: bool
    reason: str


class RotateKeyRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    previous_valid_seconds: Annotated[
        int | None,
        Field(
            description='How long what is replaced stays valid: a day unless said. With 0 it is refused everywhere when this has answered.'
        ),
    ] = None


class RotateOauthSecretRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    previous_valid_seconds: Annotated[
        int | None,
        Field(
            description='How long what is replaced stays valid: a day unless said. With 0 it is refused everywhere when this has answered.'
        ),
    ] = None


class RotateOauthSecretResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: OAuthApplicationWithSecret


class RotateWebhookSecretRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    secret: Annotated[str | None, Field(description='The secret that signs deliveries; generated if it is absent.')] = None


class RotatedApiKey(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: Annotated[str, Field(description='Empty where none was given.')]
    hint: Annotated[str, Field(description='The first and last characters of the key.')]
    user_id: Annotated[str, Field(description='The user whom its requests are charged to.')]
    scopes: Annotated[list[str], Field(description='Limited to the present role of the user.')]
    status: Annotated[
        Literal['active', 'ended'] | str,
        Field(description='`active`: no end is set. `ended`: it was revoked, or replaced by a rotation and is refused from `ends_at` on.'),
    ]
    created_at: AwareDatetime
    last_used_at: Annotated[AwareDatetime | None, Field(description='To the minute; null if it was never used.')]
    ends_at: Annotated[AwareDatetime | None, Field(description='From then on it is refused; null while no end is set.')]
    admin: Annotated[bool, Field(description='True if it may do what needs an administrator key.')]
    token_ttl_seconds: Annotated[int | None, Field(description='Lifetime of tokens made from it; null: the default.')]
    replaced_by: Annotated[str | None, Field(description='The key that a rotation made from it.')]
    api_key: Annotated[str, Field(description='The key itself, shown this once.')]
    previous: ReplacedApiKey


class RotatedWebhookSecret(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    secret: Annotated[str, Field(description='Shown here and never again.')]
    previous_secret_until: Annotated[AwareDatetime, Field(description='Until when the secret before signs along in `webhook-signature`.')]


class SelfCredential(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    type: Literal['api_key', 'oauth_application', 'session'] | str
    name: Annotated[str, Field(description='Empty where none was given.')]
    admin: Annotated[bool, Field(description='True if it may do what needs an administrator key.')]
    ends_at: Annotated[AwareDatetime | None, Field(description='From then on it is refused; null while no end is set.')]


class SelfLimits(BaseModel):
    """
    Rate limits. The headers of each answer say what is left.
    """

    model_config = ConfigDict(
        extra='allow',
    )
    reads_per_minute: RateLimit
    writes_per_minute: RateLimit
    messages_per_minute: RateLimit


class SelfOrganization(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str


class SelfUser(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    email: Annotated[str, Field(description='Empty where there is none.')]
    kind: Annotated[Literal['person', 'service'] | str, Field(description='`service`: the user of an application.')]
    role: Annotated[
        Literal['admin', 'member'] | str | None, Field(description='Null for a service user: the scopes of its application are its limit.')
    ]


class SendMessageRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    message: str
    conversation_id: Annotated[str | None, Field(description='Continues this conversation; without it one begins.')] = None
    context: Annotated[
        dict[str, Any] | None,
        Field(
            description='Data for the model, as the page the user is on: up to 16384 bytes of JSON, 5 levels deep. Whole numbers beyond 9007199254740991 are refused, as they may be rounded: send them as text.'
        ),
    ] = None


class SendMessageResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: Message


class SetAllocationRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    monthly_limit: int
    rollover_enabled: bool | None = None


class SetFeedbackRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    score: Annotated[int, Field(description='1 is useless, 5 is excellent.')]
    comment: str | None = None


class SetFeedbackResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: MessageFeedback


class SigningKey(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    kty: Literal['RSA']
    use: Literal['sig']
    alg: Literal['RS256']
    kid: str
    n: str
    e: str


class StreamMessageRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    message: str
    conversation_id: Annotated[str | None, Field(description='Continues this conversation; without it one begins.')] = None
    context: Annotated[
        dict[str, Any] | None,
        Field(
            description='Data for the model, as the page the user is on: up to 16384 bytes of JSON, 5 levels deep. Whole numbers beyond 9007199254740991 are refused, as they may be rounded: send them as text.'
        ),
    ] = None


class TemplateActivation(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    template_id: str
    agent_id: str
    name: str
    status: Literal['active']
    activated_at: AwareDatetime


class TemplateChange(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    version: str
    date: date_aliased
    changes: str


class TemplateDeactivation(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    template_id: str
    agent_id: str
    status: Literal['inactive']
    deactivated_at: AwareDatetime


class TemplateSummary(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    description: str
    category: Literal['finance', 'sales', 'inventory', 'purchasing', 'hr'] | str
    version: str
    model: Literal['Fast', 'Smart', 'Expert', 'Premium'] | str
    credit_cost_estimate: str
    status: Annotated[
        Literal['available', 'activated'] | str, Field(description='Activated while the organization’s agent of this template is active.')
    ]
    required_tables: Annotated[list[str], Field(description='The tables that a connected data source must have.')]
    created_at: AwareDatetime
    updated_at: AwareDatetime


class TitledConversation(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    agent_id: str
    message_count: Annotated[int, Field(description='The number of messages of both sides.')]
    total_credits: Annotated[int, Field(description='The cost of its answers.')]
    created_at: AwareDatetime
    last_message_at: AwareDatetime
    title: Annotated[str, Field(description='Empty until one is set.')]


class UpdateAgentRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str | None = None
    system_prompt: Annotated[str | None, Field(description='Instructions for the model.')] = None
    data_scope: DataScopeChanges | None = None
    description: str | None = None
    category: str | None = None
    model: Literal['Fast', 'Smart', 'Expert', 'Premium'] | None = None
    welcome_message: str | None = None
    suggested_prompts: list[str] | None = None
    output_preferences: OutputPreferencesChanges | None = None
    status: Literal['active', 'inactive', 'draft'] | None = None


class UpdateConversationRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    title: Annotated[str | None, Field(description='Empty or null removes it.')]


class UpdateConversationResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: TitledConversation


class UpdateCreditSettingsRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    auto_replenish: bool | None = None
    replenish_threshold: int | None = None
    replenish_amount: int | None = None
    low_balance_threshold: Annotated[int | None, Field(description='Null: a tenth of the last purchase.')] = None
    default_monthly_limit: int | None = None


class UpdateCreditSettingsResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: CreditSettings


class UpdateKeyRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str | None = None
    scopes: list[Literal['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'templates:write', 'credits:read', 'credits:write', 'users:read', 'users:write', 'webhooks:read', 'webhooks:write', 'audit:read']] | None = (
        None
    )
    token_ttl_seconds: Annotated[int | None, Field(description='Null: the default.')] = None


class UpdateKeyResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: ApiKey


class UpdateOauthApplicationRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str | None = None
    scopes: list[Literal['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'templates:write', 'credits:read', 'credits:write', 'users:read', 'users:write', 'webhooks:read', 'webhooks:write', 'audit:read']] | None = (
        None
    )


class UpdateOauthApplicationResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: OAuthApplication


class UpdateUserRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str | None = None
    email: str | None = None
    role: Literal['admin', 'member'] | None = None
    status: Literal['active', 'deactivated'] | None = None


class UpdateWebhookRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    url: Annotated[str | None, Field(description='Where events are sent: an HTTPS URL of the public internet.')] = None
    events: list[Literal['agent.created', 'agent.updated', 'agent.deleted', 'conversation.completed', 'credits.low_balance', 'credits.depleted', 'credits.replenished', 'user.registered', 'user.deactivated']] | None = (
        None
    )
    description: str | None = None
    active: bool | None = None


class UpdatedAgent(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    status: Literal['active', 'inactive', 'draft'] | str
    model: Literal['Fast', 'Smart', 'Expert', 'Premium'] | str
    updated_at: AwareDatetime


class UpdatedUser(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    email: str
    role: Literal['admin', 'member'] | str
    status: Literal['active', 'deactivated'] | str
    created_at: AwareDatetime
    ended_credentials: Annotated[
        EndedCredentials | None, Field(description='Only of a deactivation: how many credentials ended with it.')
    ] = None


class UsageDateRange(BaseModel):
    """
    Days in UTC, both included.
    """

    model_config = ConfigDict(
        extra='allow',
    )
    from_: Annotated[date_aliased, Field(alias='from')]
    to: date_aliased


class UsageOfAgent(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    agent_id: str
    name: Annotated[str, Field(description='As it was at the agent’s last answer; kept beyond the agent’s life.')]
    total_credits: int
    query_count: int
    unique_users: int
    breakdown_by_model: Annotated[dict[str, int], Field(description='Credits by model tier.')]


class UsageOfDay(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    date: date_aliased
    total_credits: int
    query_count: int
    unique_users: int
    breakdown_by_model: Annotated[dict[str, int], Field(description='Credits by model tier.')]


class UsageOfMonth(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    date: Annotated[date_aliased, Field(description='Its first day.')]
    month: str
    total_credits: int
    query_count: int
    unique_users: int
    breakdown_by_model: Annotated[dict[str, int], Field(description='Credits by model tier.')]


class UsageOfUser(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    user_id: str
    total_credits: int
    query_count: int
    unique_agents: int
    breakdown_by_model: Annotated[dict[str, int], Field(description='Credits by model tier.')]
    last_used_at: AwareDatetime


class UsageOfWeek(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    date: Annotated[date_aliased, Field(description='Its Monday.')]
    week: str
    total_credits: int
    query_count: int
    unique_users: int
    breakdown_by_model: Annotated[dict[str, int], Field(description='Credits by model tier.')]


class UsageRecord(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    user_id: str
    agent_id: str
    conversation_id: str
    credits_consumed: int
    model: str
    query_summary: Annotated[
        str,
        Field(
            description='The beginning of the message. Empty in records of other users, unless the caller’s key has the administrator flag, or the caller is an application that acts for no person.'
        ),
    ]
    timestamp: AwareDatetime


class UsageRecordList(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[UsageRecord]
    meta: ListMeta


class UsageSummary(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    billing_period: BillingPeriod
    total_credits_used: int
    total_queries: int
    active_users: int
    most_used_agents: list[MostUsedAgent]
    model_distribution: dict[str, ModelUse]


class User(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    email: str
    role: Literal['admin', 'member'] | str
    status: Literal['active', 'deactivated'] | str
    created_at: AwareDatetime


class UserAllocation(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    user_id: str
    monthly_limit: int
    rollover_enabled: bool
    effective_from: AwareDatetime
    updated_at: AwareDatetime


class UserBalance(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    user_id: str
    balance: Annotated[int, Field(description='The credits that are assigned to the user and not held for an answer.')]
    monthly_limit: int
    used_this_month: int
    rollover_enabled: bool
    updated_at: AwareDatetime


class Webhook(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    url: str
    events: list[Literal['agent.created', 'agent.updated', 'agent.deleted', 'conversation.completed', 'credits.low_balance', 'credits.depleted', 'credits.replenished', 'user.registered', 'user.deactivated'] | str]
    description: str
    active: bool
    status: Literal['healthy', 'failing', 'disabled'] | str
    failing_since: AwareDatetime | None
    last_delivery_at: AwareDatetime | None
    created_at: AwareDatetime
    updated_at: AwareDatetime


class WebhookAttempt(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    at: AwareDatetime
    status: Annotated[int | None, Field(description='The HTTP status; null where nothing was answered.')]
    error: Annotated[str | None, Field(description='Why nothing was answered.')]
    duration_ms: int


class WebhookDelivery(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    event_id: str
    event_type: str
    status: Literal['pending', 'delivered', 'failed', 'dropped'] | str
    attempts: list[WebhookAttempt]
    response_status: Annotated[int | None, Field(description='The status of the last answer.')]
    response_body: Annotated[str | None, Field(description='The beginning of the last answer.')]
    next_attempt_at: AwareDatetime | None
    created_at: AwareDatetime
    ended_at: AwareDatetime | None
    redelivery_of: Annotated[str | None, Field(description='The delivery that this one repeats.')]


class ActivateTemplateResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: TemplateActivation


class Agent(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    description: str
    category: str
    status: Literal['active', 'inactive', 'draft'] | str
    model: Literal['Fast', 'Smart', 'Expert', 'Premium'] | str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    system_prompt: Annotated[str, Field(description='Instructions for the model.')]
    data_scope: DataScope
    output_preferences: OutputPreferences
    welcome_message: str
    suggested_prompts: list[str]
    created_by: str
    source_template_id: Annotated[str | None, Field(description='The template that the agent was made from. Beyond the specification.')]


class AnswerResult(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    columns: list[AnswerResultColumn]
    rows: Annotated[
        list[list[Any]],
        Field(description='The values of each row, in the order of the columns. Numbers that a double would round are strings.'),
    ]
    row_count: Annotated[int, Field(description='The rows that the query returned.')]
    truncated: Annotated[bool, Field(description='The query has more rows than it returned, or `rows` has fewer than `row_count`.')]
    chart: Annotated[dict[str, Any] | None, Field(description='The Vega-Lite specification of the chart in `content`.')]


class AuditEntry(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    created_at: AwareDatetime
    actor: AuditActor
    action: str
    target: AuditTarget
    outcome: str
    request_id: str
    changes: Annotated[dict[str, Any], Field(description='The changed fields; secrets and prompts are masked.')]


class CancelAnswerResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: Message


class CreateAgentRequest(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    name: str
    system_prompt: Annotated[str, Field(description='Instructions for the model.')]
    data_scope: DataScopeInput
    description: str | None = None
    category: Annotated[str | None, Field(description='Free text, for filtering.')] = None
    model: Literal['Fast', 'Smart', 'Expert', 'Premium'] | None = None
    welcome_message: str | None = None
    suggested_prompts: list[str] | None = None
    output_preferences: OutputPreferencesInput | None = None


class CreateAgentResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: CreatedAgent


class CreateKeyResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: CreatedApiKey


class CreateOauthApplicationResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: OAuthApplicationWithSecret


class CreateUserResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: User


class CreateWebhookResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: CreatedWebhook


class DataSource(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    environment: Literal['live', 'test'] | str
    status: Annotated[Literal['connected', 'unreadable', 'none'] | str, Field(description='`none`: no database is connected.')]
    reason: Annotated[str | None, Field(description='Why it is unreadable.')]
    role_gate: Annotated[
        RoleGate | None,
        Field(
            description='Says if statements run under a database role that holds only their scope, and why not, or for which tables not.'
        ),
    ]
    tables: list[DataSourceTable]


class DeactivateTemplateResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: TemplateDeactivation


class DuplicateTemplateResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: DuplicatedAgent


class Error(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    error: ErrorDescription
    meta: ErrorMeta


class GetAgentResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: Agent


class GetBalanceResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: OrganizationBalance


class GetConversationResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: TitledConversation


class GetDataSourceResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: DataSource
    meta: ListMeta


class GetOauthApplicationResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: OAuthApplication


class GetUsageSummaryResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: UsageSummary


class GetUserBalanceResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: UserBalance


class GetUserResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: User


class ListAgentsResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[AgentSummary]
    meta: ListMeta


class ListAuditEntriesResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[AuditEntry]
    meta: ListMeta


class ListConversationsResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[Conversation]
    meta: ListMeta


class ListKeysResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[ApiKey]
    meta: ListMeta


class ListOauthApplicationsResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[OAuthApplication]
    meta: ListMeta


class ListSigningKeysResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    keys: list[SigningKey]


class ListTemplatesResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[TemplateSummary]
    meta: ListMeta


class ListUsersResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[User]
    meta: ListMeta


class ListWebhookDeliveriesResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[WebhookDelivery]
    meta: ListMeta


class ListWebhooksResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[Webhook]
    meta: ListMeta


class ListedMessage(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    conversation_id: str
    role: Literal['user', 'assistant'] | str
    content: Annotated[str, Field(description='Empty until the answer has ended.')]
    content_type: Annotated[
        Literal['text', 'markdown'] | str,
        Field(description='`markdown` of answers, unless the agent’s `default_format` was `text`; `text` of what a user wrote.'),
    ]
    credits_consumed: Annotated[int, Field(description='The cost of the answer; nothing unless it completed.')]
    model_used: Annotated[
        Literal['Fast', 'Smart', 'Expert', 'Premium', ''] | str, Field(description='The tier; empty for what a user wrote.')
    ]
    created_at: AwareDatetime
    status: Annotated[
        Literal['queued', 'running', 'completed', 'failed', 'cancelled'] | str, Field(description='Beyond the specification.')
    ]
    queries: Annotated[
        list[AnswerQuery] | None, Field(description='The queries from which the answer was computed. Beyond the specification.')
    ] = None
    feedback: Annotated[Feedback | None, Field(description='The caller’s own, if any was given. Beyond the specification.')] = None
    usage: Annotated[AnswerUsage | None, Field(description='The use of the model by the answer. Beyond the specification.')] = None
    result: Annotated[
        AnswerResult | None,
        Field(description='The result of the answer’s last query, up to 32 kB; null without one. Beyond the specification.'),
    ] = None


class ReadMessage(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    conversation_id: str
    role: Literal['user', 'assistant'] | str
    content: Annotated[str, Field(description='Empty until the answer has ended.')]
    content_type: Annotated[
        Literal['text', 'markdown'] | str,
        Field(description='`markdown` of answers, unless the agent’s `default_format` was `text`; `text` of what a user wrote.'),
    ]
    credits_consumed: Annotated[int, Field(description='The cost of the answer; nothing unless it completed.')]
    model_used: Annotated[
        Literal['Fast', 'Smart', 'Expert', 'Premium', ''] | str, Field(description='The tier; empty for what a user wrote.')
    ]
    created_at: AwareDatetime
    status: Annotated[
        Literal['queued', 'running', 'completed', 'failed', 'cancelled'] | str, Field(description='Beyond the specification.')
    ]
    queries: Annotated[
        list[AnswerQuery] | None, Field(description='The queries from which the answer was computed. Beyond the specification.')
    ] = None
    feedback: Annotated[Feedback | None, Field(description='The caller’s own, if any was given. Beyond the specification.')] = None
    usage: Annotated[AnswerUsage | None, Field(description='The use of the model by the answer. Beyond the specification.')] = None
    result: Annotated[
        AnswerResult | None,
        Field(description='The result of the answer’s last query, up to 32 kB; null without one. Beyond the specification.'),
    ] = None
    steps: Annotated[list[AnswerStep] | None, Field(description='Every call of a tool, in order. Beyond the specification.')] = None
    error: Annotated[
        ErrorDescription | None,
        Field(description='Why the answer failed or was cancelled, as a caller who waits for it gets it. Beyond the specification.'),
    ] = None


class RedeliverWebhookDeliveryResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: WebhookDelivery


class RotateKeyResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: RotatedApiKey


class RotateWebhookSecretResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: RotatedWebhookSecret


class Self(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    user: SelfUser
    organization: SelfOrganization
    environment: Literal['live', 'test'] | str
    credential: SelfCredential
    scopes: Annotated[list[str], Field(description='The scopes that this request’s token or key has now.')]
    limits: SelfLimits


class SetAllocationResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: UserAllocation


class Template(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    id: str
    name: str
    description: str
    category: Literal['finance', 'sales', 'inventory', 'purchasing', 'hr'] | str
    version: str
    model: Literal['Fast', 'Smart', 'Expert', 'Premium'] | str
    credit_cost_estimate: str
    status: Annotated[
        Literal['available', 'activated'] | str, Field(description='Activated while the organization’s agent of this template is active.')
    ]
    required_tables: Annotated[list[str], Field(description='The tables that a connected data source must have.')]
    created_at: AwareDatetime
    updated_at: AwareDatetime
    long_description: str
    required_permissions: Annotated[list[str], Field(description='Scopes that the caller must have to activate the template.')]
    suggested_prompts: list[str]
    changelog: Annotated[list[TemplateChange], Field(description='Newest first.')]


class TestWebhookResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: WebhookDelivery


class UpdateAgentResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: UpdatedAgent


class UpdateUserResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: UpdatedUser


class UpdateWebhookResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: Webhook


class UsageAggregateMeta(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    total: Annotated[
        int,
        Field(
            description='How many entries there are under the same filters. A search for agents with 1,000 matches or more, and a list of audit entries under filters, keep the count of their first page.'
        ),
    ]
    next_cursor: Annotated[str | None, Field(description='Null on the last page.')]
    request_id: str
    total_credits: Annotated[int, Field(description='The total of the whole range, not of the page.')]
    total_queries: Annotated[int, Field(description='The total of the whole range, not of the page.')]
    date_range: UsageDateRange


class UsageOfAgentList(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[UsageOfAgent]
    meta: UsageAggregateMeta


class UsageOfDayList(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[UsageOfDay]
    meta: UsageAggregateMeta


class UsageOfMonthList(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[UsageOfMonth]
    meta: UsageAggregateMeta


class UsageOfUserList(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[UsageOfUser]
    meta: UsageAggregateMeta


class UsageOfWeekList(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[UsageOfWeek]
    meta: UsageAggregateMeta


class GetMessageResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: ReadMessage


class GetSelfResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: Self


class GetTemplateResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: Template


class ListMessagesResponse(BaseModel):
    model_config = ConfigDict(
        extra='allow',
    )
    data: list[ListedMessage]
    meta: ListMeta


class ListUsageResponse(
    RootModel[UsageOfWeekList | UsageOfMonthList | UsageOfDayList | UsageOfUserList | UsageOfAgentList | UsageRecordList]
):
    root: UsageOfWeekList | UsageOfMonthList | UsageOfDayList | UsageOfUserList | UsageOfAgentList | UsageRecordList
