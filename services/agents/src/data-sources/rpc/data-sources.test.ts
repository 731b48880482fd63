import type { Call } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import type { DataSourcesDeps } from '../sources.ts';
import { connectDataSource } from './data-sources.ts';

const administrator = { organizationId: 'org_1', environment: 'live', userId: 'usr_1', credentialId: 'key_1', admin: true, role: 'admin' };
const request = {
  organizationId: 'org_1',
  environment: 'live',
  url: 'postgresql://postgres@192.0.2.1/business',
  caCertificate: '',
  accessToken: 'token',
  allowSuperuser: false,
};

/** Connects as the portal does for the owner of a token; no other dependency is there, so what is not refused fails otherwise. */
const connectAs = (principal: object | null, more: object = {}) => {
  const deps = { identity: { authenticate: async () => ({ results: [{ principal }] }) } } as unknown as DataSourcesDeps;
  const call = { caller: { service: 'portal' }, signal: new AbortController().signal } as unknown as Call;
  return connectDataSource(deps).handle({ ...request, ...more }, call);
};

test.each([
  ['unauthorized', null, {}],
  ['admin_required', { ...administrator, role: 'member' }, {}],
  ['admin_required', { ...administrator, admin: false }, {}],
  ['service_forbidden', administrator, { allowSuperuser: true }],
] as const)('the portal is refused with %s (%#)', async (code, principal, more) => {
  await expect(connectAs(principal, more)).rejects.toMatchObject({ code });
});

test('an administrator in the portal who does not ask for a superuser is not refused', async () => {
  await expect(connectAs(administrator)).rejects.not.toMatchObject({
    code: expect.stringMatching(/^(unauthorized|admin_required|service_forbidden)$/),
  });
});

/** Connects as an administrator for whom identity answers differently once the database was read. */
async function connectWhile(principal: object | null): Promise<unknown> {
  const principals = [administrator, principal];
  const deps = {
    identity: { authenticate: async () => ({ results: [{ principal: principals.shift() }] }) },
    connecting: { run: async () => ({ tables: [], roleGate: { active: true, reason: '' } }) },
    store: { transaction: () => Promise.reject(new Error('saved')) },
  } as unknown as DataSourcesDeps;
  const call = { caller: { service: 'portal' }, signal: new AbortController().signal } as unknown as Call;
  return await connectDataSource(deps)
    .handle(request, call)
    .catch(({ code, message }: { code?: string; message: string }) => code ?? message);
}

test.each([
  ['unauthorized', null],
  ['admin_required', { ...administrator, role: 'member' }],
  ['admin_required', { ...administrator, admin: false }],
  ['unauthorized', { ...administrator, organizationId: 'org_2' }],
  ['unauthorized', { ...administrator, environment: 'test' }],
  ['unauthorized', { ...administrator, userId: 'usr_2' }],
  ['saved', administrator],
] as const)(
  'who is an administrator before the database is read, and not behind it, connects nothing: %s (%#)',
  async (outcome, principal) => {
    expect(await connectWhile(principal)).toBe(outcome);
  },
);
