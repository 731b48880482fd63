import { agents } from './0001-agents.ts';
import { answers } from './0002-answers.ts';

/** The history of the schema, oldest first. */
export const migrations = [agents, answers];
