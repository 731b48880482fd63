import type { Reply } from '@agent-service/queues';
import { anyCharacter } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createReplies } from './replies.ts';

function reading(channels: readonly string[] = ['replies:1']) {
  const sent: { channel: string; reply: Reply }[] = [];
  const replies = createReplies((channel, reply) => void sent.push({ channel, reply }));
  const texts = () => sent.flatMap(({ reply }) => (reply.kind === 'delta' ? [reply.text] : []));
  return { reader: replies.readerOf('msg_1', 3, channels), sent, texts };
}

const ticked = () => new Promise((resolve) => setTimeout(resolve, 40));

test('the first delta goes at once, what comes within the next moment goes as one', async () => {
  const { reader, sent, texts } = reading();
  reader.started();
  for (const text of ['One', ' two', ' three']) reader.delta(text);
  expect(sent.map(({ reply }) => reply)).toEqual([
    { kind: 'started', id: 'msg_1', attempt: 3 },
    { kind: 'delta', id: 'msg_1', attempt: 3, text: 'One' },
  ]);
  await ticked();
  reader.delta(' four');
  reader.end();
  expect(texts()).toEqual(['One', ' two three', ' four']);
  await ticked();
  expect(texts()).toHaveLength(3);
});

test('however a text is cut, its deltas together are the text, and none ends within a character', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter, minLength: 1 }), { minLength: 1 }), fc.nat(5), (texts, cut) => {
      const whole = texts.join('');
      const { reader, texts: sent } = reading();
      for (let at = 0; at < whole.length; at += cut + 1) reader.delta(whole.slice(at, at + cut + 1));
      reader.end();
      expect(sent().join('')).toBe(whole);
      expect(sent().every((text) => text.isWellFormed())).toBe(whole.isWellFormed());
    }),
  );
});

test('another try voids what was read, and what was held back is never sent', async () => {
  const { reader, sent } = reading();
  reader.started();
  reader.restart();
  reader.delta('wrong');
  reader.delta(' and held');
  reader.restart();
  reader.delta('right');
  reader.end();
  await ticked();
  expect(sent.map(({ reply }) => (reply.kind === 'delta' ? reply.text : reply.kind))).toEqual(['started', 'wrong', 'started', 'right']);
});

test('what belongs to another try says so: its beginning may get lost', () => {
  const { reader, sent } = reading();
  reader.started();
  reader.delta('wrong');
  reader.restart();
  reader.restart();
  reader.delta('wrong again');
  reader.restart();
  reader.tool({ name: 'query', detail: '', rows: 0, durationMs: 1, error: '' });
  reader.delta('right');
  expect(sent.map(({ reply }) => [reply.kind, reply.kind !== 'ended' && reply.restarts])).toEqual([
    ['started', undefined],
    ['delta', undefined],
    ['started', 1],
    ['delta', 1],
    ['started', 2],
    ['tool', 2],
    ['delta', 2],
  ]);
});

test('everybody who reads along gets the same, and dropping ends it', async () => {
  const { reader, sent } = reading(['a', 'b']);
  reader.delta('x');
  reader.delta('y');
  reader.drop();
  await ticked();
  expect(sent.map(({ channel }) => channel)).toEqual(['a', 'b']);
});
