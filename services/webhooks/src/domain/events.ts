import type { Tenant } from '@agent-service/contracts/callers/principal';

/** The event that a caller sends to test a webhook. It has no other cause, and webhooks cannot subscribe to it. */
export const testEventType = 'webhook.test';

export interface WebhookEvent extends Tenant {
  readonly id: string;
  readonly type: string;
  readonly createdAt: string;
  /** The first day of the month in which it was created. */
  readonly month: string;
  /** The exact text that receivers get. */
  readonly body: string;
}

interface EventContent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: string;
  readonly data: object;
}

export const serializeEvent = ({ id, type, createdAt, data }: EventContent): string =>
  JSON.stringify({ id, type, created_at: createdAt, data });
