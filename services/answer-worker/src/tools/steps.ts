import type { DataScope } from '@agent-service/business-data';
import { type Client, ServiceError } from '@agent-service/contracts';
import { retryCall } from '../answers-api.ts';
import type { InFlightAnswer } from '../in-flight-answers.ts';
import type { ChangeParts } from './step-records.ts';

/** The current permission of an attempt. */
export interface StepPermission {
  readonly scope: DataScope;
  /** 0 when no data source is connected. */
  readonly sourceVersion: number;
}

/** The calls to agents about the steps of one attempt. A step waits while agents is unavailable; a superseded attempt ends its work. */
export interface Steps {
  authorizeRead(): Promise<StepPermission>;
  /** Claims the change, so that no other attempt makes it. */
  claimChange(step: number, change: RequestedChange): Promise<StepPermission>;
  reportChanged(step: number, rows: number): Promise<void>;
  reportUnchanged(step: number): Promise<void>;
  /** Reports that it is not known whether the change was made. */
  reportUnknown(step: number): Promise<void>;
  /** Loads how the tenant's database is reached; undefined where none is connected. */
  loadSource(): Promise<SourceSettings | undefined>;
}

/** How the tenant's database is reached. */
export interface SourceSettings {
  readonly url: string;
  readonly caCertificate: string;
  readonly version: number;
  readonly allowSuperuser: boolean;
  /** Connected in the portal; undefined from an `agents` of the release before, which does not know it. */
  readonly guarded?: boolean | undefined;
}

/** A change as the audit log records it. */
export interface RequestedChange {
  readonly description: string;
  /** `keysJson` is a JSON array or empty. */
  readonly change: ChangeParts & { readonly keysJson: string };
}

interface StepsOptions {
  readonly agents: Client<'agents'>;
  readonly inFlight: InFlightAnswer;
  readonly deadlineMs: number;
  readonly now: () => number;
  readonly onRetry: () => void;
}

export function createSteps({ agents, inFlight, deadlineMs, now, onRetry }: StepsOptions): Steps {
  const { key } = inFlight;

  async function callAgents<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      return await retryCall(call, { now, endsAt: () => (inFlight.signal.aborted ? 0 : deadlineMs), onRetry });
    } catch (cause) {
      if (ServiceError.from(cause).code === 'attempt_superseded') inFlight.interrupt('lost');
      throw cause;
    }
  }

  async function authorize(step: { step: number; kind: 'read' | 'change' } & Partial<RequestedChange>): Promise<StepPermission> {
    const { dataScope, sourceVersion } = await callAgents(() => agents.authorizeStep({ answer: key, ...step }));
    return { scope: { tables: dataScope?.tables ?? [], readOnly: dataScope?.readOnly ?? true }, sourceVersion };
  }

  async function finish(end: { step: number; rows?: number; undone?: boolean; unknown?: boolean }): Promise<void> {
    await callAgents(() => agents.finishStep({ answer: key, ...end }));
  }

  return {
    authorizeRead: () => authorize({ step: 0, kind: 'read' }),
    claimChange: (step, change) => authorize({ step, kind: 'change', ...change }),
    reportChanged: (step, rows) => finish({ step, rows }),
    reportUnchanged: (step) => finish({ step, undone: true }),
    reportUnknown: (step) => finish({ step, unknown: true }),
    async loadSource() {
      try {
        return await callAgents(() => agents.getDataSource({ answer: key }));
      } catch (cause) {
        if (ServiceError.from(cause).code === 'not_found') return undefined;
        throw cause;
      }
    },
  };
}
