import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { Channel, credentials, Client as GrpcClient, Metadata, Server, ServerCredentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CallStream } from './client.ts';
import { callStreamPath, decodeFrames, encodeFrame } from './frames.ts';
import { type IncomingCall, type Reply, serveCallStreams } from './server.ts';

interface Served {
  readonly call: IncomingCall<string>;
  readonly reply: Reply<object>;
}

const asIs = (bytes: Buffer): Buffer => bytes;
const path = '/test/Echo';

let server: Server;
let port: number;
let channel: Channel;
let callStream: CallStream;
let streams: ReturnType<typeof serveCallStreams>;
let served: Served[];
/** Called with each call that arrives. */
let onServed: (served: Served) => void;

const toBytes = (value: object): Buffer => Buffer.from(JSON.stringify(value));

async function bind(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound)));
  port = await promise;
  channel = new Channel(`127.0.0.1:${port}`, credentials.createInsecure(), {});
  callStream = new CallStream(channel);
}

beforeEach(async () => {
  served = [];
  onServed = ({ call, reply }) => reply(null, { text: call.request });
  server = new Server();
  const method = {
    deserialize: (bytes: Buffer) => JSON.parse(bytes.toString()) as unknown,
    serialize: toBytes,
    handle(call: IncomingCall<unknown>, reply: Reply<object>) {
      const one = { call: call as IncomingCall<string>, reply };
      served.push(one);
      onServed(one);
    },
  };
  streams = serveCallStreams(server, new Map([[path, method]]));
  await bind();
});

afterEach(() => {
  callStream.close();
  channel.close();
  server.forceShutdown();
});

interface Sent {
  readonly outcome: Promise<{ response: object | undefined; trailer: Metadata | undefined }>;
  cancel(): void;
}

function send(text: string, { limitMs = 5_000, metadata = new Metadata(), to = path } = {}): Sent {
  const { promise: outcome, resolve, reject } = Promise.withResolvers<{ response: object | undefined; trailer: Metadata | undefined }>();
  const call = {
    method: { path: to, responseDeserialize: (bytes: Buffer) => JSON.parse(bytes.toString()) as object },
    body: Buffer.from(JSON.stringify(text)),
    metadata,
    expiresAt: performance.now() + limitMs,
  };
  const sent = callStream.send(call, (error, response, trailer) => (error ? reject(error) : resolve({ response, trailer })));
  return { outcome, cancel: sent.cancel };
}

const codeOf = (sent: Sent): Promise<number> =>
  sent.outcome.then(
    () => status.OK,
    (error: ServiceError) => error.code,
  );

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn();
}

test('calls share one stream, and each gets its own answer, in any order of the answers', async () => {
  onServed = () => undefined;
  const calls = ['a', 'b', 'c'].map((text) => send(text));
  await until(() => served.length === 3);
  for (const { call, reply } of served.toReversed()) reply(null, { text: call.request });
  const outcomes = await Promise.all(calls.map(({ outcome }) => outcome));
  expect(outcomes.map(({ response }) => response)).toEqual([{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
});

test('metadata travels both ways, bytes as bytes, and so do errors with theirs', async () => {
  const metadata = new Metadata();
  metadata.set('x-name', 'Grüße'.normalize('NFKD').replaceAll(/[^a-zA-Z]/g, ''));
  metadata.set('x-key-bin', Buffer.from([0, 255, 10]));
  onServed = ({ call, reply }) => {
    if (call.request === 'refused') reply({ code: status.NOT_FOUND, details: 'none', metadata: call.metadata });
    else reply(null, {}, call.metadata);
  };
  const { trailer } = await send('x', { metadata }).outcome;
  expect(trailer?.getMap()).toEqual(metadata.getMap());
  await expect(send('refused', { metadata }).outcome).rejects.toMatchObject({ code: status.NOT_FOUND, details: 'none', metadata });
});

test('a call that its caller no longer waits for is cancelled where it runs, and the others go on', async () => {
  onServed = () => undefined;
  const [cancelled, other] = [send('cancelled'), send('other')];
  await until(() => served.length === 2);
  const end = new Promise<void>((resolve) => served[0]?.call.on('cancelled', resolve));
  cancelled.cancel();
  expect(await codeOf(cancelled)).toBe(status.CANCELLED);
  await end;
  expect(await codeOf(send('late', { limitMs: 1 }))).toBe(status.DEADLINE_EXCEEDED);
  for (const { reply } of served) reply(null, {});
  expect(await codeOf(other)).toBe(status.OK);
});

test('a call that was given up before it was read does not begin', async () => {
  const raw = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const stream = raw.makeBidiStreamRequest(callStreamPath, asIs, asIs, new Metadata());
  const callOf = (id: number) => encodeFrame({ id, path, timeLeftMs: 1_000 }, Buffer.from(`"${id}"`));
  stream.write(Buffer.concat([callOf(1), callOf(2), encodeFrame({ id: 1 })]));
  const [message] = (await once(stream, 'data')) as [Buffer];
  expect(decodeFrames(message).map(({ header }) => header.id)).toEqual([2]);
  expect(served.map(({ call }) => call.request)).toEqual(['2']);
  stream.end();
  stream.resume();
  await once(stream, 'end');
  raw.close();
});

test('a lost stream fails its calls as unavailable and cancels them where they run', async () => {
  onServed = () => undefined;
  const lost = send('lost');
  await until(() => served.length === 1);
  const isCancelled = new Promise<void>((resolve) => served[0]?.call.on('cancelled', resolve));
  channel.close();
  server.forceShutdown();
  expect(await codeOf(lost)).toBe(status.UNAVAILABLE);
  await isCancelled;
  served[0]?.reply(null, {});
});

test('a response larger than the client reads loses the stream, and the next call opens another', async () => {
  onServed = ({ call, reply }) => reply(null, { text: 'x'.repeat(call.request === 'large' ? 5_000_000 : 1) });
  expect(await codeOf(send('large'))).toBe(status.UNAVAILABLE);
  expect(await codeOf(send('small'))).toBe(status.OK);
});

test('responses of one turn that are too large for one message all arrive', async () => {
  onServed = () => undefined;
  const calls = Array.from({ length: 8 }, (_, n) => send(`${n}`));
  await until(() => served.length === 8);
  for (const { reply } of served) reply(null, { text: 'x'.repeat(1_000_000) });
  expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => status.OK));
});

test('an answered call leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  await send('first').outcome;
  const before = timers();
  await Promise.all(Array.from({ length: 100 }, (_, n) => send(`${n}`).outcome));
  expect(timers()).toBeLessThan(before + 100);
});

test('a stream that opens while the server closes ends after its calls', async () => {
  streams.close();
  expect(await codeOf(send('x'))).toBe(status.OK);
  const closed = Promise.withResolvers<void>();
  server.tryShutdown(() => closed.resolve());
  await closed.promise;
});

test('nothing is written to a stream that was cancelled and closed', () => {
  let open: (stream: PassThrough) => void = () => undefined;
  const addService = (_: unknown, { Open }: { Open: typeof open }) => {
    open = Open;
  };
  const replies: Reply<object>[] = [];
  const method = { deserialize: asIs, serialize: toBytes, handle: (_: unknown, reply: Reply<object>) => replies.push(reply) };
  const opened = serveCallStreams({ addService } as unknown as Server, new Map([[path, method]]));
  const stream = new PassThrough();
  let messages = 0;
  stream.write = () => {
    messages += 1;
    return true;
  };
  open(stream);
  stream.emit('data', encodeFrame({ id: 1, path }));
  stream.emit('cancelled');
  replies[0]?.(null, {});
  stream.emit('close');
  opened.close();
  expect(replies).toHaveLength(1);
  expect(messages).toBe(0);
});

test('a server that closes answers the calls under way, and its clients then end their streams', async () => {
  onServed = () => undefined;
  const underWay = send('under way');
  await until(() => served.length === 1);
  streams.close();
  const closed = Promise.withResolvers<void>();
  server.tryShutdown(() => closed.resolve());
  await turn();
  served[0]?.reply(null, { text: 'late' });
  expect((await underWay.outcome).response).toEqual({ text: 'late' });
  await closed.promise;
  expect(await codeOf(send('too late'))).toBe(status.UNAVAILABLE);
});

test('a client that closes gets the answers of the calls under way', async () => {
  onServed = () => undefined;
  const underWay = send('under way');
  await until(() => served.length === 1);
  callStream.close();
  expect(() => send('too late')).toThrow('closed');
  served[0]?.reply(null, {});
  expect(await codeOf(underWay)).toBe(status.OK);
  const closed = Promise.withResolvers<void>();
  server.tryShutdown(() => closed.resolve());
  await closed.promise;
});

test('what one call does wrong fails that call alone', async () => {
  onServed = ({ call, reply }) => {
    if (call.request === 'large') reply(null, { text: 'x'.repeat(9_000_000) });
    else if (call.request === 'unwritable') reply(null, { toJSON: () => BigInt(1) });
    else if (call.request !== 'waits') reply(null, {});
  };
  const waiting = send('waits');
  const codes = await Promise.all([send('large'), send('unwritable'), send('x', { to: '/test/None' }), send('fine')].map(codeOf));
  expect(codes).toEqual([status.RESOURCE_EXHAUSTED, status.INTERNAL, status.UNIMPLEMENTED, status.OK]);
  served.find(({ call }) => call.request === 'waits')?.reply(null, {});
  expect(await codeOf(waiting)).toBe(status.OK);
});

test('a server without call streams says so, after which no call is carried', async () => {
  const older = new Server();
  server.forceShutdown();
  server = older;
  channel.close();
  await bind();
  expect(callStream.carries(Buffer.alloc(10))).toBe(true);
  expect(await codeOf(send('x'))).toBe(status.UNIMPLEMENTED);
  expect(callStream.carries(Buffer.alloc(10))).toBe(false);
});

test('a large request is not carried', () => {
  expect([1_000, 64 * 1024, 64 * 1024 + 1].map((bytes) => callStream.carries(Buffer.alloc(bytes)))).toEqual([true, true, false]);
});

test('bytes that are no frame end their stream, not the server', async () => {
  const raw = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const none = Buffer.alloc(4);
  for (const bytes of [
    Buffer.from([1]),
    Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]),
    Buffer.concat([Buffer.from('\x02\0\0\0'), none, Buffer.from('{{')]),
    Buffer.concat([Buffer.from('\x04\0\0\0'), none, Buffer.from('null')]),
  ]) {
    const stream = raw.makeBidiStreamRequest(callStreamPath, asIs, asIs, new Metadata());
    stream.resume();
    stream.write(bytes);
    const [error] = (await once(stream, 'error')) as [ServiceError];
    expect(error.code).toBe(status.INVALID_ARGUMENT);
  }
  raw.close();
  expect(await codeOf(send('x'))).toBe(status.OK);
});

test('frames that share a message keep their headers and bytes', () => {
  const [first, second] = [
    { header: { id: 7, path: '/a/Ü', timeLeftMs: 12.5, metadata: { 'x-a': 'b' } }, body: Buffer.from([1, 0, 2]) },
    { header: { id: 8 }, body: Buffer.alloc(0) },
  ];
  const message = Buffer.concat([encodeFrame(first.header, first.body), encodeFrame(second.header)]);
  expect(decodeFrames(message)).toEqual([first, second]);
});

test('a hundred calls of one turn are answered, in few messages', async () => {
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, n) => send(`${n}`).outcome));
  expect(outcomes.map(({ response }) => response)).toEqual(Array.from({ length: 100 }, (_, n) => ({ text: `${n}` })));
});
