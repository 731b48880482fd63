import { webhooks } from './0001-webhooks.ts';
import { sealedColumnsMigration } from './0002-sealed-places.ts';
import { deadLetters } from './0003-dead-letters.ts';
import { months } from './0004-months.ts';

export const migrations = [webhooks, sealedColumnsMigration, deadLetters, months];
