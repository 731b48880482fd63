import type { ToolAnswer } from '@agent-service/business-data';
import { ServiceError } from '@agent-service/contracts';
import type { Standing, Steps } from './steps.ts';

/** The changes of business data that one attempt makes, each claimed before and said to be done after. */
export interface Changes {
  /** Throws when nobody can say whether the change was made: the answer then ends, since a model would try again. */
  make(description: string, run: (standing: Standing) => Promise<ToolAnswer>): Promise<ToolAnswer>;
  /** What has to be told beside a failure, so that nobody takes it for one that left everything as it was. */
  failure(error: ServiceError): ServiceError;
}

export function createChanges(steps: Steps): Changes {
  let claimed = 0;
  let unfinished = 0;
  let made = 0;

  async function claim(step: number, description: string): Promise<Standing | ToolAnswer> {
    try {
      return await steps.mayChange(step, description);
    } catch (cause) {
      const error = ServiceError.from(cause);
      if (error.code === 'invalid_request') return { text: error.message };
      throw cause;
    }
  }

  async function finish(step: number, answer: ToolAnswer): Promise<void> {
    if (answer.failure) {
      await steps.notChanged(step);
    } else {
      made += 1;
      await steps.changed(step, answer.result?.rows.length ?? 0);
    }
    unfinished -= 1;
  }

  return {
    async make(description, run) {
      claimed += 1;
      const step = claimed;
      const standing = await claim(step, description);
      if ('text' in standing) return standing;
      unfinished += 1;
      const answer = await run(standing);
      if (answer.failure?.kind === 'unknown') throw new ServiceError('change_unfinished', { cause: answer.failure });
      await finish(step, answer);
      return answer;
    },
    failure(error) {
      if (unfinished > 0 && error.code !== 'change_unfinished') return new ServiceError('change_unfinished', { cause: error });
      if (made === 0 || error.code === 'change_unfinished') return error;
      return new ServiceError(error.code, {
        message: `${error.message} Business data had been changed before, and stays changed.`,
        cause: error.cause,
      });
    },
  };
}
