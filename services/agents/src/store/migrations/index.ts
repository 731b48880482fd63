import { agents } from './0001-agents.ts';
import { answers } from './0002-answers.ts';
import { dataSourcesMigration } from './0003-data-sources.ts';
import { templateAgents } from './0004-template-agents.ts';

/** The history of the schema, oldest first. */
export const migrations = [agents, answers, dataSourcesMigration, templateAgents];
