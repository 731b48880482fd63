import { setTimeout as pause } from 'node:timers/promises';
import { tenantOf } from './booted.ts';
import type { CreditsProcess } from './processes.ts';

export const tenant = tenantOf('org_faults');
export const holdAmount = 5;

/** What `agents` would know of one answer: how far it has come, as far as it was told. */
export interface Answer {
  id: string;
  /** What it will cost; null: it fails, and its hold is released. */
  cost: number | null;
  state: 'asked' | 'refused' | 'held' | 'ended';
}

const retryMs = 20;

/** Deadlines are long past, so that every open hold stands in its owner's list at once. */
const deadlineMs = Date.now() - 120_000;

export interface Caller {
  /** Any of the processes; a call that dies with one is made again at another. */
  any(): CreditsProcess;
  /** Answers are no longer taken further: what is open stays for the owner's list. */
  stopped(): boolean;
}

/** Takes an answer from its hold to its end, unless the caller stops or the ledger refuses. */
export async function pay(caller: Caller, answer: Answer, userId: string): Promise<void> {
  const held = await decided(caller, async ({ agents }) => {
    const { results } = await agents.hold({ items: [{ tenant, holdId: answer.id, userId, amount: holdAmount, deadlineMs }] });
    return results[0];
  });
  if (held === undefined) return;
  answer.state = held.refusal ? 'refused' : 'held';
  if (answer.state === 'held' && !caller.stopped()) await end(caller, answer);
}

/** Settles or releases, as the answer went. */
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
  const ended = await decided(caller, async ({ agents }) => {
    if (cost === null) return (await agents.release({ items: [{ tenant, holdId }] })).results[0];
    return (await agents.settle({ items: [{ tenant, holdId, amount: cost, ...usage }] })).results[0];
  });
  if (ended === undefined) return;
  if (ended.refusal) throw new Error(`${holdId} could not be ended: ${ended.refusal.code}`);
  answer.state = 'ended';
}

/** Asks until there is a decision: which process died, and whether it had decided, a repeat under the same id does not care. */
async function decided<T extends { refusal?: { code: string } | null }>(
  caller: Caller,
  ask: (process: CreditsProcess) => Promise<T | undefined>,
): Promise<T | undefined> {
  while (!caller.stopped()) {
    const result = await ask(caller.any()).catch(() => undefined);
    if (result !== undefined && result.refusal?.code !== 'unavailable') return result;
    await pause(retryMs);
  }
  return undefined;
}
