import { dataSourceSettings } from '@agent-service/business-data/database/settings';
import { clientSettings } from '@agent-service/contracts';
import { modelsSettings } from '@agent-service/models/models-file';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

/** A process has ten seconds to stop; the rest of them is for returning its attempts. */
const maxDrainMs = 6_000;

const isLocale = (tag: string): boolean => {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
};

/**
 * UTC, or a name with an area, old or new: `Intl.supportedValuesOf` lists only one name of each zone, as Asia/Calcutta. PostgreSQL reads offsets and
 * abbreviations otherwise: +05:30 is west of UTC to it.
 */
function isTimeZone(name: string): boolean {
  if (name === 'UTC') return true;
  try {
    return name.includes('/') && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

export const answerWorkerSettings = z.object({
  ...processSettings,
  ...clientSettings,
  ...redisSettings,
  AGENTS_ADDRESS: setting.text().describe('Address of `agents`.'),
  ...modelsSettings,
  ANSWER_CONCURRENCY: setting.integer(200, 1, 5_000).describe('Answers that one worker runs at once.'),
  ANSWER_WAITING_CAPACITY: setting
    .integer(100, 0, 1_000)
    .describe(
      'Answers that a worker with free capacity waits for at a time, without jobs: at most half of `ANSWER_CONCURRENCY`. 0: every answer has a job.',
    ),
  ANSWER_APART_PROCESSES: setting
    .integer(8, 1, 64)
    .describe('Processes that a worker starts, when needed, for answers that have lost a lease (up to about 220 MB each).'),
  ANSWER_APART_SHARED: setting
    .integer(25, 1, 500)
    .describe('How many answers that have lost one lease share such a process; one that has lost two has it to itself.'),
  ANSWER_DRAIN_MS: setting.integer(5_000, 0, maxDrainMs).describe('How long running answers go on after SIGTERM before they are returned.'),
  DATA_LOCALE: z
    .string()
    .refine(isLocale, 'must be the tag of a language and a region, such as de-DE')
    .default('en')
    .describe('How the built-in model writes numbers and amounts, as `de-DE`; `context.locale` of a message comes before it.'),
  DATA_TIME_ZONE: z
    .string()
    .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin')
    .default('UTC')
    .describe('The time zone of "today" in business data, for models and for the sessions of their statements, as `Europe/Berlin`.'),
  ...dataSourceSettings,
  DATA_SOURCE_ROLES: z
    .enum(['auto', 'off'], 'must be auto or off')
    .default('auto')
    .describe(
      '`auto` runs statements over business data under a database role of their scope, where the data source allows it; `off` with the connected account itself.',
    ),
});

export type AnswerWorkerConfig = z.output<typeof answerWorkerSettings> & {
  /** The environment that the settings come from. It has the models' keys, under the names that the models file gives them. */
  readonly environment: NodeJS.ProcessEnv;
};

export const readAnswerWorkerConfig = (env: NodeJS.ProcessEnv): AnswerWorkerConfig => ({
  ...readConfig(answerWorkerSettings, env),
  environment: env,
});
