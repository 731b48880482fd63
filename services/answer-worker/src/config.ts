import { clientSettings } from '@agent-service/contracts';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

/** What is left of the ten seconds that a process may take to end goes to handing back. */
const longestDrainMs = 6_000;

const schema = z.object({
  ...processSettings,
  ...clientSettings,
  ...redisSettings,
  AGENTS_ADDRESS: setting.text(),
  MODELS_FILE: setting.text().optional(),
  /** Answers in hand at once. */
  ANSWER_CONCURRENCY: setting.integer(200, 1, 5_000),
  /** Processes for answers that have lost a lease, started when there are some. */
  ANSWER_APART_PROCESSES: setting.integer(8, 1, 64),
  /** How many answers that have lost one lease share such a process; one that has lost two has it to itself. */
  ANSWER_APART_SHARED: setting.integer(25, 1, 500),
  /** How long answers in hand may go on after SIGTERM before they are handed back. */
  ANSWER_DRAIN_MS: setting.integer(5_000, 0, longestDrainMs),
  /** Whether statements over business data run under a database role for each scope, where the data source lets us make one. */
  DATA_SOURCE_ROLES: z.enum(['auto', 'off'], 'must be auto or off').default('auto'),
});

export type AnswerWorkerConfig = z.output<typeof schema> & {
  /** What the settings were read from. It has the models' keys, under the names that the models file gives them. */
  readonly environment: NodeJS.ProcessEnv;
};

export const readAnswerWorkerConfig = (env: NodeJS.ProcessEnv): AnswerWorkerConfig => ({ ...readConfig(schema, env), environment: env });
