export {
  type AnswerEvent,
  type NewMessage,
  type StreamOptions,
  sendMessage,
  startAnswer,
  streamAnswer,
  type WaitOptions,
  waitForAnswer,
} from './answers.ts';
export { type Client, type ClientOptions, createClient, type DeprecationNotice, type RawRequest } from './client.ts';
export { AgentServiceError, ApiError, ConnectionError, isApiError, TimeoutError } from './errors.ts';
export { readEvents, type ServerSentEvent } from './events.ts';
/** The types of the API: `paths`, `operations`, `components`, and one type for each named schema, generated from the OpenAPI document. */
export type * from './gen/api.ts';
export { entries, type ListPath, pages } from './pages.ts';
export { type Auth, apiKey, clientCredentials, type TokenContext, type TokenSource } from './tokens.ts';
export type { ApiResponse, CallOptions, Method, PathOf, RequestArguments, RequestOptions, ResponseBody } from './types.ts';
export { verifyWebhook, type WebhookEvent, type WebhookOptions, type WebhookRequest, WebhookVerificationError } from './webhooks.ts';
