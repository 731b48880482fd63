import { deadLettersTable, migration } from '@agent-service/store';

export const deadLetters = migration('0003-dead-letters', deadLettersTable);
