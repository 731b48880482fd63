import { webhooks } from './0001-webhooks.ts';
import { sealedPlacesMigration } from './0002-sealed-places.ts';
import { deadLetters } from './0003-dead-letters.ts';

export const migrations = [webhooks, sealedPlacesMigration, deadLetters];
