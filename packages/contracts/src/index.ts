export { formatTableScope, parseTableScope } from './agents/data-scope.ts';
export { isWellFormedApiKey, makeApiKey } from './callers/api-key.ts';
export { callers, callersAndOperators, operators, type Policy, services } from './callers/policy.ts';
export {
  allScopes,
  type Caller,
  cutToRole,
  type Environment,
  isScope,
  operatorService,
  type Principal,
  type Role,
  type Scope,
  scopes,
  scopesOfRole,
  type Tenant,
} from './callers/principal.ts';
export { serviceKeysOf } from './callers/service-keys.ts';
export { type Call, type Implementation, type RpcOf, tenantOf } from './calls/call.ts';
export { type CallContext, callDetached, currentCall, type IdempotencyKey, requirePrincipal, withCall } from './calls/call-context.ts';
export { createClient, openClient, openWebhooksClient, type WebhooksClientConfig, webhooksClientSettings } from './calls/client.ts';
export { createFairLimiter, type FairLimiter } from './calls/fair-limiter.ts';
export { serve } from './calls/server.ts';
export { type ClientConfig, certificateFile, clientSettings, openIdConnectSettings, serverSettings } from './calls/settings.ts';
export { type Client, type ServiceName, serviceNames } from './catalogue.ts';
export { checkEnvironment, checkId, checkItems, checkTenant, checkText } from './checks.ts';
export {
  changedBefore,
  type ErrorCode,
  type ErrorType,
  errorCodes,
  isErrorCode,
  isPublicErrorCode,
  overdueAnswerMessage,
  type PublicErrorCode,
  publicErrorCodes,
} from './errors/error-codes.ts';
export { classifyCallFailure, type FieldError, invalidFields, isAway, required, ServiceError } from './errors/service-error.ts';
export { type EventType, eventTypes, isEventType } from './event-types.ts';
export type { AnswerRecord__Output as AnswerRecord } from './gen/agentservice/v1/AnswerRecord.ts';
export type { Message__Output as AnswerMessage } from './gen/agentservice/v1/Message.ts';
export { decodeIdTime, encodeIdTime, newId } from './ids.ts';
