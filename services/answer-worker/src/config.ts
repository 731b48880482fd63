import { clientSettings } from '@agent-service/contracts';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

/** A process has ten seconds to stop; the rest of them is for returning its attempts. */
const maxDrainMs = 6_000;

const timeZones = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')]);

const schema = z.object({
  ...processSettings,
  ...clientSettings,
  ...redisSettings,
  AGENTS_ADDRESS: setting.text(),
  MODELS_FILE: setting.text().optional(),
  /** Answers that run at once. */
  ANSWER_CONCURRENCY: setting.integer(200, 1, 5_000),
  /** Answers that a worker with free capacity waits for at a time, without jobs: at most half of ANSWER_CONCURRENCY. 0: all have jobs. */
  ANSWER_WAITING_CAPACITY: setting.integer(100, 0, 1_000),
  /** Processes for answers that have lost a lease, started when there are some. */
  ANSWER_APART_PROCESSES: setting.integer(8, 1, 64),
  /** How many answers that have lost one lease share such a process; one that has lost two has it to itself. */
  ANSWER_APART_SHARED: setting.integer(25, 1, 500),
  /** How long running answers go on after SIGTERM before they are returned. */
  ANSWER_DRAIN_MS: setting.integer(5_000, 0, maxDrainMs),
  /** The time zone of "today" in business data: for models, and for the sessions of statements. */
  DATA_TIME_ZONE: z
    .string()
    .refine((name) => timeZones.has(name), 'must be the name of a time zone, such as Europe/Berlin')
    .default('UTC'),
  /** `auto` runs statements over business data under a database role of their scope, where the data source allows it. */
  DATA_SOURCE_ROLES: z.enum(['auto', 'off'], 'must be auto or off').default('auto'),
});

export type AnswerWorkerConfig = z.output<typeof schema> & {
  /** The environment that the settings come from. It has the models' keys, under the names that the models file gives them. */
  readonly environment: NodeJS.ProcessEnv;
};

export const readAnswerWorkerConfig = (env: NodeJS.ProcessEnv): AnswerWorkerConfig => ({ ...readConfig(schema, env), environment: env });
