import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readEvents, type ServerSentEvent, verifyWebhook } from '../src/index.ts';
import { RateLimits } from '../src/rate-limits.ts';

const streamOf = (chunks: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
const read = async (...chunks: Uint8Array[]): Promise<ServerSentEvent[]> => await Array.fromAsync(readEvents(streamOf(chunks)));
const bytes = (text: string) => new TextEncoder().encode(text);

test('events are read as the HTML standard says', async () => {
  const text =
    '\u{feff}: comment\r\n\r\nevent: a\rdata: 1\rdata:2\r\rid: 7\ndata\n\ndata:  spaced\nretry: 5\nunknown: x\n\nid: bad\0\nevent: b\ndata: ü🦊\n\nevent: cut\ndata: never';
  const expected = [
    { event: 'a', data: '1\n2', id: '' },
    { event: 'message', data: '', id: '7' },
    { event: 'message', data: ' spaced', id: '7' },
    { event: 'b', data: 'ü🦊', id: '7' },
  ];
  expect(await read(bytes(text))).toEqual(expected);
  const whole = bytes(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(whole.length), { maxLength: 12 }), async (cuts) => {
      const ends = [0, ...cuts.sort((a, b) => a - b), whole.length];
      const chunks = ends.slice(1).map((end, index) => whole.slice(ends[index], end));
      expect(await read(...chunks)).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

test('an endless line ends the stream with an error', async () => {
  const chunk = new Uint8Array(1_000_000).fill(97);
  await expect(read(...Array.from({ length: 18 }, () => chunk))).rejects.toThrow('too long');
});

test('a request waits where its limit is used up, at any time of day', () => {
  let now = 0;
  const limits = new RateLimits(() => now);
  expect(limits.take('get /v1/agents')).toBe(0);
  limits.learn('get /v1/agents', '"reads";r=1;t=30, "organization-reads";r=900;t=30');
  expect([limits.take('get /v1/agents'), limits.take('get /v1/agents')]).toEqual([0, 30_000]);
  expect(limits.take('post /v1/agents')).toBe(0);
  // An answer that was under way at that time does not give the window more.
  limits.learn('get /v1/agents', '"reads";r=1;t=30');
  expect(limits.take('get /v1/agents')).toBe(30_000);
  // Neither does one that waited until its own window had ended.
  limits.learn('get /v1/agents', '"reads";r=600;t=0');
  expect(limits.take('get /v1/agents')).toBe(30_000);
  now = 30_000;
  expect(limits.take('get /v1/agents')).toBe(0);
  limits.learn('get /v1/agents', 'nonsense, "x"; "y";r=;t=1');
  expect(limits.take('get /v1/agents')).toBe(0);
});

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes ....').toString('base64')}`;
const sentAt = 1_767_225_600;
const body = JSON.stringify({
  id: 'evt_1',
  type: 'agent.created',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { organization_id: 'org_1' },
});

function delivery({ key = Buffer.from(secret.slice(6), 'base64') as string | Buffer, text = body, at = sentAt } = {}) {
  const signature = createHmac('sha256', key).update(`evt_1.${at}.${text}`).digest('base64');
  return { body: text, headers: { 'webhook-id': 'evt_1', 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` } };
}

const now = () => (sentAt + 10) * 1_000;

test('a genuine delivery gives its event, with any of several secrets and signatures', async () => {
  expect((await verifyWebhook(delivery(), { secrets: secret, now })).type).toBe('agent.created');
  expect((await verifyWebhook(delivery(), { secrets: ['whsec_b3RoZXI=', secret], now })).id).toBe('evt_1');
  const { headers, ...rest } = delivery();
  const both = {
    'Webhook-Id': 'evt_1',
    'Webhook-Timestamp': `${sentAt}`,
    'Webhook-Signature': `v1,AAAA v2,x ${headers['webhook-signature']}`,
  };
  expect((await verifyWebhook({ ...rest, headers: both }, { secrets: secret, now })).id).toBe('evt_1');
  const own = 'my own secret words';
  expect((await verifyWebhook({ ...delivery({ key: own }), body: bytes(body) }, { secrets: own, now })).id).toBe('evt_1');
  expect((await verifyWebhook({ ...delivery(), headers: new Headers(headers) }, { secrets: secret, now })).id).toBe('evt_1');
  const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  expect((await verifyWebhook({ ...rest, headers: lists }, { secrets: secret, now })).id).toBe('evt_1');
});

test.each([
  ['a changed body', { ...delivery(), body: body.replace('org_1', 'org_2') }, 'wrong_signature'],
  ['another secret', delivery({ key: 'other' }), 'wrong_signature'],
  ['an old delivery', delivery({ at: sentAt - 400 }), 'old_timestamp'],
  ['a delivery of the future', delivery({ at: sentAt + 400 }), 'old_timestamp'],
  ['no headers', { body, headers: {} }, 'missing_headers'],
  ['an id that came twice', { body, headers: { ...delivery().headers, 'webhook-id': ['evt_1', 'evt_2'] } }, 'missing_headers'],
  ['a body that is not JSON', delivery({ text: '{' }), 'invalid_body'],
])('%s is refused', async (_name, request, reason) => {
  await expect(verifyWebhook(request, { secrets: secret, now })).rejects.toMatchObject({ name: 'WebhookVerificationError', reason });
});

test.each([{ secrets: '' }, { secrets: [] }, { secrets: [secret, ''] }])(
  'a receiver without a secret takes nothing: %j',
  async (options) => {
    await expect(verifyWebhook(delivery(), { ...options, now })).rejects.toThrow('needs a secret');
  },
);
