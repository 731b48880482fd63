import { setTimeout as pause } from 'node:timers/promises';
import { tenantOf } from './boot.ts';
import type { CreditsProcess } from './processes.ts';

export const tenant = tenantOf('org_faults');
export const holdAmount = 5;

/** One answer as `agents` knows it. */
export interface Answer {
  id: string;
  /** The charge; null if the answer fails and its hold is released. */
  cost: number | null;
  state: 'new' | 'refused' | 'held' | 'ended';
}

const retryMs = 20;

/** Deadlines are long past, so that every open hold is listed as overdue at once. */
const deadlineMs = Date.now() - 120_000;

export interface Caller {
  /** Any of the processes. A call that fails with one is repeated at another. */
  any(): CreditsProcess;
  /** True if answers are not continued: their open holds are left to the list of overdue ones. */
  stopped(): boolean;
}

/** Holds and ends an answer, unless the caller stops or the hold is refused. */
export async function pay(caller: Caller, answer: Answer, userId: string): Promise<void> {
  const hold = await retryUntilDecided(caller, async ({ agents }) => {
    const { results } = await agents.hold({ items: [{ tenant, holdId: answer.id, userId, amount: holdAmount, deadlineMs }] });
    return results[0];
  });
  if (hold === undefined) return;
  answer.state = hold.refusal ? 'refused' : 'held';
  if (answer.state === 'held' && !caller.stopped()) await end(caller, answer);
}

/** Settles an answer that has a charge, and releases the others. */
export async function end(caller: Caller, answer: Answer): Promise<void> {
  const { id: holdId, cost } = answer;
  const usage = {
    agentId: `agt_${holdId.length % 3}`,
    agentName: 'Sales',
    conversationId: 'conv_1',
    tier: 'Fast',
    inputTokens: 10,
    outputTokens: 5,
    querySummary: 'How much?',
  };
  const result = await retryUntilDecided(caller, async ({ agents }) => {
    if (cost === null) return (await agents.release({ items: [{ tenant, holdId }] })).results[0];
    return (await agents.settle({ items: [{ tenant, holdId, amount: cost, ...usage }] })).results[0];
  });
  if (result === undefined) return;
  if (result.refusal) throw new Error(`${holdId} could not be ended: ${result.refusal.code}`);
  answer.state = 'ended';
}

/** Repeats the call, with the same id and so without a second effect, until a process decides it. */
async function retryUntilDecided<T extends { refusal?: { code: string } | null }>(
  caller: Caller,
  call: (process: CreditsProcess) => Promise<T | undefined>,
): Promise<T | undefined> {
  while (!caller.stopped()) {
    const result = await call(caller.any()).catch(() => undefined);
    if (result !== undefined && result.refusal?.code !== 'unavailable') return result;
    await pause(retryMs);
  }
  return undefined;
}
