import { DataFailure, type ToolAnswer } from '@agent-service/business-data';
import { ServiceError } from '@agent-service/contracts';
import { keysOf } from '../domain/row-keys.ts';
import { changeIn } from '../domain/step-detail.ts';
import type { AskedChange, Standing, Steps } from './steps.ts';

/** The changes of business data that one attempt makes, each claimed before and said to be done after. */
export interface Changes {
  /**
   * Throws when nobody can say whether the change was made: the answer then ends, since a model would try again. The audit log names
   * the rows where the tool's input is given.
   */
  make(description: string, run: (standing: Standing) => Promise<ToolAnswer>, input?: unknown): Promise<ToolAnswer>;
  /** What has to be told beside a failure, so that nobody takes it for one that left everything as it was. */
  failure(error: ServiceError): ServiceError;
}

export function createChanges(steps: Steps): Changes {
  let claimed = 0;
  let unfinished = 0;
  let made = 0;

  async function claim(step: number, asked: AskedChange): Promise<Standing | ToolAnswer> {
    try {
      return await steps.mayChange(step, asked);
    } catch (cause) {
      const error = ServiceError.from(cause);
      if (error.code === 'invalid_request') return { text: error.message };
      throw cause;
    }
  }

  async function perform(step: number, run: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
    try {
      return await run();
    } catch (cause) {
      // It was given up before the database was to keep it.
      if (cause instanceof DataFailure && cause.kind === 'cancelled') await undo(step);
      throw cause;
    }
  }

  async function undo(step: number): Promise<void> {
    await steps.notChanged(step);
    unfinished -= 1;
  }

  async function finish(step: number, answer: ToolAnswer): Promise<void> {
    if (answer.failure?.kind === 'unknown') throw await lost(step, answer.failure);
    if (answer.failure) return undo(step);
    made += 1;
    await steps.changed(step, answer.result?.rows.length ?? 0);
    unfinished -= 1;
  }

  /** The answer fails so whether or not somebody can be told; `agents` tells of claims that nobody finishes. */
  async function lost(step: number, failure: DataFailure): Promise<ServiceError> {
    const [told] = await Promise.allSettled([steps.maybeChanged(step)]);
    const cause = told.status === 'fulfilled' ? failure : new AggregateError([failure, told.reason], failure.message);
    return new ServiceError('change_unfinished', { cause });
  }

  return {
    async make(description, run, input) {
      claimed += 1;
      const step = claimed;
      const standing = await claim(step, { description, change: { ...changeIn(description), keysJson: keysOf(input) } });
      if ('text' in standing) return standing;
      unfinished += 1;
      const answer = await perform(step, () => run(standing));
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
