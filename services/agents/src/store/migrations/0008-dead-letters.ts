import { deadLettersTable, migration } from '@agent-service/store';

export const deadLetters = migration('0008-dead-letters', deadLettersTable);
