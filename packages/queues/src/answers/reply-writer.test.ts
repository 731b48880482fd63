import { setTimeout as pause } from 'node:timers/promises';
import { anyCharacter } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Reply } from './replies.ts';
import { createReplyWriters } from './reply-writer.ts';

function startWriter(channels: readonly string[] = ['replies:1']) {
  const sent: { channel: string; reply: Reply }[] = [];
  const writers = createReplyWriters((channel, reply) => void sent.push({ channel, reply }));
  const texts = () => sent.flatMap(({ reply }) => (reply.kind === 'delta' ? [reply.text] : []));
  return { writer: writers.writerTo('msg_1', 3, channels), sent, texts };
}

const ticked = () => pause(40);
const step = { name: 'query', detail: '', rows: 0, durationMs: 1, error: '' };

test('the first delta is sent at once, and those of the next 20 ms are sent as one', async () => {
  const { writer, sent, texts } = startWriter();
  writer.started();
  for (const text of ['One', ' two', ' three']) writer.delta(text);
  expect(sent.map(({ reply }) => reply)).toEqual([
    { kind: 'started', id: 'msg_1', attempt: 3 },
    { kind: 'delta', id: 'msg_1', attempt: 3, text: 'One' },
  ]);
  await ticked();
  writer.delta(' four');
  writer.end();
  expect(texts()).toEqual(['One', ' two three', ' four']);
  await ticked();
  expect(texts()).toHaveLength(3);
});

test('the deltas of a text, however it is cut, make the text, and none ends within a character', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter, minLength: 1 }), { minLength: 1 }), fc.nat(5), (texts, cut) => {
      const whole = texts.join('');
      const { writer, texts: sent } = startWriter();
      for (let at = 0; at < whole.length; at += cut + 1) writer.delta(whole.slice(at, at + cut + 1));
      writer.end();
      expect(sent().join('')).toBe(whole);
      expect(sent().every((text) => text.isWellFormed())).toBe(whole.isWellFormed());
    }),
  );
});

test('a tool step is sent at once, after the text before it', () => {
  const { writer, sent } = startWriter();
  for (const text of ['One', ' two']) writer.delta(text);
  writer.tool(step);
  expect(sent.map(({ reply }) => (reply.kind === 'delta' ? reply.text : reply.kind))).toEqual(['One', ' two', 'tool']);
});

test('a restart voids the text before it, and text that was held back is never sent', async () => {
  const { writer, sent } = startWriter();
  writer.started();
  writer.restart();
  writer.delta('wrong');
  writer.delta(' and held');
  writer.restart();
  writer.delta('right');
  writer.end();
  await ticked();
  expect(sent.map(({ reply }) => (reply.kind === 'delta' ? reply.text : reply.kind))).toEqual(['started', 'wrong', 'started', 'right']);
});

test('replies after a restart carry its number, because their `started` may be lost', () => {
  const { writer, sent } = startWriter();
  writer.started();
  writer.delta('wrong');
  writer.restart();
  writer.restart();
  writer.delta('wrong again');
  writer.restart();
  writer.tool(step);
  writer.delta('right');
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

test('all channels get the same replies, and nothing is sent after a drop', async () => {
  const { writer, sent } = startWriter(['a', 'b']);
  writer.delta('x');
  writer.delta('y');
  writer.drop();
  await ticked();
  expect(sent.map(({ channel }) => channel)).toEqual(['a', 'b']);
});
