import { DataFailure, type ToolResult } from '@agent-service/business-data';
import { changedBefore, ServiceError } from '@agent-service/contracts';
import { changeOf, detailOf, keysOf } from './step-records.ts';
import type { RequestedChange, StepPermission, Steps } from './steps.ts';

/** The changes of business data that one attempt makes. Each is claimed before it runs, and reported after. */
export interface Changes {
  /**
   * Makes the change that the input of the tool describes. Throws when it is not known whether it was made. The answer then ends, because
   * the model could repeat the change.
   */
  make(input: unknown, run: (permission: StepPermission) => Promise<ToolResult>): Promise<ToolResult>;
  /** The failure, with a note about changes that were made before it. */
  failure(error: ServiceError): ServiceError;
}

export function createChanges(steps: Steps): Changes {
  let claimed = 0;
  let unfinished = 0;
  let changedSteps = 0;

  async function claim(step: number, change: RequestedChange): Promise<StepPermission | ToolResult> {
    try {
      return await steps.claimChange(step, change);
    } catch (cause) {
      const error = ServiceError.from(cause);
      if (error.code === 'invalid_request') return { text: error.message };
      throw cause;
    }
  }

  async function runClaimed(step: number, run: () => Promise<ToolResult>): Promise<ToolResult> {
    try {
      return await run();
    } catch (cause) {
      // It failed before its commit: the outcome of one that may have been made is a result with the failure `unknown`.
      if (cause instanceof DataFailure) await undo(step);
      throw cause;
    }
  }

  async function undo(step: number): Promise<void> {
    await steps.reportUnchanged(step);
    unfinished -= 1;
  }

  async function finish(step: number, { result, failure }: ToolResult): Promise<void> {
    if (failure?.kind === 'unknown') return failUnknown(step, failure);
    if (failure) return undo(step);
    changedSteps += 1;
    await steps.reportChanged(step, result?.rows.length ?? 0);
    unfinished -= 1;
  }

  /** Reports the unknown outcome and fails the answer, even if the report fails: agents notices claims that are never finished. */
  async function failUnknown(step: number, failure: DataFailure): Promise<never> {
    const [report] = await Promise.allSettled([steps.reportUnknown(step)]);
    const cause = report.status === 'fulfilled' ? failure : new AggregateError([failure, report.reason], failure.message);
    throw new ServiceError('change_unfinished', { cause });
  }

  return {
    async make(input, run) {
      claimed += 1;
      const step = claimed;
      const permission = await claim(step, {
        description: detailOf('change', input),
        change: { ...changeOf(input), keysJson: keysOf(input) },
      });
      if ('text' in permission) return permission;
      unfinished += 1;
      const toolResult = await runClaimed(step, () => run(permission));
      await finish(step, toolResult);
      return toolResult;
    },
    failure(error) {
      if (unfinished > 0 && error.code !== 'change_unfinished') return new ServiceError('change_unfinished', { cause: error });
      if (changedSteps === 0 || error.code === 'change_unfinished') return error;
      return new ServiceError(error.code, {
        message: `${error.message} ${changedBefore}`,
        cause: error.cause,
      });
    },
  };
}
