import { eventTypes, isEventType, ServiceError } from '@agent-service/contracts';
import type { WebhooksContext } from '../context.ts';

const longestDescription = 2_000;
const [shortestSecret, longestSecret] = [16, 255];

const invalid = (param: string, message: string) => new ServiceError('invalid_request', { param, message: `${param} ${message}.` });

export async function checkUrl({ refusalOfUrl }: WebhooksContext, url: string): Promise<string> {
  const refusal = await refusalOfUrl(url);
  if (refusal !== undefined) throw invalid('url', refusal);
  return url;
}

/** Each once, in the order given. */
export function checkEvents(events: readonly string[]): string[] {
  if (events.length === 0) throw invalid('events', 'must name at least one type of event');
  const unknown = events.findIndex((type) => !isEventType(type));
  if (unknown >= 0) throw invalid(`events[${unknown}]`, `must be one of ${eventTypes.join(', ')}`);
  return [...new Set(events)];
}

export function checkDescription(description: string): string {
  if ([...description].length > longestDescription || description.includes('\0'))
    throw invalid('description', `must have at most ${longestDescription} characters and no NUL`);
  return description;
}

export function checkSecret(secret: string): string {
  const length = [...secret].length;
  if (length < shortestSecret || length > longestSecret || secret.includes('\0'))
    throw invalid('secret', `must have ${shortestSecret} to ${longestSecret} characters and no NUL`);
  return secret;
}
