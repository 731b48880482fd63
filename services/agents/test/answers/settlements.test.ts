import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { retrySettlements } from '../../src/answers/sweeps.ts';
import { type Composition, compose, environment, newMessage, organizationId, untilValue } from './support/compose.ts';

let rig: Composition;
beforeAll(async () => {
  rig = await compose();
});
afterAll(() => rig?.stop());

/** The id of an answer whose first attempt runs. */
async function begin(): Promise<string> {
  const message = newMessage(rig.clock.now);
  const { id } = message;
  await rig.answers.accept(message);
  await rig.answers.begin({ organizationId, environment, id, claim: id, workerChannel: 'worker:1' });
  return id;
}

const complete = (id: string) =>
  rig.answers.complete({
    organizationId,
    environment,
    id,
    attempt: 1,
    content: 'There are 3.',
    contentType: 'markdown',
    inputTokens: 10,
    outputTokens: 5,
    queries: [],
    record: null,
    refused: false,
  });

const waitUntilSettled = () =>
  untilValue(
    () => rig.deps.settlements.size,
    (size) => size === 0,
  );

/** The count and the sum of the metric. */
async function measured(): Promise<{ count: number; seconds: number }> {
  const text = await rig.deps.process.metrics.registry.getSingleMetricAsString('answer_settle_seconds');
  const numberOf = (name: string) => Number(new RegExp(`^answer_settle_seconds_${name}\\S* (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  return { count: numberOf('count'), seconds: numberOf('sum') };
}

test('the time until an answer is settled counts from its stored result, with the pauses between attempts', async () => {
  const before = await measured();
  const id = await begin();
  const { settle } = rig.ledger.client;
  rig.ledger.client.settle = async (request) => {
    rig.ledger.client.settle = settle;
    return { results: (request.items ?? []).map(() => ({ refusal: { code: 'unavailable' } })) } as Awaited<ReturnType<typeof settle>>;
  };
  await complete(id);
  await waitUntilSettled();
  const { count, seconds } = await measured();
  expect(count - before.count).toBe(1);
  // The pause after the first attempt.
  expect(seconds - before.seconds).toBeGreaterThanOrEqual(0.24);
});

test('the time is not measured for a result that a sweep took, nor for an answer that another process ended', async () => {
  const [swept, ended] = [await begin(), await begin()];
  const { count } = await measured();
  await rig.sql(
    `update answers set state = 'settling', due = accepted_at - interval '1 minute', content = '3', content_type = 'text', input_tokens = 1,
       output_tokens = 1 where id = $1`,
    [swept],
  );
  await retrySettlements(rig.deps);
  await waitUntilSettled();
  const { settle } = rig.ledger.client;
  rig.ledger.client.settle = async (request) => {
    rig.ledger.client.settle = settle;
    await rig.sql('delete from answers where id = $1', [ended]);
    return await settle(request);
  };
  await complete(ended);
  await waitUntilSettled();
  expect([swept, ended].map((id) => rig.ledger.holds.get(id)?.state)).toEqual(['settled', 'settled']);
  expect(await rig.sql('select 1 from answers where id = $1', [swept])).toEqual([]);
  expect((await measured()).count).toBe(count);
});

test('an end that could not be stored is refused as one that may be tried again, and the next is stored', async () => {
  const id = await begin();
  const failed = { organizationId, environment, id, attempt: 1, failure: { code: 'provider_error', message: '' } } as const;
  // PostgreSQL stores no such character.
  const done = { queries: [{ statement: '\0', tables: [], rows: 0, durationMs: 1 }], record: null };
  expect(await rig.answers.fail([{ ...failed, done }])).toEqual([{ code: 'unavailable' }]);
  expect(await rig.answers.fail([failed])).toEqual([undefined]);
  expect(await rig.answers.fail([failed])).toEqual([undefined]);
});
