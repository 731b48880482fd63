import type { Tenant } from './tenant.ts';

/** The event that a caller asks for to try an endpoint; nothing else causes it, and nobody can subscribe to it. */
export const testEventType = 'webhook.test';

export interface WebhookEvent extends Tenant {
  readonly id: string;
  readonly type: string;
  readonly createdAt: string;
  /** The first day of the month in which it was made. */
  readonly month: string;
  /** What receivers get, byte for byte. */
  readonly body: string;
}

export interface EventContent {
  id: string;
  type: string;
  createdAt: string;
  data: object;
}

export const bodyOf = ({ id, type, createdAt, data }: EventContent): string => JSON.stringify({ id, type, created_at: createdAt, data });
