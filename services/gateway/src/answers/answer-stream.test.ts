import { createHash } from 'node:crypto';
import { createServer, get, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { until } from '@agent-service/testkit';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { answerMessage } from '../../test/support/agents-peer.ts';
import { AnswerStream } from './answer-stream.ts';

const accepted = { messageId: 'msg_1', conversationId: 'conv_1' };
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A response to a real reader, who does not read yet. */
async function connected(): Promise<{ response: ServerResponse; reader: IncomingMessage }> {
  const arrived = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => arrived.resolve(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const answered = Promise.withResolvers<IncomingMessage>();
  const request = get({ port: (server.address() as AddressInfo).port, agent: false }, answered.resolve);
  request.on('error', () => undefined);
  const response = await arrived.promise;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  closing.push(() => {
    request.destroy();
    server.close();
  });
  return { response, reader: await answered.promise };
}

async function textOf(reader: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of reader.setEncoding('utf8')) text += chunk;
  return text;
}

const usage = { model: 'm-1', inputTokens: 5, outputTokens: 2, latencyMs: 30 };
const readRecord = async () => ({ usage, resultJson: '{"columns":[],"rows":[],"row_count":0,"truncated":false,"chart":null}', steps: [] });
const usual = { requestId: 'r', now: Date.now, readRecord, bufferedBytes: new BufferedBytes(), organizationId: 'org_1' };

const ended = { kind: 'ended' as const, id: 'msg_1', message: answerMessage('msg_1') };
const delta = (text: string, attempt = 1) => ({ kind: 'delta' as const, id: 'msg_1', attempt, text });
const endedWith = (content: string) => ({ ...ended, message: answerMessage('msg_1', { content }) });
const startedReply = (attempt: number) => ({ kind: 'started' as const, id: 'msg_1', attempt });

describe('an answer’s stream', () => {
  test('keeps what comes before its head is out', async () => {
    const stream = new AnswerStream(usual);
    for (const reply of [startedReply(1), delta('a'), endedWith('ab')]) stream.take(reply);
    const { response, reader } = await connected();
    const [text, end] = await Promise.all([textOf(reader), stream.writeTo(response, accepted)]);
    expect(text.match(/^event: .*/gm)).toEqual(['event: started', 'event: delta', 'event: completed']);
    expect(end).toEqual({ bytes: Buffer.byteLength(text), error: undefined, cut: false });
    // The notice of the end has neither; the record of the message does.
    expect(JSON.parse(/^event: completed\ndata: (.*)$/m.exec(text)?.[1] ?? '')).toMatchObject({
      content: 'ab',
      usage: { model: 'm-1', input_tokens: 5, output_tokens: 2, latency_ms: 30 },
      result: { row_count: 0 },
    });
  });

  test('goes on for a reader who has read it so far, while others of the organization read slowly', async () => {
    const bufferedBytes = new BufferedBytes(1_000);
    const stream = new AnswerStream({ ...usual, bufferedBytes });
    const { response, reader } = await connected();
    const [text, written] = [textOf(reader), stream.writeTo(response, accepted)];
    const release = bufferedBytes.add('org_1', 1_000);
    for (const reply of [startedReply(1), delta('a')]) {
      await until(() => response.writableLength === 0);
      stream.take(reply);
    }
    release();
    stream.take(endedWith('ab'));
    await written;
    expect((await text).match(/^event: .*/gm)).toEqual(['event: started', 'event: delta', 'event: completed']);
  });

  test('is kept open by a comment after every 15 seconds without an event', async () => {
    const clock = { now: 0 };
    const stream = new AnswerStream({ ...usual, now: () => clock.now });
    const { response, reader } = await connected();
    const written = stream.writeTo(response, accepted);
    const at = (second: number) => {
      clock.now = second * 1_000;
      stream.tick(clock.now);
    };
    at(14);
    at(15);
    at(29);
    stream.take(startedReply(1));
    at(30);
    at(43);
    at(44);
    at(59);
    stream.take(ended);
    at(300);
    const [text] = await Promise.all([textOf(reader), written]);
    expect(text.split('\n\n').filter((block) => block.startsWith(':'))).toHaveLength(1 + 3);
  });

  test('names in the id of each event the text that its reader has', async () => {
    const stream = new AnswerStream({ ...usual, hasIds: true });
    const { response, reader } = await connected();
    const written = stream.writeTo(response, accepted);
    const replies = [startedReply(1), delta('A '), delta('first'), startedReply(2), delta('Second 😀'.slice(0, 8), 2), delta('\ude00', 2)];
    for (const reply of [...replies, endedWith('Second 😀, whole')]) stream.take(reply);
    const [text] = await Promise.all([textOf(reader), written]);
    const idOf = (attempt: number, content: string) =>
      `${attempt}-${content.length}-${createHash('sha256').update(content, 'utf16le').digest('hex').slice(0, 8)}`;
    const texts: [number, string][] = [
      [1, ''],
      [1, 'A '],
      [1, 'A first'],
      [2, ''],
      [2, 'Second 😀'.slice(0, 8)],
      [2, 'Second 😀'],
      [2, 'Second 😀, whole'],
    ];
    expect(text.match(/(?<=^id: ).*/gm)).toEqual(texts.map(([attempt, content]) => idOf(attempt, content)));
  });

  test('drops deltas of a reader that does not read, and nothing else', async () => {
    const stream = new AnswerStream({ ...usual, maxUnreadBytes: 64 * 1024 });
    const { response, reader } = await connected();
    const written = stream.writeTo(response, accepted);
    stream.take(startedReply(1));
    const piece = 'x'.repeat(16 * 1024);
    let most = 0;
    // The kernel's buffer fills first; the loop must be able to empty Node's own buffer.
    for (let round = 0; round < 2_000; round += 1) {
      stream.take(delta(`${round}:${piece}`));
      most = Math.max(most, response.writableLength);
      if (round % 10 === 0) await new Promise(setImmediate);
    }
    expect(most).toBeLessThan(64 * 1024 + 4 * piece.length);
    stream.take(startedReply(2));
    stream.take(ended);
    const [text, end] = await Promise.all([textOf(reader), written]);
    const rounds = [...text.matchAll(/"text":"(\d+):/g)].map(([, round]) => Number(round));
    // The received text is a prefix of the answer, without gaps.
    expect(rounds.length).toBeLessThan(2_000);
    expect(rounds).toEqual(rounds.map((_, index) => index));
    expect(text.match(/^event: (?!delta).*/gm)).toEqual(['event: started', 'event: started', 'event: completed']);
    expect(end.cut).toBe(false);
  });

  test('reports that the same attempt begins again', async () => {
    const stream = new AnswerStream(usual);
    for (const reply of [startedReply(1), delta('Half an'), startedReply(1), delta('A whole'), endedWith('A whole one')])
      stream.take(reply);
    const { response, reader } = await connected();
    const [text] = await Promise.all([textOf(reader), stream.writeTo(response, accepted)]);
    expect(text.match(/^event: .*|"text":"[^"]*"/gm)).toEqual([
      'event: started',
      'event: delta',
      '"text":"Half an"',
      'event: started',
      'event: delta',
      '"text":"A whole"',
      'event: completed',
    ]);
  });

  test('discards before its end a text that is not a prefix of the answer', async () => {
    const stream = new AnswerStream(usual);
    for (const reply of [startedReply(1), delta('Half an'), endedWith('A whole one')]) stream.take(reply);
    const { response, reader } = await connected();
    const [text] = await Promise.all([textOf(reader), stream.writeTo(response, accepted)]);
    expect(text.match(/^event: .*/gm)).toEqual(['event: started', 'event: delta', 'event: started', 'event: completed']);
  });

  test('that ends before its answer does not say that this has failed', async () => {
    const stream = new AnswerStream(usual);
    stream.take(startedReply(1));
    stream.end('expired');
    const { response, reader } = await connected();
    const [text] = await Promise.all([textOf(reader), stream.writeTo(response, accepted)]);
    expect(text).toMatch(/event: detached\ndata: \{"message_id":"msg_1","conversation_id":"conv_1","status":"running"\}\n\n$/);
    expect(text).not.toContain('failed');
  });

  test('whose end cannot be written ends as an internal error', async () => {
    const stream = new AnswerStream(usual);
    const { response, reader } = await connected();
    const written = stream.writeTo(response, accepted);
    stream.take({ ...ended, message: {} as typeof ended.message });
    const [text, end] = await Promise.all([textOf(reader), written]);
    expect(text).toMatch(/^event: failed\ndata: .*"code":"internal"/m);
    expect(end.error?.code).toBe('internal');
  });

  test('that is deleted ends with that failure', async () => {
    const stream = new AnswerStream(usual);
    stream.end('deleted');
    const { response, reader } = await connected();
    const [text, end] = await Promise.all([textOf(reader), stream.writeTo(response, accepted)]);
    expect(text).toMatch(/event: failed\ndata: .*"code":"agent_deleted"/);
    expect(end.error).toMatchObject({ code: 'agent_deleted' });
  });

  test('ends when its reader goes, and says so', async () => {
    const stream = new AnswerStream(usual);
    let closed = 0;
    stream.onClose(() => {
      closed += 1;
    });
    const { response, reader } = await connected();
    const written = stream.writeTo(response, accepted);
    reader.destroy();
    expect((await written).cut).toBe(true);
    for (const reply of [startedReply(1), delta('a'), ended]) stream.take(reply);
    stream.end('expired');
    stream.tick(Number.MAX_SAFE_INTEGER);
    expect(closed).toBe(1);
  });

  test('ends at once if its reader has left', async () => {
    const { response, reader } = await connected();
    reader.destroy();
    await until(() => response.destroyed);
    const stream = new AnswerStream(usual);
    stream.take(ended);
    expect((await stream.writeTo(response, accepted)).cut).toBe(true);
  });
});

describe('streams of one organization whose readers do not read', () => {
  const content = 'x'.repeat(800_000);

  /** A stream to a reader who reads nothing before `read` is called. */
  function unread(options: Partial<ConstructorParameters<typeof AnswerStream>[0]>) {
    const reads = Promise.withResolvers<void>();
    const chunks: Buffer[] = [];
    const socket = new Duplex({
      read: () => undefined,
      write: (chunk, _encoding, done) => {
        chunks.push(chunk);
        void reads.promise.then(() => done());
      },
    }) as Socket;
    const response = new ServerResponse(new IncomingMessage(socket));
    response.assignSocket(socket);
    const stream = new AnswerStream({ ...usual, ...options });
    return {
      stream,
      response,
      written: stream.writeTo(response, accepted),
      text: () => Buffer.concat(chunks).toString(),
      read: reads.resolve,
    };
  }

  const unreadBytes = (streams: readonly { response: ServerResponse }[]) =>
    streams.reduce((sum, { response }) => sum + response.writableLength, 0);
  const rounds = async () => {
    for (let round = 0; round < 50; round += 1) await new Promise(setImmediate);
  };

  test('buffer no more bytes than their organization may: other ends wait until some were read', async () => {
    const bufferedBytes = new BufferedBytes(1_000_000);
    const streams = Array.from({ length: 5 }, () => unread({ bufferedBytes }));
    for (const { stream } of streams) stream.take(endedWith(content));
    await until(() => unreadBytes(streams) > 1_000_000);
    await rounds();
    expect(unreadBytes(streams)).toBeLessThan(2_000_000);
    expect([bufferedBytes.isFull('org_1'), bufferedBytes.isFull('org_2')]).toEqual([true, false]);
    for (const { read } of streams) read();
    for (const { text, written } of streams) {
      expect((await written).cut).toBe(false);
      expect(text()).toContain(content);
    }
    expect(bufferedBytes.isFull('org_1')).toBe(false);
  });

  test('are cut where the end is not read within half a minute', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const { stream, response, written } = unread({});
    stream.take(ended);
    await until(() => response.writableEnded);
    const [cut] = timers.mock.calls.find(([, delayMs]) => delayMs === 30_000) ?? [];
    timers.mockRestore();
    cut?.();
    expect((await written).cut).toBe(true);
  });

  test('get no deltas while the bytes of the organization are at their limit, and are cut if that lasts', async () => {
    const bufferedBytes = new BufferedBytes(1_000);
    const { stream, response, written, read, text } = unread({ bufferedBytes, memoryWaitMs: 1 });
    const release = bufferedBytes.add('org_1', 1_000);
    stream.take(startedReply(1));
    const before = response.writableLength;
    const step = { name: 'query', detail: '', rows: 1, durationMs: 1, error: '' };
    for (const reply of [delta('first'), { kind: 'tool' as const, id: 'msg_1', attempt: 1, step }, delta('second')]) stream.take(reply);
    expect(response.writableLength).toBe(before);
    stream.take(ended);
    expect((await written).cut).toBe(true);
    read();
    expect(text()).not.toMatch(/event: (delta|completed)/);
    release();
    expect(bufferedBytes.isFull('org_1')).toBe(false);
  });
});
