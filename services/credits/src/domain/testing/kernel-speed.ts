import { newLedger, newUser } from '../accounts.ts';
import { runBatch } from '../kernel.ts';
import type { Operation, Usage } from '../operations.ts';
import type { LedgerState } from '../state.ts';

// Hold and settle pairs a second of one hot user through the kernel alone, on one core: node kernel-speed.ts [batch size]

const BATCH = Number(process.argv[2] ?? 256);
const ROUNDS = 2_000;
const now = Date.UTC(2026, 0, 15);
const usage: Usage = {
  agentId: 'agt_01j9zq3k5v7r8s2t4w6x8y0z1a',
  agentName: 'Sales',
  conversationId: 'conv_01j9zq3k5v7r8s2t4w6x8y0z1b',
  tier: 'Fast',
  inputTokens: 812,
  outputTokens: 240,
  querySummary:
    'Which ten customers bought the most in the last quarter, and how did that change against the quarter before it, by region?',
};

function stateOf(users: LedgerState['users'], holds: LedgerState['holds'], ledger: LedgerState['ledger']): LedgerState {
  return { ledger, users, holds, remembered: new Map() };
}

/** The holds come in one batch and the settles in a later one, as they do in life. */
function round(ids: string[], state: LedgerState): LedgerState {
  const holds = runBatch(
    state,
    now,
    ids.map((id): Operation => ({ kind: 'hold', id, userId: 'usr_1', amount: 4, deadline: now + 300_000 })),
  );
  const open = new Map(holds.holds.map((hold) => [hold.id, hold]));
  const held = stateOf(new Map(holds.users.map((user) => [user.userId, user])), open, holds.ledger ?? state.ledger);
  const settles = runBatch(
    held,
    now,
    ids.map((id): Operation => ({ kind: 'settle', id, amount: 2, usage })),
  );
  if (settles.usage.length !== ids.length) throw new Error('a settle was refused');
  return stateOf(new Map(settles.users.map((user) => [user.userId, user])), new Map(), settles.ledger ?? held.ledger);
}

function start(): LedgerState {
  const user = { ...newUser('usr_1', 2_000_000_000, now), balance: 2_000_000_000 };
  const ledger = { ...newLedger(now), allocated: user.balance, issued: user.balance };
  return stateOf(new Map([[user.userId, user]]), new Map(), ledger);
}

function measure(): number {
  let state = start();
  const ids = Array.from({ length: BATCH }, (_, i) => `msg_01j9zq3k5v7r8s2t4w6x${String(i).padStart(6, '0')}`);
  const began = process.hrtime.bigint();
  for (let i = 0; i < ROUNDS; i++) state = round(ids, state);
  return (ROUNDS * BATCH * 1e9) / Number(process.hrtime.bigint() - began);
}

for (let run = 0; run < 5; run++) process.stdout.write(`${Math.round(measure()).toLocaleString('en')} pairs/s, batches of ${BATCH}\n`);
