import { type TlsPostgres, testAuthority, tlsPostgres } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BootedService, boot } from './boot.ts';

const password = 'a-word-that-nobody-may-see';
const authority = testAuthority();
const mine = { organizationId: 'org_tls', environment: 'live' };

let service: BootedService;
let server: TlsPostgres;

beforeAll(async () => {
  [service, server] = await Promise.all([boot(), tlsPostgres(authority.issue())]);
});

afterAll(async () => {
  await service?.stop();
  await server?.remove();
});

const urlWith = (sslmode?: string) =>
  `postgres://postgres:${password}@localhost:${new URL(server.url).port}/postgres${sslmode === undefined ? '' : `?sslmode=${sslmode}`}`;
const connect = (url: string, caCertificate = '') =>
  service.operator.connectDataSource({ ...mine, url, caCertificate, allowSuperuser: true });

/** The operator's error message, after a check that it has no secret. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const failure = (await work.then(
    () => ({ message: 'was not refused' }),
    (cause: unknown) => cause,
  )) as Error;
  expect(failure).toMatchObject({ code: 'data_source_unavailable' });
  expect(JSON.stringify([failure, failure.message])).not.toContain(password);
  return failure.message;
}

test('a data source is connected with the encryption that its URL and authority demand, which is shown', async () => {
  for (const [sslmode, ca, tls] of [
    [undefined, '', 'off'],
    ['disable', '', 'off'],
    ['require', '', 'require'],
    [undefined, authority.cert, 'verify'],
    ['verify-ca', authority.cert, 'verify-ca'],
    ['verify-full', authority.cert, 'verify'],
  ] as const) {
    const { dataSource } = await connect(urlWith(sslmode), ca);
    expect([sslmode, dataSource?.tls]).toEqual([sslmode, tls]);
  }
  expect((await service.operator.testDataSource(mine)).dataSource).toMatchObject({ tls: 'verify' });
});

test('a server with an untrusted certificate is refused with the reason, and the connected one stays', async () => {
  const { dataSource } = await connect(urlWith(), authority.cert);
  const untrusted = /of an unknown authority/;
  expect(await refusal(connect(urlWith('verify-full')))).toMatch(untrusted);
  expect(await refusal(connect(urlWith(), testAuthority().cert))).toMatch(untrusted);
  await server.present(authority.issue({ names: ['db.example.com'], addresses: [] }));
  expect(await refusal(connect(urlWith(), authority.cert))).toMatch(/for another host/);
  await server.present(authority.issue({ notAfter: new Date(Date.now() - 60_000) }));
  expect(await refusal(connect(urlWith(), authority.cert))).toMatch(/has expired/);
  // The connected one as well.
  expect(await refusal(service.operator.testDataSource(mine))).toMatch(/has expired/);
  await server.present(undefined);
  expect(await refusal(connect(urlWith('require')))).toMatch(/does not speak TLS/);
  await server.present(authority.issue());
  expect((await service.operator.testDataSource(mine)).dataSource).toEqual(dataSource);
});

test('verify-ca does not check the name of the host, with a given authority', async () => {
  await server.present(authority.issue({ names: ['db.example.com'], addresses: [] }));
  expect((await connect(urlWith('verify-ca'), authority.cert)).dataSource).toMatchObject({ tls: 'verify-ca' });
  expect(await refusal(connect(urlWith('verify-full'), authority.cert))).toMatch(/for another host/);
  await server.present(authority.issue());
});

test('a mistyped database name is reported as an unknown database', async () => {
  expect(await refusal(connect(urlWith().replace(/postgres$/, 'postgers')))).toBe(
    'The server of the data source has no database of this name.',
  );
});
