import { webhooks } from './0001-webhooks.ts';

export const migrations = [webhooks];
