import { status } from '@grpc/grpc-js';

/** The kind of failure in `error.type`. */
export type ErrorType =
  | 'invalid_request'
  | 'authentication'
  | 'permission'
  | 'not_found'
  | 'conflict'
  | 'credits'
  | 'rate_limit'
  | 'provider'
  | 'internal';

interface CodeDefinition {
  type: ErrorType;
  http: number;
  grpc: status;
  /** The sentence for the caller where the error has none of its own. */
  message: string;
}

const define = <Table extends Record<string, CodeDefinition>>(table: Table): Record<keyof Table, CodeDefinition> => table;

const invalid = (message: string, http = 400): CodeDefinition => ({
  type: 'invalid_request',
  http,
  grpc: status.INVALID_ARGUMENT,
  message,
});
const unauthenticated = (message: string): CodeDefinition => ({ type: 'authentication', http: 401, grpc: status.UNAUTHENTICATED, message });
const forbidden = (message: string): CodeDefinition => ({ type: 'permission', http: 403, grpc: status.PERMISSION_DENIED, message });
const conflict = (message: string, http = 409): CodeDefinition => ({ type: 'conflict', http, grpc: status.FAILED_PRECONDITION, message });
const short = (message: string, http = 402): CodeDefinition => ({ type: 'credits', http, grpc: status.FAILED_PRECONDITION, message });
const limited = (message: string): CodeDefinition => ({ type: 'rate_limit', http: 429, grpc: status.RESOURCE_EXHAUSTED, message });

/** The message of an answer that has failed at its deadline. The message of `answer_timeout` itself is for an answer that is still running. */
export const overdueAnswerMessage =
  'The answer was not complete at its deadline. No credits were charged. Send the message again, or ask for less at once.';

/** The sentence of a failed or cancelled answer about changes that it made before. */
export const changedBefore = 'Business data had been changed before, and stays changed.';

/** Every code that an HTTP answer can have. docs/errors.md lists the same codes for callers; a test compares the two. */
export const publicErrorCodes = define({
  invalid_request: invalid('The request is not valid.'),
  invalid_json: invalid('The body is not valid JSON.'),
  invalid_cursor: invalid('The cursor is not valid here. Take it unchanged from meta.next_cursor and keep the same filters.'),
  invalid_scope: invalid('A requested scope is unknown or beyond what this credential has.'),
  invalid_grant_type: invalid('grant_type must be client_credentials.'),
  payload_too_large: invalid('The body is larger than this endpoint takes.', 413),
  headers_too_large: invalid('The request line and headers are larger than 16 KiB.', 431),
  request_timeout: invalid('The request did not arrive in time.', 408),
  unsupported_media_type: invalid('Send the body with Content-Type: application/json.', 415),
  idempotency_key_reused: invalid('This Idempotency-Key was used with another body. Use a new key for a new request.', 422),

  missing_token: unauthenticated('Send an API key or access token as Authorization: Bearer <token>.'),
  invalid_token: unauthenticated('The token is not valid.'),
  token_expired: unauthenticated('The token has expired. Request a new one.'),
  token_revoked: unauthenticated('The token has been revoked.'),
  invalid_client: unauthenticated('The client credentials are not valid.'),

  unauthorized: unauthenticated('Sign in to the portal.'),
  invalid_credentials: unauthenticated('The e-mail address or the password is wrong.'),
  code_required: unauthenticated('Send the code of your authenticator app, or a recovery code.'),
  organization_required: conflict(
    'Users of several organizations have this e-mail address and password. Name one with organization_id. See details.',
  ),

  insufficient_scope: forbidden('The token lacks the scope that this endpoint needs.'),
  wrong_audience: forbidden('This token may only send messages to the agent that it was made for.'),
  admin_required: forbidden('This endpoint needs a token made from an administrator key.'),
  csrf_refused: forbidden('The request did not come from the portal itself, or lacks its X-CSRF-Token. Read GET /api/session again.'),
  own_role_or_status: forbidden('Your own role and status can only be changed by another administrator.'),

  not_found: { type: 'not_found', http: 404, grpc: status.NOT_FOUND, message: 'There is no such resource.' },
  method_not_allowed: {
    type: 'invalid_request',
    http: 405,
    grpc: status.UNIMPLEMENTED,
    message: 'This path does not support the method. See the Allow header.',
  },

  email_taken: conflict('Another user of the organization has this e-mail address.'),
  last_admin: conflict('The organization needs at least one active administrator.'),
  user_deactivated: conflict('The user is deactivated.'),
  credential_limit_reached: conflict('There are as many active keys or applications as there may be. Revoke one before creating another.'),
  credential_ended: conflict('The key or application was revoked or replaced, so it cannot be changed. Create a new one.'),
  idempotency_in_progress: conflict('A request with this Idempotency-Key is still running. Repeat it in a moment.'),

  credits_exhausted: short('The organization has no credits left for this. See details.'),
  user_limit_reached: short("The user's monthly limit does not allow this. See details."),
  insufficient_unallocated_credits: short('The organization has fewer unallocated credits than this allocation needs. See details.', 409),

  agent_not_active: conflict(
    'The agent is not active. Activate it before sending messages: PATCH /v1/agents/{agent_id} with {"status":"active"}.',
  ),
  invalid_status_transition: conflict('The agent cannot change to this status.'),
  conversation_busy: conflict('The previous message of this conversation is still being answered.'),
  answer_cancelled: conflict('The answer was cancelled.'),
  agent_deleted: { type: 'not_found', http: 404, grpc: status.NOT_FOUND, message: 'The agent was deleted.' },
  change_unfinished: conflict('A change of business data was begun and its outcome is not known: it may have been written.'),
  precondition_failed: conflict('The resource has changed since it was read. Read it again and repeat with its new ETag.', 412),

  template_already_activated: conflict('The template is activated already. See details.'),
  template_not_activated: conflict('The template is not activated.'),
  template_requirements_unmet: conflict('The connected data source lacks tables that this template needs. See details.'),

  webhook_limit_reached: conflict('There are as many webhooks as there may be. Delete one before creating another.'),
  webhook_inactive: conflict('The webhook is not active. Set active to true before sending to it.'),

  provider_error: {
    type: 'provider',
    http: 502,
    grpc: status.UNAVAILABLE,
    message: 'The model provider did not give an answer. No credits were charged.',
  },
  data_source_unavailable: {
    type: 'provider',
    http: 503,
    grpc: status.FAILED_PRECONDITION,
    message: 'The data source cannot be used. See the message.',
  },
  data_scope_empty: {
    type: 'provider',
    http: 503,
    grpc: status.FAILED_PRECONDITION,
    message: "The data source has none of the tables in the agent's data_scope. No credits were charged.",
  },
  answer_abandoned: {
    type: 'provider',
    http: 502,
    grpc: status.ABORTED,
    message: 'Three attempts at this answer ended without a result, each with the process that made it. No credits were charged.',
  },
  answer_timeout: {
    type: 'provider',
    http: 504,
    grpc: status.DEADLINE_EXCEEDED,
    message: 'The answer is not there yet. See details for where it can be read.',
  },

  too_many_waiting: limited('Too many messages of the organization wait for their answers. Wait for the time in Retry-After.'),
  rate_limited: limited('Too many requests. Wait for the time in Retry-After.'),

  unavailable: {
    type: 'internal',
    http: 503,
    grpc: status.UNAVAILABLE,
    message: 'A part of the service cannot be reached. Try again in a moment.',
  },
  deadline_exceeded: {
    type: 'internal',
    http: 503,
    grpc: status.DEADLINE_EXCEEDED,
    message: 'The service took too long. Try again in a moment.',
  },
  internal: { type: 'internal', http: 500, grpc: status.INTERNAL, message: 'Something went wrong on our side.' },
});

/** Codes of calls between services and of the operator's calls. The gateway answers with none of them. */
const internalErrorCodes = define({
  service_forbidden: forbidden('The calling service may not use this method.'),
  cancelled: { type: 'internal', http: 499, grpc: status.CANCELLED, message: 'The caller went away.' },

  idempotency_conflict: conflict('The id was used before with other contents.'),
  issue_limit_reached: conflict('The organization would have been issued more credits than can be counted.'),
  hold_not_found: { type: 'not_found', http: 404, grpc: status.NOT_FOUND, message: 'There is no such hold, or it ended too long ago.' },
  hold_released: conflict('The hold has been released.'),
  hold_settled: conflict('The hold has been settled.'),

  outcomes_not_saved: conflict('The outcomes of some deliveries were not saved. The others are saved.'),
  attempt_superseded: conflict('Another attempt at this answer has taken its place.'),
});

/** Every code of a `ServiceError`. */
export const errorCodes = { ...publicErrorCodes, ...internalErrorCodes };

export type PublicErrorCode = keyof typeof publicErrorCodes;
export type ErrorCode = keyof typeof errorCodes;

export const isPublicErrorCode = (code: unknown): code is PublicErrorCode =>
  typeof code === 'string' && Object.hasOwn(publicErrorCodes, code);
export const isErrorCode = (code: unknown): code is ErrorCode => typeof code === 'string' && Object.hasOwn(errorCodes, code);
