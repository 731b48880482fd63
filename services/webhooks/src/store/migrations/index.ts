import { webhooks } from './0001-webhooks.ts';
import { sealedPlacesMigration } from './0002-sealed-places.ts';

export const migrations = [webhooks, sealedPlacesMigration];
