import { type Principal, publicErrorCodes, ServiceError } from '@agent-service/contracts';
import type { RouteInput } from './route.ts';

/** For each id in a path: what it names, and the request that lists what exists. */
const kinds: Readonly<Record<string, readonly [string, string]>> = {
  agent_id: ['agent', 'GET /v1/agents'],
  application_id: ['application', 'GET /v1/oauth-applications'],
  conversation_id: ['conversation', 'GET /v1/agents/{agent_id}/conversations'],
  delivery_id: ['delivery', 'GET /v1/webhooks/{webhook_id}/deliveries'],
  key_id: ['API key', 'GET /v1/keys'],
  message_id: ['message', 'GET /v1/agents/{agent_id}/conversations/{conversation_id}/messages'],
  template_id: ['template', 'GET /v1/templates'],
  user_id: ['user', 'GET /v1/users'],
  webhook_id: ['webhook', 'GET /v1/webhooks'],
};

const maxShownId = 60;
const deletedAnswer =
  'The message with this Idempotency-Key was answered in a conversation that has been deleted. Use a new key for a new message.';

/** Names the id that was not found, the request that lists what exists, and the environment that was searched. Other errors stay as they are. */
export function explainNotFound(cause: unknown, { params, body }: RouteInput, principal: Principal | undefined): unknown {
  if (!(cause instanceof ServiceError) || cause.code !== 'not_found') return cause;
  if (cause.message !== publicErrorCodes.not_found.message) return cause;
  const ids = Object.entries({ ...(params as Record<string, string> | undefined), ...conversationOf(body) }).filter(
    ([name]) => name in kinds && (cause.param === null || name === cause.param),
  );
  const [first] = ids;
  // A message that names no conversation is refused for one only where its Idempotency-Key does.
  if (first === undefined && cause.param === 'conversation_id') return new ServiceError('not_found', { message: deletedAnswer, cause });
  if (first === undefined) return cause;
  const named = ids.map(([name, id]) => `no ${kinds[name]?.[0]} ${id.slice(0, maxShownId)}`).join(', or ');
  const lists = ids.map(([name]) => kinds[name]?.[1]).join(' and ');
  return new ServiceError('not_found', {
    message: `There is ${named}. ${lists} ${ids.length === 1 ? 'lists' : 'list'} what there is.${environmentHint(principal)}`,
    // With several ids a service does not always say which of them is unknown.
    param: ids.length === 1 ? first[0] : undefined,
    details: cause.details,
    cause,
  });
}

/** A message may continue a conversation; without its id it begins one. */
function conversationOf(body: unknown): Record<string, string> {
  const { conversation_id: id } = (body ?? {}) as { conversation_id?: unknown };
  return typeof id === 'string' ? { conversation_id: id } : {};
}

function environmentHint(principal: Principal | undefined): string {
  if (principal === undefined) return '';
  return principal.environment === 'test'
    ? ' This is a test key, which only sees the test environment; for the live environment use a key that begins with sa_live_.'
    : ' This is a live key; what was made with a test key can only be seen with a key that begins with sa_test_.';
}
