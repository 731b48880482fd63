import { setTimeout as pause } from 'node:timers/promises';
import { runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { processDue, releaseOverdueHolds, retryReleases, retrySettlements } from '../../src/answers/sweeps.ts';
import { addAgent, type Composition, compose, environment, newMessage, organizationId } from './support/compose.ts';
import { charge } from './support/ledger.ts';

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 12);

let rig: Composition;
beforeAll(async () => {
  rig = await compose({ limits: { inFlight: 4, waiting: 6 } });
});
afterAll(() => rig.stop());

/** One action of a caller, a worker or a sweep; the numbers choose among the answers and attempts that exist. */
const command = fc.record({
  kind: fc.constantFrom(
    'start',
    'start',
    'start',
    'leave',
    'begin',
    'begin',
    'begin',
    'complete',
    'complete',
    'complete',
    'repeat',
    'fail',
    'cancel',
    'handBack',
    'renew',
    'tick',
    'sweep',
    'mood',
    'delete',
  ),
  pick: fc.nat(1_000),
  /** How many of the commands around this one run at the same time. */
  together: fc.boolean(),
});
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

interface World {
  agents: string[];
  living: Set<string>;
  /** Accepted answers with the attempts that were given. */
  answers: { id: string; conversationId: string; agentId: string; attempts: number[]; question: ReturnType<typeof newMessage> }[];
  holdIds: string[];
}

const key = (id: string) => ({ organizationId, environment, id }) as const;
const at = <T>(list: readonly T[], pick: number): T | undefined => list[pick % Math.max(1, list.length)];

interface Scene {
  readonly world: World;
  readonly pick: number;
  readonly answer: World['answers'][number] | undefined;
  readonly attempt: number | undefined;
}

/** Actions on an existing answer, by an attempt that existed or never did. */
const onAnswers: Partial<Record<Command['kind'], (answer: World['answers'][number], attempt: number) => Promise<unknown>>> = {
  complete: ({ id }, attempt) =>
    rig.answers.complete({
      ...key(id),
      attempt,
      content: `by ${attempt}`,
      contentType: 'markdown',
      inputTokens: 1,
      outputTokens: 1,
      queries: [],
      record: null,
      refused: false,
    }),
  repeat: (answer) => rig.answers.accept(answer.question),
  fail: ({ id }, attempt) => rig.answers.fail([{ ...key(id), attempt, failure: { code: 'provider_error', message: '' } }]),
  cancel: ({ id, agentId }) => rig.cancel(key(id), { agentId, userId: 'usr_1' }),
  handBack: ({ id }, attempt) => rig.answers.leases.return([{ ...key(id), attempt }]),
  renew: ({ id }, attempt) => rig.answers.leases.renew([{ ...key(id), attempt }]),
};

const others: Partial<Record<Command['kind'], (scene: Scene) => Promise<unknown> | undefined>> = {
  start: ({ world, pick }) => start(world, pick),
  leave: ({ world, pick }) => startAndLeave(world, pick),
  begin: ({ answer, pick }) => begin(answer, pick),
  tick: async ({ pick }) => {
    rig.clock.now += pick * 20;
  },
  sweep: () => sweep(),
  mood: async ({ pick }) => {
    rig.ledger.mood = at(['well', 'well', 'away', 'lost'] as const, pick) ?? 'well';
  },
  delete: ({ world, pick }) => (pick % 10 === 0 ? deleteAgent(world, at(world.agents, pick) as string) : undefined),
};

/** Failures of peers are part of the game; those of ours are not. */
async function runCommand(world: World, { kind, pick }: Command): Promise<void> {
  const answer = at(world.answers, pick);
  const attempt = answer && at([...answer.attempts, 99], pick);
  if (answer && attempt) await onAnswers[kind]?.(answer, attempt);
  await others[kind]?.({ world, pick, answer, attempt });
}

async function start(world: World, pick: number): Promise<void> {
  const agentId = at(world.agents, pick) as string;
  const conversationId =
    pick % 3 === 0
      ? (at(
          world.answers.filter((answer) => answer.agentId === agentId),
          pick,
        )?.conversationId ?? '')
      : '';
  const message = newMessage(rig.clock.now, { agentId, conversationId });
  world.holdIds.push(message.id);
  const outcome = await rig.answers.accept(message);
  if (!('started' in outcome)) return;
  world.answers.push({ id: message.id, conversationId: outcome.started.conversationId, agentId, attempts: [], question: message });
}

/** The caller of a message leaves at any moment of its acceptance: its answer does not go on, whether it was accepted or not. */
async function startAndLeave(world: World, pick: number): Promise<void> {
  const message = newMessage(rig.clock.now, { agentId: at(world.agents, pick) as string });
  world.holdIds.push(message.id);
  const accepting = rig.answers.accept(message);
  await pause(pick % 12);
  const owner = { agentId: message.agentId, userId: 'usr_1' };
  await Promise.all([accepting, rig.cancel(key(message.id), { ...owner, preventAcceptance: true })]);
  expect(await rig.sql("select state from answers where id = $1 and state not in ('releasing')", [message.id])).toEqual([]);
}

async function begin(answer: World['answers'][number] | undefined, pick: number): Promise<void> {
  if (!answer) return;
  const outcome = await rig.answers.begin({
    ...key(answer.id),
    claim: `claim-${pick % 5}`,
    isolation: pick % 2 === 0 ? 'alone' : undefined,
    workerChannel: 'worker:1',
  });
  if ('input' in outcome) answer.attempts.push(outcome.input.attempt);
}

async function deleteAgent(world: World, agentId: string): Promise<void> {
  if (!world.living.delete(agentId)) return;
  const committed = await rig.store.transaction(async (transaction) => {
    await transaction.sql('delete from agents where id = $1', [agentId]);
    return rig.answers.failAnswersOfAgent(transaction, { organizationId, environment }, agentId);
  });
  committed();
}

async function sweep(): Promise<void> {
  await retryReleases(rig.deps);
  await retrySettlements(rig.deps);
  await processDue(rig.deps);
  await rig.deps.dispatcher.dispatchMissed();
}

/** Lets everything end that can: deadlines pass, and what is owed elsewhere is done. */
async function quiesce(): Promise<void> {
  rig.ledger.mood = 'well';
  for (let round = 0; round < 200; round += 1) {
    rig.clock.now += 60_000;
    await sweep();
    await releaseOverdueHolds(rig.deps)();
    const [left] = await rig.sql<{ answers: string }>('select count(*) as answers from answers');
    const open = [...rig.ledger.holds.values()].some(({ state }) => state === 'open');
    if (left?.answers === '0' && !open && round > 8) return;
    await pause(15);
  }
  throw new Error(`answers remain unfinished: ${JSON.stringify(await rig.sql('select id, state, due from answers'))}`);
}

async function checkLine(): Promise<void> {
  const [row] = await rig.sql(
    `select l.waiting, l.in_flight, count(a.id) filter (where a.state = 'waiting')::integer as "reallyWaiting",
       count(a.id) filter (where a.state in ('dispatched', 'running', 'settling'))::integer as "reallyInFlight"
     from answer_lines l left join answers a using (organization_id, environment) group by 1, 2`,
  );
  const { waiting, in_flight, reallyWaiting, reallyInFlight } = (row ?? {}) as Record<string, number>;
  expect([waiting, in_flight]).toEqual([reallyWaiting, reallyInFlight]);
}

interface MessageRow {
  id: string;
  conversation_id: string;
  status: string;
  credits: number;
}

async function checkEnds(world: World): Promise<void> {
  const ids = world.answers.map(({ id }) => id);
  const messages = await rig.sql<MessageRow>(
    "select id, conversation_id, status, credits from messages where role = 'assistant' and id = any($1)",
    [ids],
  );
  expect(messages.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  for (const { id, status, credits } of messages) {
    const announcements = rig.replies.filter(({ reply }) => reply.kind === 'ended' && reply.id === id);
    expect([id, announcements.map(({ reply }) => (reply.kind === 'ended' ? reply.message.status : ''))]).toEqual([id, [status]]);
    const hold = rig.ledger.holds.get(id);
    expect([id, hold?.state, hold?.ended, credits]).toEqual(status === 'completed' ? [id, 'settled', 1, charge] : [id, 'released', 1, 0]);
  }
  for (const id of world.holdIds.filter((id) => !ids.includes(id))) {
    // Its caller may have got `unavailable`: then it is either answered or not accepted at all.
    const [message] = await rig.sql<MessageRow>("select id, status from messages where role = 'assistant' and id = $1", [id]);
    const state = rig.ledger.holds.get(id)?.state;
    expect([id, state === 'settled']).toEqual([id, message?.status === 'completed']);
    expect(['settled', 'released', 'void', undefined]).toContain(state);
  }
}

async function checkConversations(): Promise<void> {
  const off = await rig.sql(
    `select c.id from conversations c left join messages m on m.conversation_id = c.id
     group by c.id, c.message_count, c.total_credits
     having c.message_count <> count(m.id) or c.total_credits <> sum(m.credits)`,
  );
  expect(off).toEqual([]);
  const counts = await rig.sql(
    `select agent_id from conversation_counts k where count <> (select count(*) from conversations c where c.agent_id = k.agent_id and c.user_id = k.user_id)`,
  );
  expect(counts).toEqual([]);
}

let worlds = 0;
async function newWorld(): Promise<World> {
  worlds += 1;
  const agents = [1, 2, 3].map((n) => `agt_${worlds}_${n}`);
  for (const id of agents) await addAgent(rig.sql, id);
  return { agents, living: new Set(agents), answers: [], holdIds: [] };
}

test('events in any order lead to one end, one charge or release, and exact counters', async () => {
  let ends = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 40, maxLength: 150 }), async (commands) => {
      const world = await newWorld();
      let running: Promise<void>[] = [];
      for (const each of commands) {
        running.push(runCommand(world, each));
        if (each.together) continue;
        await Promise.all(running);
        running = [];
        await checkLine();
      }
      await Promise.all(running);
      await quiesce();
      await checkLine();
      await checkEnds(world);
      await checkConversations();
      ends += world.answers.length;
    }),
    { seed: runSeed('interleavings'), numRuns, endOnFailure: true },
  );
  expect(ends).toBeGreaterThan(numRuns);
}, 120_000);
