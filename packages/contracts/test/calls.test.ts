import { setTimeout as pause } from 'node:timers/promises';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { credentials, Metadata, Client as RawClient } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { openServiceKeys } from '../src/callers/service-keys.ts';
import { CallSigner } from '../src/callers/signed-caller.ts';
import { loadService } from '../src/catalogue.ts';
import {
  type Client,
  type ClientConfig,
  callers,
  createClient,
  currentCall,
  type Implementation,
  operators,
  type Principal,
  requirePrincipal,
  ServiceError,
  serve,
  services,
  withCall,
} from '../src/index.ts';
import { config, everyMethod } from './served.ts';

const principal: Principal = {
  organizationId: 'org_a',
  environment: 'live',
  userId: 'usr_a',
  credentialId: 'key_a',
  scopes: ['users:read'],
  admin: false,
};

let peer: RunningProcess<number>;
let client: Client<'identity'>;
let attempts = 0;
/** The handler of the call for the user `left` has started. */
let handlerStart: Promise<void>;
/** How that call ends where it would have an effect after its caller has left. */
let effect: Promise<string>;

function checkedDeadline(call: { checkDeadline(): void }): string {
  try {
    call.checkDeadline();
    return 'done';
  } catch (cause) {
    return ServiceError.from(cause).code;
  }
}

/** A peer that shows what arrives; methods that are not looked at answer empty. */
function peerImplementation(): Implementation<'identity'> {
  const rest = everyMethod('identity', () => ({ allow: services('gateway'), handle: async () => ({}) }));
  const [beginning, noticed] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  handlerStart = beginning.promise;
  effect = noticed.promise;
  const visible: Partial<Implementation<'identity'>> = {
    getUser: {
      allow: callers({ scope: 'users:read' }),
      handle: async ({ userId }, call) => {
        if (userId === 'broken') throw new TypeError('a bug with a secret inside');
        if (userId === 'teapot') throw new ServiceError('email_taken', { param: 'email', details: { hint: 1 } });
        if (userId === 'left') {
          call.signal.addEventListener('abort', () => noticed.resolve(checkedDeadline(call)));
          beginning.resolve();
        }
        if (userId === 'slow' || userId === 'left') await pause(3_000, undefined, { signal: call.signal });
        const left = call.expiresAt - performance.now();
        return {
          user: { id: requirePrincipal(call).userId, name: call.requestId, email: String(left), role: String(currentCall() === call) },
        };
      },
    },
    listUsers: {
      allow: services('gateway'),
      handle: async () => {
        attempts += 1;
        if (attempts < 3) throw new ServiceError('unavailable');
        return {};
      },
    },
    createUser: {
      allow: services('gateway'),
      handle: async (_request, call) => {
        attempts += 1;
        if (call.requestedOnce) call.replayed = true;
        throw new ServiceError('unavailable');
      },
    },
    updateUser: {
      allow: services('gateway'),
      handle: async (_request, call) => {
        call.replayed = call.requestedOnce !== undefined;
        return { user: { id: call.requestedOnce?.scope ?? '' } };
      },
    },
    createOrganization: { allow: operators, handle: async () => ({}) },
  };
  return { ...rest, ...visible } as Implementation<'identity'>;
}

beforeAll(async () => {
  peer = await createProcess('peer', config, (process) => serve(process, config as never, 'identity', peerImplementation()));
  client = createClient('identity', {
    address: `ipv4:127.0.0.1:${peer.started}`,
    as: 'gateway',
    config: config as unknown as ClientConfig,
  });
});

afterAll(async () => {
  client.close();
  await peer.stop();
});

const inCall = <T>(work: () => T, more: object = {}) =>
  withCall({ requestId: 'req-1', principal, expiresAt: performance.now() + 5_000, ...more }, work);

describe('what travels with a call', () => {
  test('principal, request id and what is left of the deadline', async () => {
    const { user } = await inCall(() => client.getUser({ userId: 'x' }), { expiresAt: performance.now() + 4_000 });
    expect(user).toMatchObject({ id: 'usr_a', name: 'req-1', role: 'true' });
    expect(Number(user?.email)).toBeLessThanOrEqual(4_000);
    expect(Number(user?.email)).toBeGreaterThan(1_000);
  });

  test('the end of the deadline ends the call', async () => {
    await expect(inCall(() => client.getUser({ userId: 'slow' }), { expiresAt: performance.now() + 200 })).rejects.toMatchObject({
      code: 'deadline_exceeded',
    });
    await expect(inCall(() => client.getUser({ userId: 'x' }), { expiresAt: performance.now() - 1 })).rejects.toMatchObject({
      code: 'deadline_exceeded',
    });
  });

  test('a caller that disconnects cancels the work, which has no effect afterwards', async () => {
    const abort = new AbortController();
    const call = inCall(() => client.getUser({ userId: 'left' }), { signal: abort.signal });
    await handlerStart;
    abort.abort();
    await expect(call).rejects.toMatchObject({ code: 'cancelled' });
    expect(await effect).toBe('cancelled');
  });

  test('an idempotency key reaches the service, and the reply says that it is a replay', async () => {
    let replayed = 0;
    const more = { idempotency: { scope: 'org_a/k', fingerprint: 'f' }, onReplayed: () => (replayed += 1) };
    const { user } = await inCall(() => client.updateUser({ userId: 'x' }), more);
    expect(user?.id).toBe('org_a/k');
    expect(replayed).toBe(1);
  });
});

test('the log has changes at the level info, and neither reads nor calls that their callers repeat without end', async () => {
  const logged: unknown[] = [];
  const server = await createProcess('peer', { ...config, LOG_LEVEL: 'fatal' }, (process) => {
    jest.spyOn(process.logger, 'isLevelEnabled').mockImplementation((level) => level !== 'debug');
    jest.spyOn(process.logger, 'info').mockImplementation((event: unknown) => void logged.push((event as { method?: string }).method));
    const implementation = peerImplementation();
    const createUser = { allow: services('gateway'), logLevel: 'debug' as const, handle: async () => ({}) };
    return serve(process, config as never, 'identity', { ...implementation, createUser });
  });
  const address = `ipv4:127.0.0.1:${server.started}`;
  const caller = createClient('identity', { address, as: 'gateway', config: config as unknown as ClientConfig });
  logged.length = 0;
  await inCall(() => caller.getUser({ userId: 'x' }));
  await inCall(() => caller.createUser({ name: 'x' }));
  await inCall(() => caller.updateUser({ userId: 'x' }));
  expect(logged).toEqual(['UpdateUser']);
  caller.close();
  await server.stop();
});

/** Sends a request that a test has composed itself; resolves to the status, and to the challenge of a refusal. */
class RawCaller {
  readonly #client: RawClient;

  constructor(port = peer.started) {
    this.#client = new RawClient(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  send(name: string, body: Buffer, metadata: Metadata): Promise<{ code: number; challenge: string }> {
    return new Promise((resolve) => {
      const path = `/agentservice.v1.IdentityService/${name}`;
      const options = { deadline: Date.now() + 1_000 };
      this.#client.makeUnaryRequest(
        path,
        (bytes: Buffer) => bytes,
        () => ({}),
        body,
        metadata,
        options,
        (error) => resolve({ code: error?.code ?? 0, challenge: String(error?.metadata?.get('x-challenge')[0] ?? '') }),
      );
    });
  }

  async challenge(): Promise<string> {
    return (await this.send('UpdateUser', updateBody, this.signed('UpdateUser', updateBody, ''))).challenge;
  }

  signed(name: string, body: Buffer, challenge: string, as = 'gateway'): Metadata {
    const signer = new CallSigner(openServiceKeys(config, as), as, 'identity');
    const call = { path: `/agentservice.v1.IdentityService/${name}`, challenge, requestId: 'raw', idempotency: '', body };
    const metadata = new Metadata();
    metadata.set('x-request-id', 'raw');
    metadata.set('x-caller', signer.sign(call, as === 'gateway' ? principal : undefined, undefined).caller);
    return metadata;
  }

  close(): void {
    this.#client.close();
  }
}

const bodyOf = (name: string, request: object): Buffer => {
  const methods = loadService('identity') as unknown as Record<string, { requestSerialize: (value: object) => Buffer }>;
  return methods[name]?.requestSerialize(request) ?? Buffer.alloc(0);
};
const updateBody = bodyOf('UpdateUser', { userId: 'x' });

describe('a call that arrives after its caller was told that it took too long', () => {
  test('does nothing', async () => {
    const raw = new RawCaller();
    const challenge = await raw.challenge();
    const ask = async (sentAt: number, name = 'sender') => {
      const metadata = raw.signed('UpdateUser', updateBody, challenge);
      metadata.set('x-sent', `${name} ${sentAt}`);
      return (await raw.send('UpdateUser', updateBody, metadata)).code;
    };
    // The sender's clock shows what it likes: only what a call took longer than others of the same sender counts.
    const senderClock = () => performance.now() + 5e9;
    expect(await ask(senderClock())).toBe(0);
    expect(await ask(senderClock() - 500)).toBe(0);
    expect(await ask(senderClock() - 2_000)).toBe(4);
    expect(await ask(senderClock() - 2_000, 'another-sender')).toBe(0);
    raw.close();
  });

  test('is sent again by a caller that has time left, as one whose machine was paused with its clock', async () => {
    await inCall(() => client.updateUser({}));
    const { set } = Metadata.prototype;
    const delayed = jest.spyOn(Metadata.prototype, 'set').mockImplementation(function (this: Metadata, name, value) {
      const [sender, sentAt] = String(value).split(' ');
      set.call(this, name, name === 'x-sent' ? `${sender} ${Number(sentAt) - 60_000}` : value);
    });
    const updates = Array.from({ length: 20 }, () => inCall(() => client.updateUser({})));
    const failed = (await Promise.allSettled(updates)).filter(({ status }) => status === 'rejected');
    delayed.mockRestore();
    expect(failed).toEqual([]);
  });
});

describe('a captured call', () => {
  const forbidden = 7;
  const stale = 16;
  let raw: RawCaller;
  beforeAll(() => {
    raw = new RawCaller();
  });
  afterAll(() => raw.close());

  test('does nothing at another method, with another content, or a second time', async () => {
    const captured = raw.signed('UpdateUser', updateBody, await raw.challenge());
    expect((await raw.send('CreateUser', updateBody, captured)).code).toBe(forbidden);
    expect((await raw.send('UpdateUser', bodyOf('UpdateUser', { userId: 'y' }), captured)).code).toBe(forbidden);
    const asAnother = captured.clone();
    asAnother.set('x-idempotency-bin', Buffer.from('{"scope":"s","fingerprint":"f"}'));
    expect((await raw.send('UpdateUser', updateBody, asAnother)).code).toBe(forbidden);
    expect((await raw.send('UpdateUser', updateBody, captured)).code).toBe(0);
    expect((await raw.send('UpdateUser', updateBody, captured)).code).toBe(forbidden);
  });

  test('does nothing at another replica, or when its challenge is over', async () => {
    const other = await createProcess('other', config, (process) => serve(process, config as never, 'identity', peerImplementation()));
    const elsewhere = new RawCaller(other.started);
    const captured = raw.signed('UpdateUser', updateBody, await raw.challenge());
    expect((await elsewhere.send('UpdateUser', updateBody, captured)).code).toBe(stale);
    expect((await raw.send('UpdateUser', updateBody, raw.signed('UpdateUser', updateBody, 'long-ago'))).code).toBe(stale);
    elsewhere.close();
    await other.stop();
  });

  test('of one service is not taken for another’s', async () => {
    const challenge = await raw.challenge();
    const create = bodyOf('CreateOrganization', {});
    expect((await raw.send('CreateOrganization', create, raw.signed('CreateOrganization', create, challenge, 'answer-worker'))).code).toBe(
      forbidden,
    );
    const renamed = raw.signed('CreateOrganization', create, challenge, 'answer-worker');
    renamed.set('x-caller', String(renamed.get('x-caller')[0]).replace('answer-worker', 'operator'));
    expect((await raw.send('CreateOrganization', create, renamed)).code).toBe(forbidden);
    expect((await raw.send('CreateOrganization', create, raw.signed('CreateOrganization', create, challenge, 'operator'))).code).toBe(0);
  });
});

describe('who may call', () => {
  test('an unsigned call is refused with any metadata', async () => {
    const raw = new RawCaller();
    const metadata = new Metadata();
    metadata.set('x-caller', `gateway.${Buffer.from(JSON.stringify(principal)).toString('base64url')}.1.${await raw.challenge()}.x`);
    expect((await raw.send('GetUser', bodyOf('GetUser', { userId: 'x' }), metadata)).code).toBe(7);
    raw.close();
  });

  test('a service that the method does not name, and a caller without the scope, are refused', async () => {
    await expect(inCall(() => client.createOrganization({}))).rejects.toMatchObject({ code: 'service_forbidden' });
    await expect(inCall(() => client.getUser({}), { principal: { ...principal, scopes: ['audit:read'] } })).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
  });
});

describe('failures', () => {
  test('our own error arrives whole', async () => {
    await expect(inCall(() => client.getUser({ userId: 'teapot' }))).rejects.toMatchObject({
      code: 'email_taken',
      param: 'email',
      details: { hint: 1 },
    });
  });

  test('an unexpected exception becomes an internal error without details', async () => {
    const failure: ServiceError = await inCall(() => client.getUser({ userId: 'broken' })).then(
      () => Promise.reject(new Error('no failure')),
      (cause) => cause,
    );
    expect(failure).toMatchObject({ code: 'internal', message: 'Something went wrong on our side.', details: {} });
  });

  test('an idempotent call is repeated when the service is unavailable, and a call that is not idempotent or sent once never', async () => {
    attempts = 0;
    await expect(inCall(() => client.listUsers({}, { isSentOnce: true }))).rejects.toMatchObject({ code: 'unavailable' });
    expect(attempts).toBe(1);
    attempts = 0;
    await inCall(() => client.listUsers({}));
    expect(attempts).toBe(3);
    attempts = 0;
    await expect(inCall(() => client.createUser({}))).rejects.toMatchObject({ code: 'unavailable' });
    expect(attempts).toBe(1);
  });

  test('a replica that hangs costs a read a second, not the read', async () => {
    const stopped = await createProcess('stopped', config, (process) =>
      serve(process, config as never, 'identity', {
        ...peerImplementation(),
        getUser: { allow: services('gateway'), handle: () => new Promise(() => undefined) },
      }),
    );
    const both = createClient('identity', {
      address: `ipv4:127.0.0.1:${stopped.started},127.0.0.1:${peer.started}`,
      as: 'gateway',
      config: config as unknown as ClientConfig,
    });
    const read = () => inCall(() => both.getUser({ userId: 'x' }));
    for (let round = 0; round < 4; round += 1) expect((await read()).user?.id).toBe('usr_a');
    both.close();
    await stopped.stop();
  });

  test('an address without a server is unavailable at once', async () => {
    const lonely = createClient('identity', { address: 'ipv4:127.0.0.1:1', as: 'gateway', config: config as unknown as ClientConfig });
    await expect(lonely.createUser({})).rejects.toMatchObject({ code: 'unavailable' });
    const cause = expect.objectContaining({ message: expect.stringContaining('connect ECONNREFUSED 127.0.0.1:1') });
    await expect(lonely.checkHealth()).rejects.toMatchObject({ code: 'unavailable', cause });
    lonely.close();
  });

  test('a service that accepts calls is healthy', async () => {
    await expect(peer.health.report()).resolves.toEqual({ ready: true, faults: {} });
    while (
      await client.checkHealth().then(
        () => false,
        () => true,
      )
    )
      await pause(20);
  });
});

test('a server listens on an IPv6 address', async () => {
  const own = { ...config, HOST: '::1' };
  const server = await createProcess('peer', own, (process) => serve(process, own as never, 'identity', peerImplementation()));
  const caller = createClient('identity', {
    address: `ipv6:[::1]:${server.started}`,
    as: 'gateway',
    config: config as unknown as ClientConfig,
  });
  try {
    await expect(inCall(() => caller.getUser({ userId: 'usr_a' }))).resolves.toMatchObject({ user: { id: 'usr_a' } });
  } finally {
    caller.close();
    await server.stop();
  }
});
