import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { inspect } from 'node:util';
import { type TlsPostgres, testAuthority, testCertificate, tlsPostgres, until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type ConnectionSettings, createDataSource, DataFailure } from '../src/index.ts';
import { type FakeServerScript, fakeServer } from './support/fake-server.ts';

const password = 'a-word-that-must-not-be-logged';
const authority = testAuthority();
const limits = { timeoutMs: 5_000, maxRows: 1, maxBytes: 10_000, timeZone: 'UTC' };
/** As the server reports it. */
const encryption = 'select ssl::text, version from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()';

let server: TlsPostgres;

beforeAll(async () => {
  server = await tlsPostgres(authority.issue());
});

afterAll(() => server?.remove());

const urlAt = (host: string, sslmode?: string) =>
  `postgres://postgres:${password}@${host}:${new URL(server.url).port}/postgres${sslmode === undefined ? '' : `?sslmode=${sslmode}`}`;

/** Connects, and returns whether the connection is encrypted and the version of TLS, as the server reports them. */
async function connected(settings: ConnectionSettings, first: readonly string[] = []): Promise<readonly unknown[]> {
  const source = createDataSource({ ...settings, poolMax: 1 }, () => undefined);
  try {
    for (const text of first) await source.transaction('read only', limits, (run) => run(text));
    const { rows } = await source.transaction('read only', limits, (run) => run(encryption));
    return rows[0] ?? [];
  } finally {
    await source.close();
  }
}

const encrypted = ['true', 'TLSv1.3'];
const inClear = ['false', null];

/** The code of the failure, after a check that it contains no secret. */
async function refusal(settings: ConnectionSettings): Promise<string> {
  const failure = await connected(settings).catch((cause: unknown) => cause);
  if (!(failure instanceof DataFailure)) throw new Error(`the connection was not refused: ${inspect(failure)}`);
  expect(failure.kind).toBe('unavailable');
  const cause = failure.cause as Error & { code?: string };
  const output = inspect(failure, { depth: 10 });
  for (const secret of [password, 'PRIVATE KEY']) expect(output).not.toContain(secret);
  expect(failure.message).toBe('The data source cannot be reached at the moment.');
  return cause.code ?? cause.message;
}

const verified = (host: string, ca = authority.cert, sslmode?: string): ConnectionSettings => ({
  url: urlAt(host, sslmode),
  tls: { mode: 'verify', ca },
});

describe.each(['localhost', '127.0.0.1'])('a server that speaks TLS, at %s', (host) => {
  test('is connected in clear by default', async () => {
    expect(await connected({ url: urlAt(host) })).toEqual(inClear);
    expect(await connected({ url: urlAt(host, 'disable') })).toEqual(inClear);
  });

  test('is connected with TLS, unverified, with sslmode=require', async () => {
    expect(await connected({ url: urlAt(host, 'require') })).toEqual(encrypted);
  });

  test('is verified by the configured authority, under every sslmode', async () => {
    for (const sslmode of [undefined, 'disable', 'require', 'verify-ca', 'verify-full'])
      expect([sslmode, await connected(verified(host, authority.cert, sslmode))]).toEqual([sslmode, encrypted]);
  });

  test('is refused by verify-ca and verify-full when only a private authority has signed its certificate', async () => {
    for (const sslmode of ['verify-ca', 'verify-full'])
      expect(await refusal({ url: urlAt(host, sslmode) })).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });

  test('is refused when its certificate is of another authority, also of one with the same name', async () => {
    expect(await refusal(verified(host, testAuthority('another authority').cert))).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    expect(await refusal(verified(host, testAuthority().cert))).toBe('CERT_SIGNATURE_FAILURE');
  });
});

describe('a certificate', () => {
  test('for another name or address is refused, and accepted without verification', async () => {
    await server.present(authority.issue({ names: ['db.example.com', 'localhost.example.com'], addresses: ['127.0.0.2'] }));
    for (const host of ['localhost', '127.0.0.1']) {
      expect(await refusal(verified(host))).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
      expect(await connected({ url: urlAt(host, 'require') })).toEqual(encrypted);
    }
  });

  test('for another name is accepted with verify-ca and a configured authority, as in libpq, but not from another authority', async () => {
    await server.present(authority.issue({ names: ['db.example.com'], addresses: [] }));
    for (const host of ['localhost', '127.0.0.1']) {
      expect(await connected(verified(host, authority.cert, 'verify-ca'))).toEqual(encrypted);
      expect(await refusal(verified(host, testAuthority().cert, 'verify-ca'))).toBe('CERT_SIGNATURE_FAILURE');
      for (const sslmode of ['require', 'verify-full'])
        expect(await refusal(verified(host, authority.cert, sslmode))).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    }
    await server.present(authority.issue({ names: ['db.example.com'], notAfter: new Date(Date.now() - 60_000) }));
    expect(await refusal(verified('localhost', authority.cert, 'verify-ca'))).toBe('CERT_HAS_EXPIRED');
  });

  test('for the name is not valid for the address, and the reverse', async () => {
    await server.present(authority.issue({ names: ['localhost'], addresses: [] }));
    expect(await connected(verified('localhost'))).toEqual(encrypted);
    expect(await refusal(verified('127.0.0.1'))).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    await server.present(authority.issue({ names: [], addresses: ['127.0.0.1'] }));
    expect(await connected(verified('127.0.0.1'))).toEqual(encrypted);
    expect(await refusal(verified('localhost'))).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  test('that has expired is refused', async () => {
    await server.present(authority.issue({ notAfter: new Date(Date.now() - 60_000) }));
    expect(await refusal(verified('localhost'))).toBe('CERT_HAS_EXPIRED');
  });

  test('that signs itself is refused, unless it is the configured one', async () => {
    const alone = testCertificate();
    await server.present(alone);
    for (const settings of [verified('localhost'), { url: urlAt('localhost', 'verify-full') }])
      expect(await refusal(settings)).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(await connected(verified('localhost', alone.cert))).toEqual(encrypted);
  });
});

describe('a failed first connection reports its reason', () => {
  const messageOf = async (settings: ConnectionSettings) =>
    ((await connected(settings).catch((cause: unknown) => cause)) as Partial<Error> | undefined)?.message;

  test('a missing database', async () => {
    const url = urlAt('localhost').replace(/postgres$/, 'postgers');
    expect(await messageOf({ url })).toBe('The server of the data source has no database of this name.');
  });

  test('a server that refuses connections without TLS', async () => {
    const rules = (...lines: readonly string[]) =>
      connected({ url: urlAt('127.0.0.1', 'require') }, [
        `do $$ begin execute pg_catalog.format('copy (select unnest(%L::text[])) to %L', '{${lines.join(',')}}', current_setting('hba_file')); end $$`,
        'select pg_reload_conf()',
      ]);
    await server.present(authority.issue());
    await rules('hostssl all postgres all trust');
    try {
      const message = 'The data source refuses this account without TLS. Connect it with sslmode=require or sslmode=verify-full.';
      await until('the rules are read', async () => (await messageOf({ url: urlAt('127.0.0.1') })) !== undefined);
      for (const sslmode of [undefined, 'disable']) expect(await messageOf({ url: urlAt('127.0.0.1', sslmode) })).toBe(message);
      expect(await messageOf({ url: urlAt('127.0.0.1', 'require') })).toBeUndefined();
      const other = urlAt('127.0.0.1', 'require').replace('//postgres:', '//other:');
      expect(await messageOf({ url: other })).toBe(
        'The data source has no rule in pg_hba.conf that allows this account to log in from this address.',
      );
    } finally {
      await rules('host all all all trust');
    }
  });
});

test.each<[string, FakeServerScript]>([
  [
    'chooses the group of the key exchange, whose size is the time that it takes',
    { tls: { ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' } },
  ],
  ['asks for another handshake', { negotiatesAgain: true, tls: {} }],
])('a server is refused that %s', async (_, script) => {
  const fake = await fakeServer({ ...script, tls: { maxVersion: 'TLSv1.2', ...(script.tls as object) } });
  try {
    await refusal({ url: fake.url });
  } finally {
    fake.close();
  }
});

describe('a server without TLS', () => {
  beforeEach(() => server.present(undefined));

  test('is refused where TLS is required', async () => {
    const none = 'The server does not support SSL connections';
    for (const sslmode of ['require', 'verify-ca', 'verify-full']) expect(await refusal({ url: urlAt('localhost', sslmode) })).toBe(none);
    expect(await refusal(verified('localhost'))).toBe(none);
  });

  test('gets neither user nor password where TLS is required', async () => {
    const received: Buffer[] = [];
    const listener = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        received.push(bytes);
        socket.write('N');
      });
    });
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    const { port } = listener.address() as AddressInfo;
    const url = `postgres://reader:${password}@127.0.0.1:${port}/erp`;
    await refusal({ url, tls: { mode: 'verify', ca: authority.cert } });
    listener.close();
    // The request for TLS, and nothing after the answer.
    expect(Buffer.concat(received).toString('hex')).toBe('0000000804d2162f');
  });

  test('is connected in clear where that is allowed', async () => {
    expect(await connected({ url: urlAt('localhost') })).toEqual(inClear);
    expect(await connected({ url: urlAt('localhost', 'disable') })).toEqual(inClear);
  });
});
