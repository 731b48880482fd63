import type { DataScope } from '@agent-service/business-data';
import { type Client, ServiceError } from '@agent-service/contracts';
import { persist } from '../answers/persist.ts';
import type { ChangeParts } from '../domain/step-detail.ts';
import type { Held } from '../hand/hand.ts';

/** What an attempt may do at this moment. */
export interface Standing {
  readonly scope: DataScope;
  /** 0 when no data source is connected. */
  readonly sourceVersion: number;
}

/** What `agents` says of the steps of one attempt. While it is away a step waits; a step of an attempt that is over ends all work. */
export interface Steps {
  mayRead(): Promise<Standing>;
  /** Claims the change, so that no other attempt makes it. */
  mayChange(step: number, asked: AskedChange): Promise<Standing>;
  changed(step: number, rows: number): Promise<void>;
  notChanged(step: number): Promise<void>;
  /** Nobody can say whether it was made. */
  maybeChanged(step: number): Promise<void>;
  /** How to reach the tenant's database; undefined where none is connected. */
  source(): Promise<
    { readonly url: string; readonly caCertificate: string; readonly version: number; readonly allowSuperuser: boolean } | undefined
  >;
}

/** A change as the audit log is told of it. */
export interface AskedChange {
  readonly description: string;
  /** Of the keys a JSON array, or empty. */
  readonly change: Partial<ChangeParts> & { readonly keysJson: string };
}

export interface StepsOptions {
  readonly agents: Client<'agents'>;
  readonly held: Held;
  readonly deadlineMs: number;
  readonly now: () => number;
  readonly onAgain: () => void;
}

export function createSteps({ agents, held, deadlineMs, now, onAgain }: StepsOptions): Steps {
  const { key: answer } = held;

  async function ask<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      return await persist(call, { now, endsAt: () => (held.signal.aborted ? 0 : deadlineMs), onAgain });
    } catch (cause) {
      if (ServiceError.from(cause).code === 'attempt_superseded') held.interrupt('lost');
      throw cause;
    }
  }

  async function authorize(asked: { step: number; kind: 'read' | 'change' } & Partial<AskedChange>): Promise<Standing> {
    const { dataScope, sourceVersion } = await ask(() => agents.authorizeStep({ answer, ...asked }));
    return { scope: { tables: dataScope?.tables ?? [], readOnly: dataScope?.readOnly ?? true }, sourceVersion };
  }

  async function finish(end: { step: number; rows?: number; undone?: boolean; unknown?: boolean }): Promise<void> {
    await ask(() => agents.finishStep({ answer, ...end }));
  }

  return {
    mayRead: () => authorize({ step: 0, kind: 'read' }),
    mayChange: (step, asked) => authorize({ step, kind: 'change', ...asked }),
    changed: (step, rows) => finish({ step, rows }),
    notChanged: (step) => finish({ step, undone: true }),
    maybeChanged: (step) => finish({ step, unknown: true }),
    async source() {
      try {
        return await ask(() => agents.getDataSource({ answer }));
      } catch (cause) {
        if (ServiceError.from(cause).code === 'not_found') return undefined;
        throw cause;
      }
    },
  };
}
