import { deadLettersTable, migration } from '@agent-service/store';

export const deadLetters = migration('0002-dead-letters', deadLettersTable);
